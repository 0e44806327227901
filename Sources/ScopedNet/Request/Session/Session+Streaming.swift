public import HTTPTypes
import SystemSupport

extension Session {
    /// Reads a body as it arrives, with backpressure: a GET, unless told otherwise.
    ///
    /// Returns when the head is there. Leaving the loop over ``StreamedResponse/bytes``, ending `bag` or cancelling the task stops the transfer.
    ///
    /// The body is neither stored in the session's cache nor read out of it. An unsafe method invalidates there before this returns.
    ///
    /// `window` is how many bytes may wait for the reader before the connection is paused, and the most that one piece has once its coding is
    /// undone. Throws `invalidOption` also where only what is stored is wanted (``CachePolicy/ReadMode/only``, `only-if-cached`).
    public func stream(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
        body: RequestBody? = nil, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> StreamedResponse {
        let origin = CodeOrigin(fileID, line)
        let request = make(method, url, query, headers, body, .head, origin).options { options in
            if !(Capabilities.current.pausesHTTP2Safely), options.httpVersion == .automatic { options.httpVersion = .http1 }
        }
        return try await StreamOpening().open(request, in: bag?.storage ?? TaskScope.bag, window: window, origin)
    }

    /// Sends a value as JSON, by the session's coding, and reads what is answered as it arrives: a POST, unless told otherwise.
    public func stream<JSON: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .post, query: Parameters = [:], headers: HeaderFields = [:],
        json value: JSON, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> StreamedResponse {
        try await stream(
            url, method: method, query: query, headers: headers, body: .json(value), in: bag, window: window, fileID: fileID, line: line)
    }

    /// Sends JSON as it is written here, with variables, and reads what is answered as it arrives: a POST, unless told otherwise.
    @_disfavoredOverload
    public func stream(
        _ url: some URLConvertible, method: HTTPRequest.Method = .post, query: Parameters = [:], headers: HeaderFields = [:],
        json value: JSONLiteral, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> StreamedResponse {
        try await stream(
            url, method: method, query: query, headers: headers, body: .json(value), in: bag, window: window, fileID: fileID, line: line)
    }

    /// Sends a form, with variables, and reads what is answered as it arrives: a POST, unless told otherwise.
    public func stream(
        _ url: some URLConvertible, method: HTTPRequest.Method = .post, query: Parameters = [:], headers: HeaderFields = [:],
        form: Parameters, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> StreamedResponse {
        try await stream(
            url, method: method, query: query, headers: headers, body: .form(form), in: bag, window: window, fileID: fileID, line: line)
    }
}

/// The opening of a stream: the wait for its head, or for the error that comes instead.
private final class StreamOpening: Sendable {
    private enum State {
        case waiting(CheckedContinuation<Result<ResponseHead, NetworkError>, Never>?)
        case settled(Result<ResponseHead, NetworkError>)
    }
    private let state = Lock(State.waiting(nil))

    /// Starts the request, and returns when its head is there.
    func open(
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
