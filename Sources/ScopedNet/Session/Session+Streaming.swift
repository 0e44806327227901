public import FoundationEssentials
public import HTTPTypes

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
        let stream = BodyStream(window: window, origin: CodeOrigin(fileID, line))
        let opening = StreamOpening()
        let request = make(method, url, query, headers, body, .head, CodeOrigin(fileID, line)).options { options in
            if !(Capabilities.current.pausesHTTP2Safely), options.httpVersion == .automatic { options.httpVersion = .http1 }
        }
        var handlers = RunHandlers()
        handlers.head = .one(Callback(lane: .resumption, origin: CodeOrigin(fileID, line)) { opening.succeed($0) })
        handlers.resolve = { result in
            switch result {
            case .success(let response): opening.succeed(response.parts.head)
            case .failure(let error):
                opening.fail(error)
                stream.finish(error)
            }
        }
        let canceller = TaskCanceller.ofThisTask()
        let run = request.start(
            in: bag?.storage ?? TaskScope.bag, origin: CodeOrigin(fileID, line), handlers: consume handlers, stream: stream,
            canceller: canceller)
        if run.wasRefused { throw run.refusal }
        let head = try await opening.head { canceller.cancel() }
        return StreamedResponse(
            head: head,
            bytes: StreamedResponse.Bytes(
                stream: stream, run: run, coding: head.appliedCoding, limits: configuration.options.limits.decoding)
        )
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

/// The head of a response whose body is still to come.
public struct StreamedResponse: Sendable {
    /// Status and fields.
    public let head: ResponseHead
    /// The body, content codings undone. Iterate it once.
    public let bytes: StreamedResponse.Bytes
    /// The run behind it: cancel, suspend, status.
    public var run: Run { bytes.run }
}

extension StreamedResponse {
    /// A body in pieces, as they arrive. One iteration only; ending it early stops the transfer.
    public struct Bytes: AsyncSequence, Sendable {
        /// A piece of the body.
        public typealias Element = Data
        /// Each error is one of the library.
        public typealias Failure = NetworkError

        fileprivate let guardian: StreamGuardian
        fileprivate let coding: String?
        fileprivate let limits: DecodingLimits
        let run: Run
        package var bodyStream: BodyStream { guardian.stream }
        var source: Source { Source(template: run.core.template, runID: run.id, attempt: run.core.attemptNumber) }

        /// The request that the body answers, for the errors of its readers. It holds no run.
        struct Source: Sendable {
            let template: RequestTemplate
            let runID: UInt64
            let attempt: Int

            func named(_ error: NetworkError) -> NetworkError { error.asked(template.method, template.url) }
        }

        fileprivate init(stream: BodyStream, run: Run, coding: String?, limits: DecodingLimits) {
            guardian = StreamGuardian(stream, run.core)
            self.run = run
            self.coding = coding
            self.limits = limits
        }

        /// Begins to read.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(guardian: guardian, decoder: coding.flatMap { ContentDecoder.make(for: $0, limits: limits) }, source: source)
        }

        /// A reader of the body. Its end stops the transfer.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let guardian: StreamGuardian
            private let decoder: ContentDecoder?
            private let source: Source
            private var isOver = false
            /// The rest of the latest piece off the wire, until all that comes of it was given out.
            private var pending: Data?

            fileprivate init(guardian: StreamGuardian, decoder: ContentDecoder?, source: Source) {
                self.guardian = guardian
                self.decoder = decoder
                self.source = source
            }

            /// The next piece: 1 to `window` bytes, however far the body expands while its coding is undone.
            ///
            /// - Throws: ``NetworkError``, also when the transfer ends too early; never a short body without an error.
            public mutating func next() async throws(NetworkError) -> Data? {
                while !isOver {
                    if let piece = try nextOfPending() { return piece }
                    do throws(NetworkError) { pending = try await guardian.stream.next() } catch { throw source.named(error) }
                    guard pending == nil else { continue }
                    isOver = true
                    do throws(ContentDecodingError) { try decoder?.finish() } catch {
                        throw source.named(NetworkError(error, runID: source.runID, attempt: source.attempt))
                    }
                }
                return nil
            }

            private mutating func nextOfPending() throws(NetworkError) -> Data? {
                guard var rest = pending else { return nil }
                // A wire piece of kilobytes can become thousands of these: a reader that was cancelled gets none of the others.
                if let error = guardian.stream.cancellation(of: source.runID) {
                    isOver = true
                    throw source.named(error)
                }
                let window = guardian.stream.window
                let piece: Data
                if let decoder {
                    do throws(ContentDecodingError) { piece = try decoder.takeNext(of: &rest, upTo: window) } catch {
                        isOver = true
                        guardian.stream.abandon(.explicit)
                        throw source.named(NetworkError(error, runID: source.runID, attempt: source.attempt))
                    }
                    // A full piece says that there may be more, also where nothing of the input is left.
                    pending = piece.count == window ? rest : nil
                } else {
                    // A slice would begin at an index that is not 0, which trips readers up.
                    piece = rest.count <= window && rest.startIndex == 0 ? rest : Data(rest.prefix(window))
                    rest = rest.dropFirst(piece.count)
                    pending = rest.isEmpty ? nil : rest
                }
                return piece.isEmpty ? nil : piece
            }

            /// The next piece, without leaving the caller's actor first.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(NetworkError) -> Data? { try await next() }
        }
    }
}

/// Stops the run when the last sequence and iterator are gone before the end of the body.
private final class StreamGuardian: Sendable {
    let stream: BodyStream
    init(_ stream: BodyStream, _ run: RunCore) {
        self.stream = stream
        // The run that is stopped by its reader was cancelled; it did not fail.
        stream.whenAbandoned { _ = run.cancel($0) }
    }
    deinit { stream.abandon(.explicit) }
}

/// Hands over the head, once, or the error that came instead.
private final class StreamOpening: Sendable {
    private enum State {
        case waiting(CheckedContinuation<Result<ResponseHead, NetworkError>, Never>?)
        case settled(Result<ResponseHead, NetworkError>)
    }
    private let state = Lock(State.waiting(nil))

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
