#if TestServer
internal import NIOCore
internal import NIOHTTP1

/// Writes HTTP/1.1 byte by byte, because a test server must also be able to write what no encoder would.
final class HTTP1Writer: ResponseWriter {
    private let context: ChannelHandlerContext
    private let connection: ConnectionHandler
    private let writes = HeldWrites<ByteBuffer>()
    private var isChunked = false

    let pieceSize = 64 * 1024

    init(context: ChannelHandlerContext, connection: ConnectionHandler) {
        self.context = context
        self.connection = connection
    }

    /// HTTP/1 says it in the head.
    func announceClose() {}

    func writeInterimHead(_ head: ResponseHead) {
        append(head)
    }

    func writeHead(_ head: ResponseHead, isChunked: Bool) {
        self.isChunked = isChunked
        append(head)
    }

    func beginHead(_ head: ResponseHead, isChunked: Bool) -> [UInt8]? {
        self.isChunked = isChunked
        var bytes = ByteBuffer()
        bytes.writeHTTP1Head(head)
        return Array(bytes.readableBytesView)
    }

    func writeHeadPiece(_ bytes: some Collection<UInt8>) {
        writes.append(ByteBuffer(bytes: bytes), total: bytes.count, in: context)
    }

    func writeBody(_ bytes: ByteBuffer) {
        let count = bytes.readableBytes
        guard isChunked else {
            writes.append(bytes, total: count, body: count, in: context)
            return
        }
        let prefix = ByteBuffer(string: String(count, radix: 16) + "\r\n")
        writes.append(prefix, total: prefix.readableBytes, in: context)
        writes.append(bytes, total: count, body: count, in: context)
        writes.append(ByteBuffer(string: "\r\n"), total: 2, in: context)
    }

    func writeFinish(_ trailers: HeaderList) {
        guard isChunked else { return }
        isChunked = false
        var bytes = ByteBuffer(string: "0\r\n")
        bytes.writeHTTP1Fields(trailers)
        writes.append(bytes, total: bytes.readableBytes, in: context)
    }

    /// A whole response at once: head and body from a route's prepared bytes.
    func writePrepared(_ bytes: ByteBuffer, bodyLength: Int) {
        writes.append(bytes, total: bytes.readableBytes, body: bodyLength, in: context)
    }

    func flush(_ done: @escaping (Result<WrittenBytes, any Error>) -> Void) {
        writes.flush(in: context, done)
    }

    func stopReading() {
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    }

    func cut(_ cut: ResponseStep.Cut, errorCode: Int) {
        switch cut {
        case .close: context.close(promise: nil)
        case .reset: connection.reset()
        case .closeWithoutNotify: connection.close()
        }
    }

    private func append(_ head: ResponseHead) {
        var bytes = ByteBuffer()
        bytes.writeHTTP1Head(head)
        writes.append(bytes, total: bytes.readableBytes, in: context)
    }
}

extension ByteBuffer {
    mutating func writeHTTP1Head(_ head: ResponseHead) {
        // NIO does not know 103 yet.
        let usual = head.status == 103 ? "Early Hints" : HTTPResponseStatus(statusCode: head.status).reasonPhrase
        let reason = head.reason ?? usual
        writeString("HTTP/1.1 \(head.status) \(reason)\r\n")
        writeHTTP1Fields(head.headers)
    }

    fileprivate mutating func writeHTTP1Fields(_ fields: HeaderList) {
        for field in fields {
            writeString(field.name)
            writeStaticString(": ")
            writeString(field.value)
            writeStaticString("\r\n")
        }
        writeStaticString("\r\n")
    }
}
#endif
