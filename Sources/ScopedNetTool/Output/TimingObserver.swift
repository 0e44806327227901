import ScopedNet

/// Keeps what the last attempt cost.
final class TimingObserver: RequestObserver {
    private let last = Lock<TransferMetrics?>(nil)

    func observe(_ event: RequestEvent) {
        guard case .attemptFinished(let metrics, _) = event.kind else { return }
        last.withLock { $0 = metrics }
    }

    var metrics: TransferMetrics? { last.withLock { $0 } }
}
