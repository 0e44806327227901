public import Reachability
import SystemSupport

/// Anything with a cancel method: it can go in a ``DeallocBag``.
public protocol Cancellable: Sendable {
    /// Idempotent, from any thread, without blocking.
    func cancel()
}

extension Task: Cancellable {}

/// A cancel method made of a closure, called once at most.
public final class AnyCancellable: Cancellable {
    private let action: Lock<(@Sendable () -> Void)?>

    /// Makes a cancel method of a closure, which is released with its call or with this object, whichever comes first.
    public init(_ action: @escaping @Sendable () -> Void) { self.action = Lock(action) }

    /// Calls the closure on this thread; later calls do nothing.
    public func cancel() {
        let action = self.action.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }
}

extension DeallocBag {
    /// The result of ending a bag or cancelling its members: a count for each outcome.
    public struct CancelSummary: Sendable, Equatable {
        /// Nothing of these starts any more.
        public var cancelled = 0
        /// One call of these was already admitted and may be running on another thread.
        public var callbackRunning = 0
        /// These had ended before, or were never started.
        public var alreadyEnded = 0
        /// Cancelled like ``cancelled``: nothing of these starts any more. They are torn down in the background because there are many.
        public var tearingDown = 0

        package init() {}

        package mutating func add(_ result: Run.CancelResult) {
            switch result {
            case .cancelled: cancelled += 1
            case .callbackRunning: callbackRunning += 1
            case .alreadyEnded: alreadyEnded += 1
            }
        }
    }
}

/// A subscription to a network path goes into a ``DeallocBag`` like a request: nothing is told any more when the owner is gone.
extension Subscription: Cancellable {}
