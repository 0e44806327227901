public import Reachability

/// A subscription to a network path goes into a ``DeallocBag`` like a request: nothing is told any more when the owner is gone.
extension Subscription: Cancellable {}
