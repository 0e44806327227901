package import FoundationEssentials
import SystemSupport

/// The bytes of a channel that are to go, with backpressure: at most `window` bytes wait for the connection, then senders do.
@_spi(Transport) public final class ChannelOutput: Sendable {
    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var chunks: [Data] = []
        var next = 0
        var buffered = 0
        var waiters: [Waiter] = []
        var isClosing = false
        /// Nil while bytes are taken.
        var end: NetworkError?
        var onReady: (@Sendable () -> Void)?
    }

    /// Bytes that may wait before senders do. Default: 256 KiB.
    public let window: Int
    private let state = Lock(State())

    package init(window: Int = 256 << 10) { self.window = max(1, window) }

    // MARK: The sender's side

    /// Takes bytes as soon as fewer than `window` wait, whole and in order.
    ///
    /// - Throws: ``NetworkError``: why the channel has ended, or `cancelled` where the task was; nothing of them is sent then.
    package func send(_ data: Data) async throws(NetworkError) {
        guard !data.isEmpty else { return }
        while true {
            switch offer(data) {
            case .taken(let ready):
                ready?()
                return
            case .ended(let error): throw error
            case .full: try await room()
            }
        }
    }

    private enum Offer { case taken(ready: (@Sendable () -> Void)?), full, ended(NetworkError) }

    private func offer(_ data: Data) -> Offer {
        state.withLock { state in
            if let end = state.end { return .ended(end) }
            if state.isClosing { return .ended(Self.closed) }
            guard state.buffered < window else { return .full }
            let wasEmpty = state.buffered == 0
            state.chunks.append(data)
            state.buffered += data.count
            return .taken(ready: wasEmpty ? state.onReady : nil)
        }
    }

    private func room() async throws(NetworkError) {
        let id = Identifier.next()
        let cancellation = TaskCancellation()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state -> Bool in
                    guard state.end == nil, !state.isClosing, state.buffered >= window, !Task.isCancelled else { return false }
                    state.waiters.append(Waiter(id: id, continuation: continuation))
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
        if Task.isCancelled { throw .cancelled(cancellation.reason, runID: 0, phase: .sending) }
    }

    /// No more bytes are taken; what waits is sent, and then the connection ends.
    package func close() {
        let (ready, waiters) = state.withLock { state in
            state.isClosing = true
            defer { state.waiters = [] }
            return (state.onReady, state.waiters)
        }
        resume(waiters)
        ready?()
    }

    /// Closed: the rest is being sent, or was.
    package var isClosing: Bool { state.withLock { $0.isClosing } }

    // MARK: The transport's side

    /// `ready` is called when there is something to do: bytes where there were none, or the close. On any thread.
    package func connect(ready: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            if state.end == nil { state.onReady = ready }
            return state.buffered > 0 || state.isClosing
        }
        if isDue { ready() }
    }

    /// The bytes that go next; they stay. Nil where none wait.
    package var first: Data? { state.withLock { $0.next < $0.chunks.count ? $0.chunks[$0.next] : nil } }

    /// The first chunk has gone out.
    package func takeFirst() {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.next < state.chunks.count else { return [] }
            state.buffered -= state.chunks[state.next].count
            state.chunks[state.next] = Data()
            state.next += 1
            state.chunks.dropTaken(&state.next)
            guard state.buffered < window else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        resume(waiters)
    }

    /// Closed, and all of it has gone out.
    package var isDone: Bool { state.withLock { $0.isClosing && $0.next == $0.chunks.count } }

    /// The connection has ended; nil where it was closed.
    package func finish(_ error: NetworkError?) {
        let (waiters, garbage) = state.withLock { state in
            let garbage = (state.chunks, state.onReady)
            if state.end == nil { state.end = error ?? Self.closed }
            (state.chunks, state.next, state.buffered, state.onReady) = ([], 0, 0, nil)
            defer { state.waiters = [] }
            return (state.waiters, garbage)
        }
        _ = garbage
        resume(waiters)
    }

    /// Resuming a task may run its executor's `enqueue`: not here, where the network thread may be calling.
    private func resume(_ waiters: [Waiter]) {
        guard !waiters.isEmpty else { return }
        DeliveryLane.resumption.enqueue(.work { for waiter in waiters { waiter.continuation.resume() } })
    }

    private static let closed = NetworkError(.connectionLost, phase: .sending, message: "the channel was closed")

    /// Bytes held right now; tests use it to show the bound.
    package var bufferedBytes: Int { state.withLock { $0.buffered } }
}
