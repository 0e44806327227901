#if TestServerTLS
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

/// Writes one HTTP/2 stream, through NIO's codec.
final class HTTP2Writer: ResponseWriter {
    private let context: ChannelHandlerContext
    private let connection: ConnectionHandler
    private let writes = HeldWrites<HTTPServerResponsePart>()

    /// The default frame size: a piece is one DATA frame, so the counters are exact to a frame.
    let pieceSize = 16 * 1024

    init(context: ChannelHandlerContext, connection: ConnectionHandler) {
        self.context = context
        self.connection = connection
    }

    /// GOAWAY goes before the response: a client that sees it after the end may have used the connection again. The open
    /// streams are served to their end, then NIO closes.
    func announceClose() {
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil)
        context.channel.parent?.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: payload), promise: nil)
    }

    func writeInterimHead(_ head: ResponseHead) {
        append(head)
    }

    func writeHead(_ head: ResponseHead, isChunked: Bool) {
        append(head)
    }

    /// A head is one frame.
    func beginHead(_ head: ResponseHead, isChunked: Bool) -> [UInt8]? { nil }

    func writeHeadPiece(_ bytes: some Collection<UInt8>) {}

    func writeBody(_ bytes: ByteBuffer) {
        let count = bytes.readableBytes
        writes.append(.body(.byteBuffer(bytes)), total: count, body: count, in: context)
    }

    func writeFinish(_ trailers: HeaderList) {
        let part = HTTPServerResponsePart.end(trailers.isEmpty ? nil : trailers.nioHeaders)
        writes.append(part, total: trailers.textLength, in: context)
    }

    func flush(_ done: @escaping (Result<WrittenBytes, any Error>) -> Void) {
        writes.flush(in: context, done)
    }

    func stopReading() {
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    }

    func cut(_ cut: ResponseStep.Cut, errorCode: Int) {
        switch cut {
        case .close: resetStream(HTTP2ErrorCode(networkCode: errorCode))
        case .reset: connection.reset()
        case .closeWithoutNotify: connection.close()
        }
    }

    /// RST_STREAM is a frame that HTTP/1 has no part for, so it goes past the codec.
    private func resetStream(_ code: HTTP2ErrorCode) {
        let codec = try? context.pipeline.syncOperations.context(handlerType: HTTP2FramePayloadToHTTP1ServerCodec.self)
        codec?.writeAndFlush(NIOAny(HTTP2Frame.FramePayload.rstStream(code)), promise: nil)
    }

    private func append(_ head: ResponseHead) {
        let part = HTTPServerResponsePart.head(
            HTTPResponseHead(
                version: .http2,
                status: HTTPResponseStatus(statusCode: head.status),
                headers: head.headers.nioHeaders
            )
        )
        writes.append(part, total: 3 + head.headers.textLength, in: context)
    }
}

extension HeaderList {
    fileprivate var textLength: Int {
        reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }
}
#endif
