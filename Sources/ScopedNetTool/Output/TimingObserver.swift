import ScopedNet
import SystemSupport

/// Keeps the number of the last attempt, and what that cost.
final class TimingObserver: RequestObserver {
    private struct State {
        var attempt = 1
        var metrics: TransferMetrics?
    }

    private let last = Lock(State())

    func observe(_ event: RequestEvent) {
        switch event.kind {
        case .started(let attempt): last.withLock { $0.attempt = attempt }
        case .attemptFinished(let metrics, _): last.withLock { $0.metrics = metrics }
        default: return
        }
    }

    /// Counts from 1.
    var attempt: Int { last.withLock { $0.attempt } }
    var metrics: TransferMetrics? { last.withLock { $0.metrics } }
}
