/// One closure for success and failure.
extension Request {
    /// Calls `body` once with the value or the error. A cancelled run calls nothing but `onEnd`.
    public func onResult(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Result<Value, NetworkError>) -> Void
    ) -> Self {
        let callback = Callback(body, origin: CodeOrigin(fileID, line))
        arm { $0.append(result: callback) }
        return self
    }

    /// Hands over the value or the error, with an owner that is held weakly.
    public func onResult<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Result<Value, NetworkError>) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.append(result: callback) }
        return self
    }

    /// Hands over the value or the error on the actor of the code that registers, with an owner of any class that is held weakly.
    public func onResult<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, Result<Value, NetworkError>)) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))
        arm { $0.append(result: callback) }
        return self
    }

    /// Hands over the value or the error inside an actor, which is held weakly.
    public func onResult<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, Result<Value, NetworkError>) -> Void
    ) -> Self {
        let callback = Callback(actor: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.append(result: callback) }
        return self
    }

    /// Starts a run that ends with its owner, and hands owner and result to the closure.
    ///
    /// ```swift
    /// session.get("posts", as: [Post].self).start(for: self) { model, result in model.show(result) }
    /// ```
    @discardableResult
    public func start<Owner: RequestOwner & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext onResult: @escaping @Sendable @isolated(any) (Owner, Result<Value, NetworkError>) -> Void
    ) -> Run {
        let origin = CodeOrigin(fileID, line)
        var handlers = RunHandlers()
        handlers.append(result: Callback(owner: owner, onResult, origin: origin))
        return start(in: owner.deallocBag.storage, origin: origin, handlers: handlers)
    }

    // A tuple: see `Request+Closures.swift`.
    /// Starts a run that ends with its owner, which is tied to the actor this is called on: the closure is called there.
    @discardableResult
    public func start<Owner: RequestOwner>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        onResult: @escaping ((Owner, Result<Value, NetworkError>)) -> Void
    ) -> Run {
        let origin = CodeOrigin(fileID, line)
        var handlers = RunHandlers()
        handlers.append(result: Callback(owner: owner, isolation: isolation, onResult, origin: origin))
        return start(in: owner.deallocBag.storage, origin: origin, handlers: handlers)
    }
}

extension RunHandlers {
    /// The same closure for both ends; only one of them comes.
    fileprivate mutating func append<Value: Sendable>(result callback: Callback<Result<Value, NetworkError>>) {
        let invoke = callback.invoke
        success.append(Callback(lane: callback.lane, origin: callback.origin) { any in invoke(.success(any.of(Value.self).value)) })
        failure.append(Callback(lane: callback.lane, origin: callback.origin) { error in invoke(.failure(error)) })
    }
}
