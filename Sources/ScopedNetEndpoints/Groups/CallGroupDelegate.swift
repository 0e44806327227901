public import ScopedNet

/// Hears of a ``Batch`` or a ``Chain``. Held weakly, and called on the actor where it was set, before the closures.
///
/// Each call is admitted for itself: none begins after a cancel or a bag's end has returned. One delegate may serve several groups: compare
/// `ScopedOperation.id` or `tag`.
public protocol CallGroupDelegate: AnyObject {
    /// Receives the progress.
    func group(_ group: ScopedOperation, didProgress progress: GroupProgress)
    /// Receives the values: those of a batch, or the ``ChainContext`` of a chain.
    func group(_ group: ScopedOperation, didSucceedWith value: any Sendable)
    /// Receives the service's error, and the name of the call that failed. A cancellation is none.
    func group(_ group: ScopedOperation, didFailWith error: any Error, at name: String)
}

extension CallGroupDelegate {
    /// Does nothing.
    public func group(_ group: ScopedOperation, didProgress progress: GroupProgress) {}
    /// Does nothing.
    public func group(_ group: ScopedOperation, didSucceedWith value: any Sendable) {}
    /// Does nothing.
    public func group(_ group: ScopedOperation, didFailWith error: any Error, at name: String) {}
}

/// The progress of a ``Batch`` or a ``Chain``.
public struct GroupProgress: Sendable, Hashable {
    /// The calls that have ended.
    public let ended: Int
    /// All calls that are known so far.
    public let total: Int
    /// From 0 to 1; 1 where there are no calls. Of a chain it goes back when steps are appended.
    public var fraction: Double { total == 0 ? 1 : Double(ended) / Double(total) }
}

/// The failure of a ``Batch`` or a ``Chain``: that of one of its calls.
public struct GroupFailure<Failure: Error>: Error {
    /// The place of the call, from 0.
    public let index: Int
    /// The name of the call: the type of its endpoint, such as `GetStory`, where it was given none.
    public let name: String
    /// Its error.
    public let error: Failure
}
