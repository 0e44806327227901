#if TestServer
internal import NIOCore
internal import NIOHTTP1
#if TestServerTLS
internal import NIOSSL
#endif

/// Builds the pipeline of an accepted connection: TLS if there is any, then the protocol both sides speak.
struct ConnectionSetup: Sendable {
    let core: ServerCore
    let protocols: [HTTPProtocol]
    #if TestServerTLS
    let maxConcurrentStreams: Int
    let tls: NIOSSLContext?
    #endif

    init(_ configuration: LoopbackServer.Configuration, core: ServerCore) throws {
        self.core = core
        self.protocols = configuration.protocols
        #if TestServerTLS
        self.maxConcurrentStreams = configuration.maxConcurrentStreams
        self.tls = try configuration.tls.map { identity in
            let names = configuration.protocols.map(\.alpnName)
            return try identity.makeServerContext(
                protocols: names, clientAuthority: configuration.clientAuthority, versions: configuration.tlsVersions)
        }
        #endif
    }

    func setUp(_ channel: any Channel, _ connection: ConnectionHandler) throws {
        #if TestServerTLS
        if let tls { return try setUpTLS(tls, channel, connection) }
        if protocols == [.http2] { return try speakHTTP2(on: channel, connection) }
        #endif
        try speakHTTP1(on: channel, connection)
    }

    func speakHTTP1(on channel: any Channel, _ connection: ConnectionHandler) throws {
        let operations = channel.pipeline.syncOperations
        try operations.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        try operations.addHandler(HTTP1Handler(core: core, connection: connection))
    }
}
#endif
