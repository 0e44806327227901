#if TestServerTLS
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

/// One HTTP/2 stream: one request, one response.
final class HTTP2StreamHandler: ChannelInboundHandler, ExchangeOwner {
    typealias InboundIn = HTTPServerRequestPart

    private let core: ServerCore
    private let connection: ConnectionHandler
    private var context: ChannelHandlerContext?
    private var exchange: Exchange?

    init(core: ServerCore, connection: ConnectionHandler) {
        self.core = core
        self.connection = connection
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        exchange = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): receive(head, context: context)
        case .body(let bytes): exchange?.received(bytes)
        case .end(let trailers): exchange?.receivedEnd(trailers)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOHTTP2Errors.StreamClosed {
            // A connection that breaks closes its streams with the same error; only a living one has had a reset.
            exchange?.lose(connection.isOpen ? .streamReset : .clientClosed)
        } else {
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        exchange?.lose(.clientClosed)
        context.fireChannelInactive()
    }

    /// The stream ends with its last frame, which the writer has sent.
    func exchangeEnded(_ exchange: Exchange, keepsConnection: Bool) {}

    private func receive(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
        guard exchange == nil else { return }
        let id = try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
        let exchange = Exchange(
            head, streamID: id.map { Int($0) } ?? 0, connection: connection.info(of: context.channel.parent),
            writer: HTTP2Writer(context: context, connection: connection), owner: self, core: core,
            eventLoop: context.eventLoop)
        self.exchange = exchange
        exchange.begin()
        exchange.takeTurn()
    }
}
#endif
