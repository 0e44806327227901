#if TestServer
internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Reads one request from a client, connects to where it goes, and then becomes a relay.
///
/// A forwarded request is a tunnel too, with the rewritten request in front: the origin is asked to close, so its answer ends
/// with the connection and nothing of it has to be understood.
final class ProxyHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let configuration: LoopbackProxy.Configuration
    private let authorization: ProxyAuthorization?
    private let ledger: Watched<Ledger>
    private let connection: ConnectionHandler
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var isBusy = false

    init(
        _ connection: ConnectionHandler, configuration: LoopbackProxy.Configuration, authorization: ProxyAuthorization?,
        ledger: Watched<Ledger>
    ) {
        self.connection = connection
        self.configuration = configuration
        self.authorization = authorization
        self.ledger = ledger
    }

    static func setUp(
        _ channel: any Channel, _ connection: ConnectionHandler, configuration: LoopbackProxy.Configuration,
        authorization: ProxyAuthorization?, ledger: Watched<Ledger>
    ) throws {
        let operations = channel.pipeline.syncOperations
        // What follows a CONNECT belongs to the tunnel: the decoder hands it on when it is taken out.
        try operations.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes)))
        try operations.addHandler(ProxyHandler(connection, configuration: configuration, authorization: authorization, ledger: ledger))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBusy else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body.clear()
        case .body(var bytes):
            body.writeBuffer(&bytes)
        case .end:
            if let head { received(head, context: context) }
            head = nil
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func received(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
        let progress = Watched(RequestProgress(bodyBytesReceived: body.readableBytes))
        let record = RecordedRequest(
            head, streamID: nil, connection: connection.info(of: context.channel), body: Array(body.readableBytesView),
            trailers: [:], receivedAt: .now, progress: progress)
        ledger.update { $0.record(record) }

        if let refusal = configuration.refusal {
            answer(refusal, to: head, progress: progress, context: context)
        } else if let challenge = authorization?.challenge(head) {
            answer(407, ["Proxy-Authenticate": challenge], to: head, progress: progress, context: context)
        } else if let route = ProxyRoute(method: head.method.rawValue, target: head.uri) {
            connect(to: route.resolved(with: configuration.hosts), for: head, progress: progress, context: context)
        } else {
            answer(400, to: head, progress: progress, context: context)
        }
    }

    private func answer(
        _ status: Int, _ headers: HeaderList = [:], to head: HTTPRequestHead, progress: Watched<RequestProgress>,
        context: ChannelHandlerContext
    ) {
        // After CONNECT the decoder reads no more requests, so the client has to come again.
        let keepsConnection = head.isKeepAlive && head.method != .CONNECT
        isBusy = !keepsConnection
        var headers = headers
        headers.append("Content-Length", "0")
        if !keepsConnection { headers.append("Connection", "close") }
        var bytes = ByteBuffer()
        bytes.writeHTTP1Head(ResponseHead(status: status, headers: headers))
        let count = bytes.readableBytes
        context.channel.writeAndFlush(bytes).assumeIsolated().whenComplete { [ledger] _ in
            ledger.update { $0.sent(count) }
            progress.update {
                $0.bytesSent += count
                $0.ending = .completed
            }
            if !keepsConnection { context.close(promise: nil) }
        }
    }

    // MARK: Connecting

    private func connect(
        to route: ProxyRoute, for head: HTTPRequestHead, progress: Watched<RequestProgress>,
        context: ChannelHandlerContext
    ) {
        isBusy = true
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
                case .success(let origin):
                    connected(origin, clientSide.value, for: head, relay: relay, context: context)
                case .failure:
                    clientSide.value.partner = nil
                    relay.abandon()
                    answer(502, to: head, progress: progress, context: context)
                }
            }
    }

    private func connected(
        _ origin: any Channel, _ clientSide: RelayHandler, for head: HTTPRequestHead, relay: Relay,
        context: ChannelHandlerContext
    ) {
        guard context.channel.isActive else {
            relay.end(.clientClosed)
            origin.close(promise: nil)
            return
        }
        let operations = context.pipeline.syncOperations
        do {
            try operations.addHandler(clientSide)
        } catch {
            origin.close(promise: nil)
            context.close(promise: nil)
            return
        }
        if head.method == .CONNECT {
            clientSide.write(ByteBuffer(string: "HTTP/1.1 200 Connection Established\r\n\r\n"))
        } else {
            origin.writeAndFlush(forwarded(head), promise: nil)
        }
        stopReadingRequests(context)
    }

    private func stopReadingRequests(_ context: ChannelHandlerContext) {
        let operations = context.pipeline.syncOperations
        let decoder = try? operations.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self)
        operations.removeHandler(self, promise: nil)
        if let decoder { operations.removeHandler(context: decoder, promise: nil) }
    }

    /// The request as the origin server is to see it: the path for the target, the proxy's own fields taken out.
    private func forwarded(_ head: HTTPRequestHead) -> ByteBuffer {
        var bytes = ByteBuffer(string: "\(head.method.rawValue) \(RequestTarget(head.uri).originForm) HTTP/1.1\r\n")
        let ownFields = [
            "connection", "proxy-connection", "proxy-authorization", "content-length", "transfer-encoding", "expect",
        ]
        for (name, value) in head.headers where !ownFields.contains(name.lowercased()) {
            bytes.writeString("\(name): \(value)\r\n")
        }
        let hasBody = head.headers.contains(name: "content-length") || head.headers.contains(name: "transfer-encoding")
        if hasBody { bytes.writeString("Content-Length: \(body.readableBytes)\r\n") }
        bytes.writeString("Via: 1.1 loopback\r\nConnection: close\r\n\r\n")
        bytes.writeImmutableBuffer(body)
        return bytes
    }
}
#endif
