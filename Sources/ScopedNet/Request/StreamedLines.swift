/// The lines of a streamed body, as they arrive. One iteration only; ending it early stops the transfer.
///
/// ```swift
/// for try await line in try await session.stream("events").lines { print(line) }
/// ```
///
/// A line ends with `\n` or `\r\n`, which is not part of it; the last one may have no end. Bytes are read as UTF-8, and those that are not
/// valid become U+FFFD.
public struct StreamedLines: AsyncSequence, Sendable {
    /// A line without its end.
    public typealias Element = String
    /// The error of the transfer; a line beyond the limit is `bodyTooLarge`.
    public typealias Failure = NetworkError

    private let bytes: StreamedResponse.Bytes
    private let limit: Int

    init(_ bytes: StreamedResponse.Bytes, limit: Int) {
        self.bytes = bytes
        self.limit = limit
    }

    /// Makes the iterator. One alone gets the lines.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes, limit: limit) }

    /// An iteration over the lines. Dropping it early stops the transfer.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var pieces: StreamedResponse.Bytes.AsyncIterator
        private var splitter: LineSplitter
        private let stream: BodyStream
        private let source: StreamedResponse.Bytes.Source
        private let limit: Int
        private var isOver = false

        init(_ bytes: StreamedResponse.Bytes, limit: Int) {
            pieces = bytes.makeAsyncIterator()
            splitter = LineSplitter(limit: limit)
            stream = bytes.bodyStream
            source = bytes.source
            self.limit = limit
        }

        /// The next line, without its end.
        ///
        /// - Throws: ``NetworkError``: `bodyTooLarge` for a line that is too long, which also stops the transfer, and what the body throws.
        public mutating func next() async throws(NetworkError) -> String? {
            while !isOver {
                if let line = try take(.next) { return line }
                guard let piece = try await pieces.next() else {
                    isOver = true
                    return try take(.finish)
                }
                splitter.append(piece)
            }
            return nil
        }

        /// Returns the next line; nil at the end of the body.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NetworkError) -> String? { try await next() }

        private mutating func take(_ step: LineSplitter.Step) throws(NetworkError) -> String? {
            do throws(LineSplitter.Failure) { return try splitter.take(step) } catch {
                isOver = true
                stream.abandon(.explicit)
                throw source.named(
                    NetworkError(
                        .bodyTooLarge, phase: .receiving, message: "a line has more than \(limit) bytes", runID: source.runID,
                        attempt: source.attempt))
            }
        }
    }
}

extension StreamedResponse.Bytes {
    /// The lines of the body, each of at most a mebibyte.
    public var lines: StreamedLines { lines(maxBytes: 1 << 20) }

    /// The lines of the body. `maxBytes` is the most bytes of a line, its end not counted; a longer one is `bodyTooLarge`.
    public func lines(maxBytes: Int) -> StreamedLines { StreamedLines(self, limit: maxBytes) }
}

extension StreamedResponse {
    /// The lines of the body, each of at most a mebibyte.
    public var lines: StreamedLines { bytes.lines }
}
