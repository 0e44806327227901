#if TestServer
internal import NIOCore
internal import NIOHTTP1

/// The requests of one HTTP/1 connection. Pipelined ones are received as they come and answered in turn.
final class HTTP1Handler: ChannelInboundHandler, ExchangeOwner {
    typealias InboundIn = HTTPServerRequestPart

    private let core: ServerCore
    private let connection: ConnectionHandler
    private var info: ConnectionInfo?
    private var context: ChannelHandlerContext?
    private var writer: HTTP1Writer?

    /// In the order of arrival; the first has its turn.
    private var exchanges: [Exchange] = []
    private var incoming: Exchange?
    private var isClosing = false
    private var isGivingTurns = false

    init(core: ServerCore, connection: ConnectionHandler) {
        self.core = core
        self.connection = connection
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        writer = HTTP1Writer(context: context, connection: connection)
        info = connection.info(of: context.channel)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        writer = nil
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing || incoming != nil else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            receive(head, context: context)
        case .body(let bytes):
            incoming?.received(bytes)
        case .end(let trailers):
            let exchange = incoming
            incoming = nil
            exchange?.receivedEnd(trailers)
            // The answer was out before the request was in: only now is the connection done.
            if isClosing, exchanges.isEmpty { context.close(promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosing = true
        let lost = exchanges
        exchanges = []
        incoming = nil
        for exchange in lost { exchange.lose(.clientClosed) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError, exchanges.isEmpty, !isClosing else {
            context.close(promise: nil)
            return
        }
        isClosing = true
        let answer = ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        context.writeAndFlush(NIOAny(answer)).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }

    func exchangeEnded(_ exchange: Exchange, keepsConnection: Bool) {
        exchanges.removeAll { $0 === exchange }
        guard keepsConnection, !isClosing else {
            close(after: exchange)
            return
        }
        giveTurn()
    }

    private func receive(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
        guard !isClosing, let writer, let info else { return }
        let exchange = Exchange(
            head, streamID: nil, connection: info, writer: writer, owner: self, core: core,
            eventLoop: context.eventLoop)
        incoming = exchange
        exchanges.append(exchange)
        exchange.begin()
        giveTurn()
    }

    /// A turn can be over before the call returns; the loop then gives the next one, however long the line.
    private func giveTurn() {
        guard !isGivingTurns else { return }
        isGivingTurns = true
        defer { isGivingTurns = false }
        while let first = exchanges.first {
            first.takeTurn()
            if exchanges.first === first { return }
        }
    }

    private func close(after exchange: Exchange) {
        guard let context, !isClosing else { return }
        isClosing = true
        for waiting in exchanges { waiting.lose(.cutByScript) }
        exchanges = []
        if exchange.hasReceivedAll || exchange.leavesRequestUnread {
            context.close(promise: nil)
        } else {
            lingeringClose(context)
        }
    }

    /// A socket closed with unread bytes in it sends a reset, which can destroy the response before the client has read it.
    /// So the rest of the request is read and dropped, within reason, before the connection closes (RFC 9112, section 9.6).
    private func lingeringClose(_ context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(2)) { context.close(promise: nil) }
    }
}
#endif
