import Synchronization

/// The atomic steps of a run, in the order a run meets them. A test can stop a run at any of them and let a cancel, a bag's end
/// or a completion go first; in release builds the doorway is empty.
package enum Step: String, CaseIterable, Sendable {
    case beforeStart, beforeLink, afterLink, beforeQueue, queued, beforeTransfer, transferStarted
    case headReceived, redirectDecided, retryDecided, retryWaiting, beforeDecode, decoded
    case beforeDelivery, beforeAdmission, afterAdmission, afterCall, beforeEnd
}

/// The one doorway through which tests reach those steps.
package enum StepDoor {
    #if DEBUG
    private static let installed = Atomic<Bool>(false)
    private static let visitor = Lock<(@Sendable (Step, UInt64) -> Void)?>(nil)

    /// Installs (or removes, with nil) the visitor; it is called on whichever thread takes the step, with the run's number.
    package static func install(_ visit: (@Sendable (Step, UInt64) -> Void)?) {
        visitor.withLock { $0 = visit }
        installed.store(visit != nil, ordering: .sequentiallyConsistent)
    }

    @inline(__always)
    package static func pass(_ step: Step, _ run: UInt64) {
        guard installed.load(ordering: .relaxed) else { return }
        visitor.withLock { $0 }?(step, run)
    }
    #else
    @inline(__always)
    package static func pass(_ step: Step, _ run: UInt64) {}
    #endif
}
