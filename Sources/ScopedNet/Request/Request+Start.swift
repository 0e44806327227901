extension Request {
    /// Starts a run that belongs to nobody; the agent keeps it until it ends.
    @discardableResult
    public func start(fileID: StaticString = #fileID, line: Int = #line) -> Run {
        start(in: nil, origin: CodeOrigin(fileID, line))
    }

    /// Starts a run that ends with `bag`. In an ended bag it is cancelled at once and sends no byte.
    @discardableResult
    public func start(in bag: DeallocBag, fileID: StaticString = #fileID, line: Int = #line) -> Run {
        start(in: bag.storage, origin: CodeOrigin(fileID, line))
    }

    /// Starts a run that ends with `scope`.
    @discardableResult
    public func start(in scope: borrowing RequestScope, fileID: StaticString = #fileID, line: Int = #line) -> Run {
        start(in: scope.bag.storage, origin: CodeOrigin(fileID, line))
    }

    /// Starts a run that ends with its owner.
    @discardableResult
    public func start(for owner: some RequestOwner, fileID: StaticString = #fileID, line: Int = #line) -> Run {
        start(in: owner.deallocBag.storage, origin: CodeOrigin(fileID, line))
    }

    /// Starts a run that ends with its owner, and hands the owner to the closures given here.
    @discardableResult
    public func start<Owner: RequestOwner & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext onSuccess: (@Sendable @isolated(any) (Owner, Value) -> Void)? = nil,
        @_inheritActorContext onFailure: (@Sendable @isolated(any) (Owner, NetworkError) -> Void)? = nil,
        @_inheritActorContext onEnd: (@Sendable @isolated(any) (Owner, EndReason) -> Void)? = nil
    ) -> Run {
        let origin = CodeOrigin(fileID, line)
        var handlers = RunHandlers()
        if let onSuccess { handlers.success = .one(CallbackHandler(owner: owner, onSuccess, origin: origin).ofValue()) }
        if let onFailure { handlers.failure = .one(CallbackHandler(owner: owner, onFailure, origin: origin)) }
        if let onEnd { handlers.end = .one(CallbackHandler(owner: owner, onEnd, origin: origin)) }
        return start(in: owner.deallocBag.storage, origin: origin, handlers: handlers)
    }

    // Tuples: see `Request+Closures.swift`.
    /// Starts a run that ends with its owner, which is tied to the actor this is called on: the closures given here are called there.
    @discardableResult
    public func start<Owner: RequestOwner>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        onSuccess: (((Owner, Value)) -> Void)? = nil, onFailure: (((Owner, NetworkError)) -> Void)? = nil,
        onEnd: (((Owner, EndReason)) -> Void)? = nil
    ) -> Run {
        let origin = CodeOrigin(fileID, line)
        var handlers = RunHandlers()
        if let onSuccess {
            handlers.success = .one(CallbackHandler(owner: owner, isolation: isolation, onSuccess, origin: origin).ofValue())
        }
        if let onFailure { handlers.failure = .one(CallbackHandler(owner: owner, isolation: isolation, onFailure, origin: origin)) }
        if let onEnd { handlers.end = .one(CallbackHandler(owner: owner, isolation: isolation, onEnd, origin: origin)) }
        return start(in: owner.deallocBag.storage, origin: origin, handlers: handlers)
    }
}
