#if TestServerTLS
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import NIOTLS

extension ConnectionSetup {
    func setUpTLS(_ tls: NIOSSLContext, _ channel: any Channel, _ connection: ConnectionHandler) throws {
        // The first message of TLS is read twice: here for the name in it, then by TLS itself.
        let names = SNIHandler { name in
            channel.eventLoop.makeCompletedFuture { try negotiate(tls, name: name, channel, connection) }
        }
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(names))
    }

    private func negotiate(
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
            try speakHTTP2(on: channel, connection)
        case .negotiated, .fallback:
            // A client without ALPN speaks HTTP/1.1; a server that does not has nothing to say to it.
            if protocols.contains(.http1) { try speakHTTP1(on: channel, connection) } else { connection.close() }
        }
    }
}
#endif
