/// Registering closures. Each arms the next start.
///
/// `for:` hands the owner to the closure and holds it weakly; the closure is skipped once the owner's deinit has begun. The closure runs on
/// the actor where it is written, or inside the owner when that is an actor, else on the session's delivery queue.
///
/// An owner is an actor, a `Sendable` class (every `@MainActor` class is), or any class in code that runs on an actor: its closure is
/// called on that actor. A class that is neither, in code that runs on no actor, does not compile, as the delivery queue would touch it
/// at the same time as its other users.
// The closures of the forms with `isolation:` take a tuple, so that the compiler weighs them like those that are `@isolated(any)` and the
// owner's being Sendable decides between the two; closures with two parameters are written for either.
extension Request {
    // MARK: Success

    /// The value, once, on success.
    public func onSuccess(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) -> Void
    ) -> Self {
        let callback = Callback(body, origin: CodeOrigin(fileID, line))
        arm { $0.success.append(callback.ofValue()) }
        return self
    }

    /// Hands over the value, with an owner that is held weakly.
    public func onSuccess<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Value) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.success.append(callback.ofValue()) }
        return self
    }

    /// Hands over the value on the actor of the code that registers, with an owner of any class that is held weakly.
    public func onSuccess<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, Value)) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))
        arm { $0.success.append(callback.ofValue()) }
        return self
    }

    /// Hands over the value inside an actor, which is held weakly.
    public func onSuccess<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line, _ body: @escaping @Sendable (isolated Owner, Value) -> Void
    ) -> Self {
        let callback = Callback(actor: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.success.append(callback.ofValue()) }
        return self
    }

    // MARK: The stored value, before the server's

    /// The stored value of a request with ``CachePolicy/ReadMode/thenNetwork``, if there is one: at most once, before success or failure, which
    /// the server's answer decides. Not called after a cancel.
    public func onCached(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) -> Void
    ) -> Self {
        let callback = Callback(body, origin: CodeOrigin(fileID, line))
        arm { $0.cached.append(callback.ofValue()) }
        return self
    }

    /// Hands over the stored value, with an owner that is held weakly.
    public func onCached<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Value) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.cached.append(callback.ofValue()) }
        return self
    }

    /// Hands over the stored value on the actor of the code that registers, with an owner of any class that is held weakly.
    public func onCached<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, Value)) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))
        arm { $0.cached.append(callback.ofValue()) }
        return self
    }

    /// Hands over the stored value inside an actor, which is held weakly.
    public func onCached<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line, _ body: @escaping @Sendable (isolated Owner, Value) -> Void
    ) -> Self {
        let callback = Callback(actor: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.cached.append(callback.ofValue()) }
        return self
    }

    // MARK: Success, with everything known about the response

    /// Value, head, metrics and body, once, on success.
    public func onResponse(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Response<Value>) -> Void
    ) -> Self {
        let callback = Callback(body, origin: CodeOrigin(fileID, line))
        arm { $0.success.append(callback.ofResponse()) }
        return self
    }

    /// Hands over the response, with an owner that is held weakly.
    public func onResponse<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Response<Value>) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.success.append(callback.ofResponse()) }
        return self
    }

    /// Hands over the response on the actor of the code that registers, with an owner of any class that is held weakly.
    public func onResponse<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, Response<Value>)) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))
        arm { $0.success.append(callback.ofResponse()) }
        return self
    }

    /// Hands over the response inside an actor, which is held weakly.
    public func onResponse<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, Response<Value>) -> Void
    ) -> Self {
        let callback = Callback(actor: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.success.append(callback.ofResponse()) }
        return self
    }

    // MARK: Failure

    /// The error, once, on failure. A cancelled run calls neither this nor success.
    public func onFailure(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (NetworkError) -> Void
    ) -> Self {
        let callback = Callback(body, origin: CodeOrigin(fileID, line))
        arm { $0.failure.append(callback) }
        return self
    }

    /// Hands over the error, with an owner that is held weakly.
    public func onFailure<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, NetworkError) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.failure.append(callback) }
        return self
    }

    /// Hands over the error on the actor of the code that registers, with an owner of any class that is held weakly.
    public func onFailure<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, NetworkError)) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))
        arm { $0.failure.append(callback) }
        return self
    }

    /// Hands over the error inside an actor, which is held weakly.
    public func onFailure<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, NetworkError) -> Void
    ) -> Self {
        let callback = Callback(actor: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.failure.append(callback) }
        return self
    }

    // MARK: End

    /// The reason, exactly once, after everything else, also for a cancelled run: where a spinner stops. Never inside `cancel()`.
    public func onEnd(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (EndReason) -> Void
    ) -> Self {
        let callback = Callback(body, origin: CodeOrigin(fileID, line))
        arm { $0.end.append(callback) }
        return self
    }

    /// Hands over the end, with an owner that is held weakly.
    public func onEnd<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, EndReason) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.end.append(callback) }
        return self
    }

    /// Hands over the end on the actor of the code that registers, with an owner of any class that is held weakly.
    public func onEnd<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, EndReason)) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))
        arm { $0.end.append(callback) }
        return self
    }

    /// Hands over the end inside an actor, which is held weakly.
    public func onEnd<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line, _ body: @escaping @Sendable (isolated Owner, EndReason) -> Void
    ) -> Self {
        let callback = Callback(actor: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.end.append(callback) }
        return self
    }

    // MARK: Progress

    /// Coalesced and monotonic, in wire bytes; the complete count comes before the success.
    public func onUploadProgress(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (TransferProgress) -> Void
    ) -> Self {
        let callback = Callback(body, origin: CodeOrigin(fileID, line))
        arm { $0.sent.append(callback) }
        return self
    }

    /// Hands over the progress of the upload, with an owner that is held weakly.
    public func onUploadProgress<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, TransferProgress) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.sent.append(callback) }
        return self
    }

    /// Hands over the progress of the upload on the actor of the code that registers, with an owner of any class that is held weakly.
    public func onUploadProgress<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, TransferProgress)) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))
        arm { $0.sent.append(callback) }
        return self
    }

    /// Hands over the progress of the upload inside an actor, which is held weakly.
    public func onUploadProgress<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, TransferProgress) -> Void
    ) -> Self {
        let callback = Callback(actor: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.sent.append(callback) }
        return self
    }

    // MARK: onDownloadProgress

    /// Coalesced and monotonic, in wire bytes; the complete count comes before the success.
    /// Error pages, and what a redirect says, are not counted.
    public func onDownloadProgress(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (TransferProgress) -> Void
    ) -> Self {
        let callback = Callback(body, origin: CodeOrigin(fileID, line))
        arm { $0.received.append(callback) }
        return self
    }

    /// Hands over the progress of the download, with an owner that is held weakly.
    public func onDownloadProgress<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, TransferProgress) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.received.append(callback) }
        return self
    }

    /// Hands over the progress of the download on the actor of the code that registers, with an owner of any class that is held weakly.
    public func onDownloadProgress<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, TransferProgress)) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))
        arm { $0.received.append(callback) }
        return self
    }

    /// Hands over the progress of the download inside an actor, which is held weakly.
    public func onDownloadProgress<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, TransferProgress) -> Void
    ) -> Self {
        let callback = Callback(actor: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.received.append(callback) }
        return self
    }

    // MARK: Head

    /// The head of the final, accepted response, before its body.
    public func onResponseHead(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (ResponseHead) -> Void
    ) -> Self {
        let callback = Callback(body, origin: CodeOrigin(fileID, line))
        arm { $0.head.append(callback) }
        return self
    }

    /// Hands over the head of the response, with an owner that is held weakly.
    public func onResponseHead<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, ResponseHead) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.head.append(callback) }
        return self
    }

    /// Hands over the head of the response on the actor of the code that registers, with an owner of any class that is held weakly.
    public func onResponseHead<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, ResponseHead)) -> Void
    ) -> Self {
        let callback = Callback(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))
        arm { $0.head.append(callback) }
        return self
    }

    /// Hands over the head of the response inside an actor, which is held weakly.
    public func onResponseHead<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, ResponseHead) -> Void
    ) -> Self {
        let callback = Callback(actor: owner, body, origin: CodeOrigin(fileID, line))
        arm { $0.head.append(callback) }
        return self
    }
}

extension Callback {
    /// The same place and closure, for a response whose value this one takes. No key path: making one costs more than the call.
    package func ofValue() -> Callback<AnyResponse> {
        let invoke = invoke
        return Callback<AnyResponse>(lane: lane, origin: origin) { any in invoke(any.of(Payload.self).value) }
    }

    /// The same place and closure, for a response that this one takes whole.
    package func ofResponse<Value>() -> Callback<AnyResponse> where Payload == Response<Value> {
        let invoke = invoke
        return Callback<AnyResponse>(lane: lane, origin: origin) { any in invoke(Response(any)) }
    }
}
