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

/// A subscription to a network path goes into a ``DeallocBag`` like a request: nothing is told any more when the owner is gone.
extension ReachabilityMonitor.Subscription: Cancellable {}
