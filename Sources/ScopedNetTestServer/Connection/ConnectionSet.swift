#if TestServer
internal import NIOCore
internal import Synchronization

/// The open connections of a server, so that stopping it can end them.
final class ConnectionSet: Sendable {
    private struct Connection: Sendable {
        let channel: any Channel
        /// On the channel's event loop.
        let close: @Sendable () -> Void
    }

    private struct State {
        var connections: [Int: Connection] = [:]
        var isClosing = false
    }

    private let state = Mutex(State())

    func add(_ id: Int, _ channel: any Channel, close: @escaping @Sendable () -> Void) {
        let isClosing = state.withLock { state in
            state.connections[id] = Connection(channel: channel, close: close)
            return state.isClosing
        }
        // Accepted while the server was stopping: the listener was a moment slower than the stop.
        if isClosing { channel.eventLoop.execute(close) }
    }

    func remove(_ id: Int) {
        state.withLock { $0.connections[id] = nil }
    }

    /// From here on connections are welcome again.
    func open() {
        state.withLock { $0.isClosing = false }
    }

    func closeAll() async {
        let connections = state.withLock { state in
            state.isClosing = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.channel.eventLoop.execute(connection.close) }
        for connection in connections { try? await connection.channel.closeFuture.get() }
    }
}
#endif
