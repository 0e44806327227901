import ScopedNet
import SystemSupport

/// Counts the bytes of bodies that have come over the network, of all attempts.
final class ReceivedBytes: RequestObserver {
    private let sum = Lock<Int64>(0)

    var count: Int64 { sum.withLock { $0 } }

    func observe(_ event: RequestEvent) {
        guard case .attemptFinished(let metrics, _) = event.kind else { return }
        sum.withLock { $0 += metrics.bodyBytesReceived }
    }
}
