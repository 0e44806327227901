import SystemSupport

/// The opening of a stream: the wait for its head, or for the error that comes instead.
final class StreamOpening: Sendable {
    private enum State {
        case waiting(CheckedContinuation<Result<ResponseHead, NetworkError>, Never>?)
        case settled(Result<ResponseHead, NetworkError>)
    }
    private let state = Lock(State.waiting(nil))

    /// Starts the request, and returns when its head is there.
    static func open(
        _ request: Request<ResponseHead>, in bag: DeallocBag?, window: Int, _ origin: CodeOrigin
    ) async throws(NetworkError) -> StreamedResponse {
        let request = request.options { options in
            if !(Capabilities.current.pausesHTTP2Safely), options.httpVersion == .automatic { options.httpVersion = .http1 }
        }
        return try await StreamOpening().open(request, in: bag?.storage ?? TaskScope.bag, window: window, origin)
    }

    private func open(
        _ request: Request<ResponseHead>, in bag: BagStorage?, window: Int, _ origin: CodeOrigin
    ) async throws(NetworkError) -> StreamedResponse {
        let stream = BodyStream(window: window, origin: origin)
        var handlers = RunHandlers()
        handlers.head = .one(CallbackHandler(lane: .resumption, origin: origin) { self.succeed($0) })
        handlers.resolve = { result in
            switch result {
            case .success(let response): self.succeed(response.parts.head)
            case .failure(let error):
                self.fail(error)
                stream.finish(error)
            }
        }
        let canceller = TaskCanceller.ofThisTask()
        let run = request.start(in: bag, origin: origin, handlers: consume handlers, stream: stream, canceller: canceller)
        if run.wasRefused { throw run.refusal }
        let head = try await head { canceller.cancel() }
        let limits = request.session.configuration.options.limits.decoding
        return StreamedResponse(head: head, stream: stream, run: run, limits: limits)
    }

    func succeed(_ head: ResponseHead) { settle(.success(head)) }
    func fail(_ error: NetworkError) { settle(.failure(error)) }

    private func settle(_ result: Result<ResponseHead, NetworkError>) {
        let continuation = state.withLock { state -> CheckedContinuation<Result<ResponseHead, NetworkError>, Never>? in
            guard case .waiting(let continuation) = state else { return nil }
            state = .settled(result)
            return continuation
        }
        continuation?.resume(returning: result)
    }

    func head(onCancel: @escaping @Sendable () -> Void) async throws(NetworkError) -> ResponseHead {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> Result<ResponseHead, NetworkError>? in
                    if case .settled(let result) = state { return result }
                    state = .waiting(continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            onCancel()
        }
        return try result.get()
    }
}
