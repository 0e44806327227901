public import FoundationEssentials
import Synchronization

/// The head of a response whose body is still to come.
public struct StreamedResponse: Sendable {
    /// Status and fields.
    public let head: ResponseHead
    /// The body, content codings undone. Iterate it once.
    public let bytes: StreamedResponse.Bytes
    /// The run behind it: cancel, suspend, status.
    public let run: Run

    /// Starts a request, and reads its body as it arrives in place of making its value: as ``Session/stream(_:method:query:headers:body:in:window:fileID:line:)``,
    /// with all that a request can be told beforehand.
    ///
    /// ```swift
    /// let request = session.get("stories/live").options { $0.timeouts.idle = nil }
    /// for try await line in try await StreamedResponse(of: request, in: bag).bytes.lines { … }
    /// ```
    ///
    /// The closures of `request` stay armed for a start of its own.
    ///
    /// - Parameters:
    ///   - request: the request. It is not started itself.
    ///   - bag: ends the stream, too. Default: the bag of the task that this is called in, if there is one.
    ///   - window: the bytes that may wait for the reader before the connection is paused. Default: 256 KiB.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Throws: ``NetworkError`` where no head came; `invalidOption` for a download, whose body has a place already.
    public init<Value: Sendable>(
        of request: Request<Value>, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) {
        let (origin, description) = (CodeOrigin(fileID, line), request.currentDescription)
        guard description.destination == nil else {
            throw NetworkError(.invalidOption, phase: .preparing, message: "a download has a place for its body already")
        }
        let streamed = Request(session: request.session, decoder: .head, description: description, origin: origin)
        self = try await StreamOpening.open(streamed, in: bag, window: window, origin)
    }

    init(head: ResponseHead, stream: BodyStream, run: Run, limits: DecodingLimits) {
        self.head = head
        self.run = run
        bytes = Bytes(stream: stream, run: run, coding: head.appliedCoding, limits: limits)
    }
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
        private let reader: Reader
        package var bodyStream: BodyStream { guardian.stream }

        /// For whom the body is.
        private enum Reader: Sendable {
            /// The run's own reader.
            case ofRun(Run)
            /// One beside the run, which holds none.
            case beside(Source)
        }

        var source: Source {
            switch reader {
            case .ofRun(let run): Source(template: run.core.template, runID: run.id, attempt: run.core.attemptNumber)
            case .beside(let source): source
            }
        }

        /// The request that the body answers, for the errors of its readers. It holds no run.
        struct Source: Sendable {
            let template: RequestTemplate
            let runID: UInt64
            let attempt: Int

            func named(_ error: NetworkError) -> NetworkError {
                var error = error.asked(template.method, template.url)
                // The stream itself does not know whose it is.
                if error.runID == 0 { error.runID = runID }
                return error
            }
        }

        init(stream: BodyStream, run: Run, coding: String?, limits: DecodingLimits) {
            guardian = StreamGuardian(stream) { [core = run.core] in _ = core.cancel($0) }
            reader = .ofRun(run)
            self.coding = coding
            self.limits = limits
        }

        /// A body that is collected as well: leaving it stops nothing.
        init(observed stream: BodyStream, source: Source, coding: String?, limits: DecodingLimits) {
            guardian = StreamGuardian(stream) { _ in }
            reader = .beside(source)
            self.coding = coding
            self.limits = limits
        }

        /// Begins to read.
        public func makeAsyncIterator() -> AsyncIterator {
            // One beside the run that leaves its loop holds nothing up, although its closure still has the sequence.
            let leaving = if case .beside = reader { StreamGuardian(guardian.stream) { _ in } } else { guardian }
            return AsyncIterator(
                guardian: leaving, decoder: coding.flatMap { ContentDecoder.make(for: $0, limits: limits) }, source: source)
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
                defer { guardian.hasRest.store(pending != nil, ordering: .relaxed) }
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
    /// Of the last piece off the wire the iterator has not given out all. Of one thread at a time, the last of which is in `deinit`.
    let hasRest = Atomic<Bool>(false)

    init(_ stream: BodyStream, _ cancel: @escaping @Sendable (CancelReason) -> Void) {
        self.stream = stream
        // The run that is stopped by its reader was cancelled; it did not fail.
        stream.whenAbandoned(cancel)
    }
    deinit { stream.abandon(.explicit, hasRest: hasRest.load(ordering: .relaxed)) }
}
