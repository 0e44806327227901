#if TestServer
internal import NIOCore

/// Hands out a payload piece by piece, so that 100 MiB never stand in memory. Event loop only.
struct BodySource {
    enum Piece {
        case bytes(ByteBuffer)
        /// Nothing yet: the feed will call.
        case later
        case end
    }

    private enum Origin {
        case buffer(ByteBuffer)
        case pattern(ByteBuffer)
        case file(FileReader)
        case feed(StreamFeed)
    }

    private let origin: Origin
    private var position = 0
    /// Where the payload ends; nil where the feed will tell.
    private var end: Int?

    let opened: OpenedBody

    init(_ body: ScriptedResponse.Body, eventLoop: any EventLoop) {
        switch body {
        case .bytes(let bytes):
            origin = .buffer(ByteBuffer(bytes: bytes))
            opened = OpenedBody(count: bytes.count)
        case .repeating(let byte, let count):
            origin = .pattern(ByteBuffer(repeating: byte, count: min(max(0, count), 64 * 1024)))
            opened = OpenedBody(count: max(0, count))
        case .file(let path):
            let reader = FileReader(path: path)
            origin = reader.map { .file($0) } ?? .buffer(ByteBuffer())
            opened = OpenedBody(file: reader)
        case .stream(let stream):
            origin = .feed(StreamFeed(stream, eventLoop: eventLoop))
            opened = OpenedBody(count: nil)
        }
        end = opened.isMissing ? 0 : opened.count
    }

    var feed: StreamFeed? {
        if case .feed(let feed) = origin { feed } else { nil }
    }

    /// Whether it is known now that nothing follows.
    var isExhausted: Bool { end.map { position >= $0 } ?? false }

    mutating func select(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    mutating func next(atMost limit: Int) -> Piece {
        if case .feed(let feed) = origin { return feed.next(atMost: limit) }
        let count = min(limit, (end ?? position) - position)
        guard count > 0 else { return .end }
        let bytes: ByteBuffer
        switch origin {
        case .buffer(let buffer):
            bytes = buffer.getSlice(at: buffer.readerIndex + position, length: count) ?? ByteBuffer()
        case .pattern(let pattern):
            bytes = pattern.getSlice(at: pattern.readerIndex, length: min(count, pattern.readableBytes)) ?? ByteBuffer()
        case .file(let reader):
            bytes = reader.read(at: position, count: count)
        case .feed:
            return .end
        }
        guard bytes.readableBytes > 0 else { return .end }
        position += bytes.readableBytes
        return .bytes(bytes)
    }
}
#endif
