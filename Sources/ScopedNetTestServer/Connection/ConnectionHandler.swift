#if TestServer
internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Stands between the socket and everything else of a connection: counts it, and can end it without ceremony.
///
/// Being the first in the pipeline it closes below TLS, so a reset is a reset. Event loop only.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let ledger: Watched<Ledger>
    private let connections: ConnectionSet
    private let id: Int
    private var context: ChannelHandlerContext?
    private var knownInfo: ConnectionInfo?

    /// The name the client asked for, once it has.
    var serverName: String?
    /// What ALPN agreed on.
    var applicationProtocol: String?

    init(ledger: Watched<Ledger>, connections: ConnectionSet) {
        self.ledger = ledger
        self.connections = connections
        self.id = ledger.update { $0.connectionOpened() }
    }

    var isOpen: Bool { context?.channel.isActive ?? false }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
        connections.add(id, context.channel) { connection.value.close() }
    }

    /// Comes also for a connection that was never active, as long as its handlers were added.
    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        connections.remove(id)
        ledger.update { $0.connectionClosed() }
    }

    func close() {
        context?.close(promise: nil)
    }

    /// Closes with a TCP reset: with a linger time of zero the kernel says RST in place of FIN (socket(7)).
    func reset() {
        if let options = context?.channel as? any SocketOptionProvider {
            _ = options.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        close()
    }

    func info(of channel: (any Channel)?) -> ConnectionInfo {
        if let knownInfo { return knownInfo }
        var info = ConnectionInfo(id: id, remoteAddress: channel?.remoteAddress?.description ?? "")
        #if TestServerTLS
        info.tls = channel.flatMap { tlsDetails(of: $0) }
        #endif
        knownInfo = info
        return info
    }
}
#endif
