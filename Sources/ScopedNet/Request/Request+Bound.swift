extension Request {
    /// Names the owner of the closures that follow, once: `bound(to: self).onSuccess { model, posts in model.posts = posts }.start()`.
    ///
    /// The closures hold the owner weakly, and are skipped once it has gone. They run on the actor where they are written, else on the session's
    /// delivery queue. `start()` ends the run with an owner that is a ``RequestOwner``.
    public func bound<Owner: AnyObject & Sendable>(to owner: Owner) -> Bound<Owner, OwnerKind.Shared> { Bound(request: self, owner: owner) }

    /// Names an actor as the owner of the closures that follow, which run inside it.
    public func bound<Owner: Actor>(to owner: Owner) -> Bound<Owner, OwnerKind.Isolated> { Bound(request: self, owner: owner) }

    /// Names an owner of any class for the closures that follow, which run on the actor of the code that registers them.
    public func bound<Owner: AnyObject>(to owner: Owner) -> Bound<Owner, OwnerKind.Local> { Bound(request: self, owner: owner) }

    /// The kinds of owners, which decide where a closure of a ``Bound`` runs.
    public enum OwnerKind {
        /// An owner that is `Sendable`, as classes on the main actor are.
        public enum Shared {}
        /// An owner that is an actor.
        public enum Isolated {}
        /// An owner of any other class.
        public enum Local {}
    }

    /// A request and the owner of its closures. See `Request.bound(to:)`.
    public struct Bound<Owner: AnyObject, Kind> {
        // The kind of the owner is told apart once, by `bound(to:)`. Three overloads at each closure instead made the compiler try each with each:
        // eight closures took it 11 seconds, and eleven were too many.
        /// The request, for what has no owner.
        public let request: Request
        let owner: Owner

        /// See ``Request/onSuccess``.
        public var onSuccess: Registration<Value> { Registration(bound: self, inner: request.onSuccess) }
        /// See ``Request/onCached``.
        public var onCached: Registration<Value> { Registration(bound: self, inner: request.onCached) }
        /// See ``Request/onResponse``.
        public var onResponse: Registration<Response<Value>> { Registration(bound: self, inner: request.onResponse) }
        /// See ``Request/onFailure``.
        public var onFailure: Registration<NetworkError> { Registration(bound: self, inner: request.onFailure) }
        /// See ``Request/onResult``.
        public var onResult: Registration<Result<Value, NetworkError>> { Registration(bound: self, inner: request.onResult) }
        /// See ``Request/onEnd``.
        public var onEnd: Registration<EndReason> { Registration(bound: self, inner: request.onEnd) }
        /// See ``Request/onUploadProgress``.
        public var onUploadProgress: Registration<TransferProgress> { Registration(bound: self, inner: request.onUploadProgress) }
        /// See ``Request/onDownloadProgress``.
        public var onDownloadProgress: Registration<TransferProgress> { Registration(bound: self, inner: request.onDownloadProgress) }
        /// See ``Request/onResponseHead``.
        public var onResponseHead: Registration<ResponseHead> { Registration(bound: self, inner: request.onResponseHead) }

        /// Starts a run that ends with `bag`.
        @discardableResult
        public func start(in bag: DeallocBag, fileID: StaticString = #fileID, line: Int = #line) -> Run {
            request.start(in: bag, fileID: fileID, line: line)
        }
    }
}

extension Request.Bound where Owner: RequestOwner {
    /// Starts a run that ends with its owner.
    @discardableResult
    public func start(fileID: StaticString = #fileID, line: Int = #line) -> Run {
        request.start(for: owner, fileID: fileID, line: line)
    }
}

extension Request.Bound {
    /// One of the closures of a request, which is registered by calling this like a function.
    public struct Registration<Payload: Sendable> {
        let bound: Request.Bound<Owner, Kind>
        let inner: Request.Registration<Payload>
    }
}

extension Request.Bound.Registration where Owner: Sendable, Kind == Request.OwnerKind.Shared {
    /// Registers a closure. It runs on the actor where it is written, else on the session's delivery queue.
    public func callAsFunction(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Payload) -> Void
    ) -> Request.Bound<Owner, Kind> {
        _ = inner(for: bound.owner, fileID: fileID, line: line, body)
        return bound
    }
}

extension Request.Bound.Registration where Kind == Request.OwnerKind.Local {
    // A tuple, so that the compiler weighs this closure like one that is `@isolated(any)`: it would prefer this kind of owner otherwise.
    /// Registers a closure of an owner of any class, which runs on the actor of the code that registers it.
    public func callAsFunction(
        isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, Payload)) -> Void
    ) -> Request.Bound<Owner, Kind> {
        _ = inner(for: bound.owner, isolation: isolation, fileID: fileID, line: line, body)
        return bound
    }
}

extension Request.Bound.Registration where Owner: Actor, Kind == Request.OwnerKind.Isolated {
    /// Registers a closure that runs inside its owner, an actor.
    public func callAsFunction(
        fileID: StaticString = #fileID, line: Int = #line, _ body: @escaping @Sendable (isolated Owner, Payload) -> Void
    ) -> Request.Bound<Owner, Kind> {
        _ = inner(for: bound.owner, fileID: fileID, line: line, body)
        return bound
    }
}
