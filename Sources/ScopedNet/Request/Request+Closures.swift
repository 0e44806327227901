/// Registering closures. Each arms the next start: `request.onSuccess(for: self) { model, posts in … }`. The forms are those of ``Registration``.
///
/// `for:` hands the owner to the closure and holds it weakly; the closure is skipped once the owner's deinit has begun. `bound(to:)` names the
/// owner once for several closures. The closure runs on the actor where it is written, or inside the owner when that is an actor, else on the
/// session's delivery queue.
///
/// An owner is an actor, a `Sendable` class (every `@MainActor` class is), or any class in code that runs on an actor: its closure is
/// called on that actor. A class that is neither, in code that runs on no actor, does not compile, as the delivery queue would touch it
/// at the same time as its other users.
extension Request {
    /// Hands over the value, once, on success.
    public var onSuccess: Registration<Value> { Registration(request: self) { $0.success.append($1.ofValue()) } }

    /// Hands over the stored value of a request with ``CachePolicy/ReadMode/thenNetwork``, if there is one: at most once, before success or
    /// failure, which the server's answer decides. Not called after a cancel.
    public var onCached: Registration<Value> { Registration(request: self) { $0.cached.append($1.ofValue()) } }

    /// Hands over value, head, metrics and body, once, on success.
    public var onResponse: Registration<Response<Value>> { Registration(request: self) { $0.success.append($1.ofResponse()) } }

    /// Hands over the error, once, on failure. A cancelled run calls neither this nor success.
    public var onFailure: Registration<NetworkError> { Registration(request: self) { $0.failure.append($1) } }

    /// Hands over the value or the error, once. A cancelled run calls nothing but ``onEnd``.
    public var onResult: Registration<Result<Value, NetworkError>> { Registration(request: self) { $0.append(result: $1) } }

    /// Hands over the reason of the end, exactly once, after everything else, also for a cancelled run: where a spinner stops. Never inside
    /// `cancel()`.
    public var onEnd: Registration<EndReason> { Registration(request: self) { $0.end.append($1) } }

    /// Hands over the progress of the upload: coalesced and monotonic, in wire bytes; the complete count comes before the success.
    public var onUploadProgress: Registration<TransferProgress> { Registration(request: self) { $0.sent.append($1) } }

    /// Hands over the progress of the download: coalesced and monotonic, in wire bytes; the complete count comes before the success.
    /// Error pages, and what a redirect says, are not counted.
    public var onDownloadProgress: Registration<TransferProgress> { Registration(request: self) { $0.received.append($1) } }

    /// Hands over the head of the final, accepted response, before its body.
    public var onResponseHead: Registration<ResponseHead> { Registration(request: self) { $0.head.append($1) } }
}

extension CallbackHandler {
    /// The same place and closure, for a response whose value this one takes. No key path: making one costs more than the call.
    package func ofValue() -> CallbackHandler<AnyResponse> {
        let invoke = invoke
        return CallbackHandler<AnyResponse>(lane: lane, origin: origin) { any in invoke(any.of(Payload.self).value) }
    }

    /// The same place and closure, for a response that this one takes whole.
    package func ofResponse<Value>() -> CallbackHandler<AnyResponse> where Payload == Response<Value> {
        let invoke = invoke
        return CallbackHandler<AnyResponse>(lane: lane, origin: origin) { any in invoke(Response(any)) }
    }
}

extension Request {
    /// Sets the delegate of later starts, called on the actor this is called from. Held weakly.
    public func delegate(_ delegate: any RequestDelegate, isolation: isolated any Actor = #isolation) -> Self {
        setDelegate(DelegateReference(delegate, isolation: isolation))
        return self
    }

    /// Sets a delegate from code that runs on no actor: it must be Sendable, and is called on the session's delivery queue.
    public func delegate(sendable delegate: any RequestDelegate & Sendable) -> Self {
        setDelegate(DelegateReference(delegate, isolation: nil))
        return self
    }
}
