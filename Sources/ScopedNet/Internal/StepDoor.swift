import Synchronization
import SystemSupport

/// The atomic steps of a run, in the order a run meets them. A test can stop a run at any of them and let a cancel, a bag's end
/// or a completion go first; in release builds the doorway is empty.
package enum Step: String, CaseIterable, Sendable {
    case beforeStart, beforeLink, announced, listed, afterLink, beforeQueue, queued, queueTimed, beforeTransfer, stageStored,
        transferStarted
    case cacheAsked, cacheAnswered
    // Of a download: its target, and a part that cannot be gone on with.
    case targetAsked, targetClaimed, partDropped
    case headReceived, redirectDecided, challengeDecided, retryDecided, retryWaiting, hookAnswered, beforeDecode, decoded
    case beforeDelivery, delivering, beforeCall, callAdmitted, callEnded, beforeAdmission, afterAdmission, betweenCalls,
        furtherCallAdmitted,
        afterCall, beforeEnd
    // Of a cancel: it knows whether others need the work; its gate is shut; it knows which stage to take back.
    case gateAsked, gateShut, stageRead
    // Of a suspension: it may be, and is not yet.
    case suspensionAsked
    // Of a job on the work executor: all it does is done.
    case workEnded
    // Of a picture, with the number of its load, or 0 of one that is decoded as a response: on the thread that decodes; between two processors; made, and
    // not in memory yet; a preview is shown.
    case pictureDecoding, pictureProcessing, pictureMade, pictureShown
    // Of a bag's end, which is no run's (number 0): it has the list; all gates in it are shut.
    case listTaken, gatesShut
}

/// The one doorway through which tests reach those steps.
package enum StepDoor {
    package typealias Visitor = @Sendable (Step, UInt64) -> Void

    #if DEBUG
    private struct Visitors {
        var next = 0
        var all: [Int: Visitor] = [:]
    }

    private static let installed = Atomic<Bool>(false)
    private static let visitors = Lock(Visitors())

    /// Installs (or removes, with nil) the visitor of a test that needs one only; it is called on whichever thread takes the step, with the
    /// run's number.
    package static func install(_ visit: Visitor?) { change { $0[0] = visit } }

    /// One more visitor, for tests that run beside others. Steps of everybody's runs come by.
    package static func add(_ visit: @escaping Visitor) -> Int {
        let number = visitors.withLock { visitors in
            visitors.next += 1
            return visitors.next
        }
        change { $0[number] = visit }
        return number
    }

    package static func remove(_ number: Int) { change { $0[number] = nil } }

    private static func change(_ body: (inout [Int: Visitor]) -> Void) {
        // A visitor may hold the last reference to a bag, whose end comes by here: it is let go outside the lock.
        let before = visitors.withLock { visitors in
            let before = visitors.all
            body(&visitors.all)
            installed.store(!visitors.all.isEmpty, ordering: .sequentiallyConsistent)
            return before
        }
        _ = before
    }

    @inline(__always)
    package static func pass(_ step: Step, _ run: @autoclosure () -> UInt64) {
        guard installed.load(ordering: .relaxed) else { return }
        let run = run()
        for visit in visitors.withLock({ Array($0.all.values) }) { visit(step, run) }
    }
    #else
    @inline(__always)
    package static func pass(_ step: Step, _ run: @autoclosure () -> UInt64) {}
    #endif
}
