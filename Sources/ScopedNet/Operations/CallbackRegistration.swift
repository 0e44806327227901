/// One of the closures of a layer's type, which is registered by calling this like a function, as those of ``Request`` are.
///
/// ```swift
/// public struct Poll<Value: Sendable>: Sendable {
///     public var onValue: CallbackRegistration<Self, Value> { CallbackRegistration(self) { callbacks.add($0) } }
/// }
/// poll.onValue { value in … }.onValue(for: self) { model, value in … }
/// ```
///
/// The layer keeps the ``Callback`` until it is called or dropped.
public struct CallbackRegistration<Target: Sendable, Payload: Sendable>: Sendable {
    /// A layer keeps callbacks; a request keeps its handlers, and needs no callback around each.
    @usableFromInline enum Keeper: Sendable {
        case layer(@Sendable (Callback<Payload>) -> Void)
        case request(@Sendable (CallbackHandler<Payload>) -> Void)
    }

    @usableFromInline let target: Target
    @usableFromInline let keeper: Keeper

    /// Makes a kind of closure.
    ///
    /// - Parameters:
    ///   - target: what each registration returns, for the next one.
    ///   - add: keeps a closure; called once for each, on the thread that registers it.
    @inlinable public init(_ target: Target, _ add: @escaping @Sendable (Callback<Payload>) -> Void) {
        self.target = target
        keeper = .layer(add)
    }

    /// Makes a kind of closure that a request keeps: one of its own kinds, or what `map` makes of it.
    ///
    /// - Parameters:
    ///   - target: what each registration returns, for the next one.
    ///   - registration: that of a request, such as `request.onSuccess`.
    @inlinable public init<Value: Sendable>(_ target: Target, _ registration: Request<Value>.Registration<Payload>) {
        self.target = target
        keeper = .request { registration.keep($0) }
    }

    /// Registers a closure. It runs on the actor where it is written, else on the session's delivery queue.
    @discardableResult
    public func callAsFunction(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Payload) -> Void
    ) -> Target {
        keep(CallbackHandler(body, origin: CodeOrigin(fileID, line)))
    }

    /// Registers a closure that gets its owner, which is held weakly; it is skipped once the owner has gone.
    @discardableResult
    public func callAsFunction<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Payload) -> Void
    ) -> Target {
        keep(CallbackHandler(owner: owner, body, origin: CodeOrigin(fileID, line)))
    }

    // A tuple: see `Request.Registration`.
    /// Registers a closure that gets an owner of any class, on the actor of the code that registers it.
    @discardableResult
    public func callAsFunction<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, Payload)) -> Void
    ) -> Target {
        keep(CallbackHandler(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line)))
    }

    /// Registers a closure that runs inside its owner, an actor.
    @discardableResult
    public func callAsFunction<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, Payload) -> Void
    ) -> Target {
        keep(CallbackHandler(actor: owner, body, origin: CodeOrigin(fileID, line)))
    }

    /// Registers a callback that was made elsewhere.
    @discardableResult
    public func callAsFunction(_ callback: Callback<Payload>) -> Target {
        switch keeper {
        case .layer(let add): add(callback)
        case .request(let add): if let handler = callback.current { add(handler) }
        }
        return target
    }

    private func keep(_ handler: CallbackHandler<Payload>) -> Target {
        switch keeper {
        case .layer(let add): add(Callback(handler))
        case .request(let add): add(handler)
        }
        return target
    }
}
