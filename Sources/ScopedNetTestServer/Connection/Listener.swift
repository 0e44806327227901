#if TestServer
internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A listening socket with the threads behind it: what the server and the proxy have in common.
final class Listener: Sendable {
    typealias SetUp = @Sendable (any Channel, ConnectionHandler) throws -> Void

    private enum Phase {
        case stopped
        case starting
        case running(MultiThreadedEventLoopGroup, any Channel)
    }

    private struct State {
        var phase = Phase.stopped
        var port: Int?
    }

    private let state = Mutex(State())
    private let connections = ConnectionSet()
    private let listen: Listen
    private let threads: Int
    private let ledger: Watched<Ledger>

    init(_ listen: Listen, threads: Int, ledger: Watched<Ledger>) {
        self.listen = listen
        self.threads = max(1, threads)
        self.ledger = ledger
    }

    deinit {
        // Forgotten without a stop: the threads end on their own.
        if case .running(let group, _) = state.withLock({ $0.phase }) { group.shutdownGracefully { _ in } }
    }

    /// The port; after a stop still the last one, where nobody listens now.
    var port: Int? { state.withLock { $0.port } }

    func start(_ setUp: @escaping SetUp) async throws {
        let group = try begin()
        do {
            finishStart(group, try await bind(group, setUp).get())
        } catch {
            await abandonStart(group)
            throw error
        }
    }

    @available(*, noasync)
    func startAndWait(_ setUp: @escaping SetUp) throws {
        let group = try begin()
        do {
            finishStart(group, try bind(group, setUp).wait())
        } catch {
            state.withLock { $0.phase = .stopped }
            group.shutdownGracefully { _ in }
            throw error
        }
    }

    func stop() async {
        let phase = state.withLock { state in
            let phase = state.phase
            if case .running = phase { state.phase = .stopped }
            return phase
        }
        guard case .running(let group, let channel) = phase else { return }
        ledger.update { $0.isStopping = true }
        try? await channel.close().get()
        await connections.closeAll()
        // Also ends what was not yet counted as a connection.
        try? await group.shutdownGracefully()
        if case .unixSocket(let path) = listen.address { unlink(path) }
    }

    private func begin() throws -> MultiThreadedEventLoopGroup {
        let mayStart = state.withLock { state in
            guard case .stopped = state.phase else { return false }
            state.phase = .starting
            return true
        }
        guard mayStart else { throw LoopbackServerError.alreadyRunning }
        connections.open()
        ledger.update { $0.isStopping = false }
        return MultiThreadedEventLoopGroup(numberOfThreads: threads)
    }

    private func finishStart(_ group: MultiThreadedEventLoopGroup, _ channel: any Channel) {
        state.withLock { state in
            state.phase = .running(group, channel)
            state.port = channel.localAddress?.port
        }
    }

    private func abandonStart(_ group: MultiThreadedEventLoopGroup) async {
        state.withLock { $0.phase = .stopped }
        try? await group.shutdownGracefully()
    }

    private func bind(_ group: MultiThreadedEventLoopGroup, _ setUp: @escaping SetUp) -> EventLoopFuture<any Channel> {
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { [ledger, connections] channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = ConnectionHandler(ledger: ledger, connections: connections)
                    try channel.pipeline.syncOperations.addHandler(connection)
                    try setUp(channel, connection)
                }
            }
        switch listen.pinned(to: port).address {
        case .host(let host, let port):
            return bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1).bind(host: host, port: port)
        case .unixSocket(let path):
            return bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true)
        }
    }
}
#endif
