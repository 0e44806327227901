#if TestServer
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Shakes hands as a SOCKS5 server (RFC 1928, RFC 1929), connects to where the client wants, and then becomes a relay.
final class SOCKSHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Stage { case greeting, password, request, busy }

    private let configuration: LoopbackProxy.Configuration
    private let ledger: Watched<Ledger>
    private let connection: ConnectionHandler
    private var stage = Stage.greeting
    private var received = ByteBuffer()

    init(_ connection: ConnectionHandler, configuration: LoopbackProxy.Configuration, ledger: Watched<Ledger>) {
        self.connection = connection
        self.configuration = configuration
        self.ledger = ledger
    }

    static func setUp(
        _ channel: any Channel, _ connection: ConnectionHandler, configuration: LoopbackProxy.Configuration, ledger: Watched<Ledger>
    ) throws {
        try channel.pipeline.syncOperations.addHandler(SOCKSHandler(connection, configuration: configuration, ledger: ledger))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        received.writeBuffer(&bytes)
        while stage != .busy, step(context) {}
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// One message. False when it has not come whole, or nothing follows.
    private func step(_ context: ChannelHandlerContext) -> Bool {
        let start = received.readerIndex
        guard let message = SOCKSMessage(&received, stage == .greeting ? .greeting : stage == .password ? .password : .request) else {
            received.moveReaderIndex(to: start)
            return false
        }
        switch message {
        case .malformed:
            stage = .busy
            context.close(promise: nil)
            return false
        case .greeting(let methods):
            let wanted: UInt8 = configuration.credentials == nil ? 0 : 2
            let isOffered = methods.contains(wanted)
            write([5, isOffered ? wanted : 0xFF], context, thenClose: !isOffered)
            stage = !isOffered ? .busy : wanted == 2 ? .password : .request
            return isOffered
        case .password(let user, let password):
            let isRight = configuration.credentials == .init(user: user, password: password)
            write([1, isRight ? 0 : 1], context, thenClose: !isRight)
            stage = isRight ? .request : .busy
            return isRight
        case .request(let command, let host, let port):
            stage = .busy
            received(command: command, ProxyRoute(host: host, port: port), context)
            return false
        }
    }

    private func received(command: UInt8, _ route: ProxyRoute, _ context: ChannelHandlerContext) {
        let progress = Watched(RequestProgress())
        let head = HTTPRequestHead(version: .http1_1, method: .RAW(value: "SOCKS5"), uri: "\(route.host):\(route.port)")
        ledger.update { [connection] in
            $0.record(
                RecordedRequest(
                    head, streamID: nil, connection: connection.info(of: context.channel), body: [], trailers: [:], receivedAt: .now,
                    progress: progress))
        }
        // 2: not allowed; 7: command not supported.
        if configuration.refusal != nil { return answer(2, progress, context) }
        guard command == 1 else { return answer(7, progress, context) }
        connect(to: route.resolved(with: configuration.hosts), progress: progress, context)
    }

    private func connect(to route: ProxyRoute, progress: Watched<RequestProgress>, _ context: ChannelHandlerContext) {
        let relay = Relay(ledger: ledger, progress: progress)
        let clientSide = NIOLoopBound(RelayHandler(relay, isClientSide: true), eventLoop: context.eventLoop)
        let originSide = NIOLoopBound(RelayHandler(relay, isClientSide: false), eventLoop: context.eventLoop)
        clientSide.value.partner = originSide.value
        originSide.value.partner = clientSide.value
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { origin in
                origin.eventLoop.makeCompletedFuture { try origin.pipeline.syncOperations.addHandler(originSide.value) }
            }
            .connect(host: route.host, port: route.port)
            .assumeIsolated()
            .whenComplete { [self] result in
                switch result {
                case .success(let origin): connected(origin, clientSide.value, relay, context)
                case .failure:
                    clientSide.value.partner = nil
                    relay.abandon()
                    // 5: refused.
                    answer(5, progress, context)
                }
            }
    }

    private func connected(_ origin: any Channel, _ clientSide: RelayHandler, _ relay: Relay, _ context: ChannelHandlerContext) {
        guard context.channel.isActive, (try? context.pipeline.syncOperations.addHandler(clientSide)) != nil else {
            relay.end(.clientClosed)
            origin.close(promise: nil)
            return context.close(promise: nil)
        }
        clientSide.write(ByteBuffer(bytes: Self.reply(0)))
        // What the client sent ahead belongs to the tunnel.
        if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func answer(_ code: UInt8, _ progress: Watched<RequestProgress>, _ context: ChannelHandlerContext) {
        write(Self.reply(code), context, thenClose: true)
        progress.update { $0.ending = .completed }
    }

    /// No client looks at the address.
    private static func reply(_ code: UInt8) -> [UInt8] { [5, code, 0, 1, 0, 0, 0, 0, 0, 0] }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext, thenClose: Bool = false) {
        let written = context.channel.writeAndFlush(ByteBuffer(bytes: bytes))
        ledger.update { $0.sent(bytes.count) }
        if thenClose { written.assumeIsolated().whenComplete { _ in context.close(promise: nil) } }
    }
}
#endif
