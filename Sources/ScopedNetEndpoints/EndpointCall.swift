public import ScopedNet

/// One call of an endpoint, with closures that get the service's error. Made by ``APIClient/call(_:fileID:line:)``.
///
/// Closures arm the next start, run where they were written, and are destroyed when that run ends, as those of ``Request``.
public struct EndpointCall<Service: APIService, E: Endpoint>: Sendable {
    let service: Service
    /// The endpoint that is called.
    public let endpoint: E
    /// The request behind it, for all else that requests can do.
    public let request: Request<E.Value>

    /// The value came.
    public var onSuccess: Registration<E.Value> { Registration(call: self, inner: request.onSuccess) }

    /// It failed; not after a cancel.
    public var onFailure: Registration<Service.Failure> {
        Registration(call: self, inner: request.onFailure.map { [service, endpoint] in service.failure(of: endpoint, $0) })
    }

    /// Both in one closure.
    public var onResult: Registration<Result<E.Value, Service.Failure>> {
        let inner = request.onResult.map { [service, endpoint] result in result.mapError { service.failure(of: endpoint, $0) } }
        return Registration(call: self, inner: inner)
    }

    /// The end, whatever it is.
    public var onEnd: Registration<EndReason> { Registration(call: self, inner: request.onEnd) }

    /// Starts a run that belongs to nobody.
    @discardableResult
    public func start(fileID: StaticString = #fileID, line: Int = #line) -> Run { request.start(fileID: fileID, line: line) }

    /// Starts a run that ends with `bag`.
    @discardableResult
    public func start(in bag: DeallocBag, fileID: StaticString = #fileID, line: Int = #line) -> Run {
        request.start(in: bag, fileID: fileID, line: line)
    }
}

extension EndpointCall {
    /// One of the closures of a call, which is registered by calling this like a function. See ``Request/Registration``.
    public struct Registration<Payload: Sendable>: Sendable {
        let call: EndpointCall
        let inner: Request<E.Value>.Registration<Payload>

        /// Registers a closure. It runs on the actor where it is written, else on the session's delivery queue.
        public func callAsFunction(
            fileID: StaticString = #fileID, line: Int = #line,
            @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Payload) -> Void
        ) -> EndpointCall {
            _ = inner(fileID: fileID, line: line, body)
            return call
        }

        /// Registers a closure that gets its owner, which is held weakly; it is skipped once the owner has gone.
        public func callAsFunction<Owner: AnyObject & Sendable>(
            for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
            @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Payload) -> Void
        ) -> EndpointCall {
            _ = inner(for: owner, fileID: fileID, line: line, body)
            return call
        }

        /// Registers a closure that gets an owner of any class, on the actor of the code that registers it.
        public func callAsFunction<Owner: AnyObject>(
            for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
            _ body: @escaping ((Owner, Payload)) -> Void
        ) -> EndpointCall {
            _ = inner(for: owner, isolation: isolation, fileID: fileID, line: line, body)
            return call
        }

        /// Registers a closure that runs inside its owner, an actor.
        public func callAsFunction<Owner: Actor>(
            for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
            _ body: @escaping @Sendable (isolated Owner, Payload) -> Void
        ) -> EndpointCall {
            _ = inner(for: owner, fileID: fileID, line: line, body)
            return call
        }
    }
}
