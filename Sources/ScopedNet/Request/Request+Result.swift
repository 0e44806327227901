/// One closure for success and failure.
extension Request {
    /// Starts a run that ends with its owner, and hands owner and result to the closure.
    ///
    /// ```swift
    /// session.get("posts", as: [Post].self).start(for: self) { model, result in model.show(result) }
    /// ```
    ///
    /// After a cancel, or after the end of the owner or its bag, the closure is not called: a spinner that is switched off in it stays on.
    /// Switch it off in ``onEnd``, or by `isRunning:` of
    /// ``DeallocBag/task(for:isRunning:isolation:priority:_:onSuccess:onFailure:)``.
    @discardableResult
    public func start<Owner: RequestOwner & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext onResult: @escaping @Sendable @isolated(any) (Owner, Result<Value, NetworkError>) -> Void
    ) -> Run {
        let origin = CodeOrigin(fileID, line)
        var handlers = RunHandlers()
        handlers.append(result: CallbackHandler(owner: owner, onResult, origin: origin))
        return start(in: owner.deallocBag.storage, origin: origin, handlers: handlers)
    }

    /// Starts a run that ends with its owner, an actor, and calls the closure inside it.
    @discardableResult
    public func start<Owner: RequestOwner & Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        onResult: @escaping @Sendable (isolated Owner, Result<Value, NetworkError>) -> Void
    ) -> Run {
        let origin = CodeOrigin(fileID, line)
        var handlers = RunHandlers()
        handlers.append(result: CallbackHandler(actor: owner, onResult, origin: origin))
        return start(in: owner.deallocBag.storage, origin: origin, handlers: handlers)
    }

    // A tuple: see `Request+Closures.swift`.
    /// Starts a run that ends with its owner, which is tied to the actor this is called on: the closure is called there. After a cancel, or
    /// after the end of the owner or its bag, it is not called; ``onEnd`` is called where the owner is still there.
    @discardableResult
    public func start<Owner: RequestOwner>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        onResult: @escaping ((Owner, Result<Value, NetworkError>)) -> Void
    ) -> Run {
        let origin = CodeOrigin(fileID, line)
        var handlers = RunHandlers()
        handlers.append(result: CallbackHandler(owner: owner, isolation: isolation, onResult, origin: origin))
        return start(in: owner.deallocBag.storage, origin: origin, handlers: handlers)
    }
}

extension RunHandlers {
    /// The same closure for both ends; only one of them comes.
    mutating func append<Value: Sendable>(result callback: CallbackHandler<Result<Value, NetworkError>>) {
        let invoke = callback.invoke
        success.append(CallbackHandler(lane: callback.lane, origin: callback.origin) { any in invoke(.success(any.of(Value.self).value)) })
        failure.append(CallbackHandler(lane: callback.lane, origin: callback.origin) { error in invoke(.failure(error)) })
    }
}
