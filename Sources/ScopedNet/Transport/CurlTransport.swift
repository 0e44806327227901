/// The transport that ships: libcurl's multi interface on one thread, driven by epoll.
///
/// The thread, its multi handle and its sockets are made with the first transfer and go away with the last reference; no shutdown is
/// needed. Any thread may call any method; none blocks.
public final class CurlTransport: Transport {
    private enum State: Sendable { case idle, running(NetworkThread), stopped }

    public let settings: ConnectionSettings
    private let state = Lock(State.idle)

    public init(settings: ConnectionSettings = .init()) {
        self.settings = settings
        LiveObjects.born(.transport)
    }

    deinit {
        // No transfer is running: each run holds its session and so this transport.
        if case .running(let thread) = state.withLock({ $0 }) { thread.post(.stop({})) }
        LiveObjects.died(.transport)
    }

    public var capabilities: Capabilities? { .current }

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

    public func preconnect(_ transfer: TransferRequest, sink: any TransferSink) { start(transfer, sink: sink) }
    public func cancel(_ id: TransferID) { running?.post(.cancel(id)) }
    public func suspend(_ id: TransferID) { running?.post(.suspend(id)) }
    public func resume(_ id: TransferID) { running?.post(.resume(id)) }
    public func networkChanged() { running?.post(.renewPool) }

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
