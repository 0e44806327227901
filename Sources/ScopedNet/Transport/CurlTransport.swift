import SystemSupport

/// The transport that ships: libcurl's multi interface on one thread, driven by epoll.
///
/// The thread, its multi handle and its sockets are made with the first transfer and go away with the last reference; no shutdown is
/// needed. Any thread may call any method; none blocks.
@_spi(Transport) public final class CurlTransport: Transport {
    private enum State: Sendable { case idle, running(NetworkThread), stopped }

    /// The settings of all connections of this transport.
    public let settings: ConnectionSettings
    private let state = Lock(State.idle)

    /// Makes a transport without a thread; the first transfer starts it.
    public init(settings: ConnectionSettings = .init()) {
        self.settings = settings
        LiveObjects.born(.transport)
    }

    deinit {
        // No transfer is running: each run holds its session and so this transport.
        if case .running(let thread) = state.withLock({ $0 }) { thread.post(.stop({})) }
        LiveObjects.died(.transport)
    }

    /// The capabilities of the libcurl in this process.
    public var capabilities: Capabilities? { .current }

    /// Hands the transfer to the network thread. Where there can be no thread, or after a shutdown, its end is an error.
    public func start(_ transfer: TransferRequest, sink: any TransferSink) {
        do throws(NetworkError) {
            let thread = try network()
            if thread.post(.start(transfer, sink)) { return }
            throw NetworkError(.shutdown, phase: .preparing, message: "the transport was shut down", runID: transfer.runID)
        } catch {
            var error = error
            error.runID = transfer.runID
            error.attempt = transfer.attempt
            let result = TransferResult(error: error)
            WorkPool.shared.submit([
                {
                    let batch = DeliveryBatch()
                    sink.transfer(transfer.id, didFinishWith: result, batch: batch)
                    batch.end()
                }
            ])
        }
    }

    /// Makes a connection, as a transfer that sends nothing.
    public func preconnect(_ transfer: TransferRequest, sink: any TransferSink) { start(transfer, sink: sink) }

    /// Makes the connection of a channel and keeps it.
    public func open(_ transfer: TransferRequest, sink: any TransferSink) { start(transfer, sink: sink) }

    /// Asks the network thread to end the transfer.
    public func cancel(_ id: TransferID) { running?.post(.cancel(id)) }
    /// Asks the network thread to pause the transfer.
    public func suspend(_ id: TransferID) { running?.post(.suspend(id)) }
    /// Asks the network thread to let the transfer go on.
    public func resume(_ id: TransferID) { running?.post(.resume(id)) }
    /// Asks the network thread to close idle connections and to forget names and connections.
    public func networkChanged() { running?.post(.renewPool) }

    /// Ends every transfer with `shutdown`, and returns when the thread and its sockets are gone. Later transfers fail with `shutdown`,
    /// too.
    public func shutdown() async {
        let thread = state.withLock { state -> NetworkThread? in
            defer { state = .stopped }
            if case .running(let thread) = state { return thread }
            return nil
        }
        guard let thread else { return }
        await withCheckedContinuation { continuation in
            if !thread.post(.stop({ continuation.resume() })) { continuation.resume() }
        }
    }

    private var running: NetworkThread? {
        state.withLock { if case .running(let thread) = $0 { thread } else { nil } }
    }

    private func network() throws(NetworkError) -> NetworkThread {
        try state.withLock { state throws(NetworkError) in
            switch state {
            case .running(let thread): return thread
            case .idle:
                let thread = try NetworkThread(settings: settings)
                state = .running(thread)
                return thread
            case .stopped:
                throw NetworkError(.shutdown, phase: .preparing, message: "the transport was shut down")
            }
        }
    }
}
