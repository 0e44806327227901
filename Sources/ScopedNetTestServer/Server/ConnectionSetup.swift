internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOSSL
internal import NIOTLS

/// Builds the pipeline of an accepted connection: TLS if there is any, then the protocol both sides speak.
struct ConnectionSetup: Sendable {
    let core: ServerCore
    let protocols: [HTTPProtocol]
    let maxConcurrentStreams: Int
    let tls: NIOSSLContext?

    init(_ configuration: LoopbackServer.Configuration, core: ServerCore) throws {
        self.core = core
        self.protocols = configuration.protocols
        self.maxConcurrentStreams = configuration.maxConcurrentStreams
        self.tls = try configuration.tls.map { identity in
            let names = configuration.protocols.map(\.alpnName)
            return try identity.makeServerContext(
                protocols: names, clientAuthority: configuration.clientAuthority, versions: configuration.tlsVersions)
        }
    }

    func setUp(_ channel: any Channel, _ connection: ConnectionHandler) throws {
        guard let tls else {
            try speak(protocols == [.http2] ? .http2 : .http1, on: channel, connection)
            return
        }
        // The first message of TLS is read twice: here for the name in it, then by TLS itself.
        let names = SNIHandler { name in
            channel.eventLoop.makeCompletedFuture { try setUpTLS(tls, name: name, channel, connection) }
        }
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(names))
    }

    private func setUpTLS(
        _ tls: NIOSSLContext, name: SNIResult, _ channel: any Channel, _ connection: ConnectionHandler
    ) throws {
        if case .hostname(let name) = name { connection.serverName = name }
        let negotiation = ApplicationProtocolNegotiationHandler { result, channel in
            channel.eventLoop.makeCompletedFuture {
                if case .negotiated(let name) = result { connection.applicationProtocol = name }
                try speakNegotiated(result, on: channel, connection)
            }
        }
        let operations = channel.pipeline.syncOperations
        try operations.addHandler(NIOSSLServerHandler(context: tls))
        try operations.addHandler(negotiation)
    }

    private func speakNegotiated(
        _ result: ALPNResult, on channel: any Channel, _ connection: ConnectionHandler
    ) throws {
        switch result {
        case .negotiated(HTTPProtocol.http2.alpnName):
            try speak(.http2, on: channel, connection)
        case .negotiated, .fallback:
            // A client without ALPN speaks HTTP/1.1; a server that does not has nothing to say to it.
            if protocols.contains(.http1) { try speak(.http1, on: channel, connection) } else { connection.close() }
        }
    }

    private func speak(_ version: HTTPProtocol, on channel: any Channel, _ connection: ConnectionHandler) throws {
        let operations = channel.pipeline.syncOperations
        switch version {
        case .http1:
            try operations.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
            try operations.addHandler(HTTP1Handler(core: core, connection: connection))
        case .http2:
            try speakHTTP2(on: channel, connection)
        }
    }

    private func speakHTTP2(on channel: any Channel, _ connection: ConnectionHandler) throws {
        var connectionConfiguration = NIOHTTP2Handler.ConnectionConfiguration()
        connectionConfiguration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: maxConcurrentStreams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 64 * 1024),
        ]
        // The script may lie about lengths and send fields that no server should.
        connectionConfiguration.headerBlockValidation = .disabled
        connectionConfiguration.contentLengthValidation = .disabled
        let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: connectionConfiguration, streamConfiguration: .init()
        ) { [core] stream in
            stream.eventLoop.makeCompletedFuture {
                let operations = stream.pipeline.syncOperations
                try operations.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
                try operations.addHandler(HTTP2StreamHandler(core: core, connection: bound.value))
            }
        }
        try channel.pipeline.syncOperations.addHandler(HTTP2ConnectionErrorHandler())
    }
}

/// Closes an HTTP/2 connection that breaks the protocol.
private final class HTTP2ConnectionErrorHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Errors of one stream are shown to its own channel, and here again: they are no reason to close.
        if !(error is NIOHTTP2Errors.StreamClosed) && !(error is NIOHTTP2Errors.StreamError) {
            context.close(promise: nil)
        }
    }
}
