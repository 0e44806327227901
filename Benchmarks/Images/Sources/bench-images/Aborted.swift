import ScopedNet
import ScopedNetImages
import Synchronization

/// A load that is cancelled when 60 % of its file have come.
final class Aborted: Sendable {
    private struct State: Sendable {
        var receipt: ImageReceipt?
        var received: Int64 = 0
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// The bytes that came.
    var received: Double { Double(state.withLock { $0.received }) }

    func keep(_ receipt: ImageReceipt) { state.withLock { $0.receipt = receipt } }

    func note(_ progress: TransferProgress) {
        let receipt = state.withLock { state -> ImageReceipt? in
            guard !state.isCancelled else { return nil }
            state.received = progress.completed
            state.isCancelled = (progress.fraction ?? 0) >= 0.6
            return state.isCancelled ? state.receipt : nil
        }
        receipt?.cancel()
    }
}
