/// Why a run was cancelled. New reasons may be added; keep a default when you switch.
public struct CancelReason: Hashable, Sendable, CustomStringConvertible {
    package enum Name: UInt8, CaseIterable {
        case explicit, ownerReleased, requestReleased, replaced, taskCancelled, shutdown
    }

    package let name: Name
    package init(_ name: Name) { self.name = name }

    /// Somebody called `cancel()`.
    public static let explicit = CancelReason(.explicit)
    /// The bag ended: its owner was released, or `end()` was called.
    public static let ownerReleased = CancelReason(.ownerReleased)
    /// The last handle was dropped, under ``ReleaseStrategy/cancelOnRelease``.
    public static let requestReleased = CancelReason(.requestReleased)
    /// A newer run took its place, under ``RepeatStrategy/replaceRunning``.
    public static let replaced = CancelReason(.replaced)
    /// The Swift task that awaited it was cancelled.
    public static let taskCancelled = CancelReason(.taskCancelled)
    /// The agent or the session shut down.
    public static let shutdown = CancelReason(.shutdown)

    /// The reason in one or two words, such as `owner released`.
    public var description: String {
        switch name {
        case .explicit: "explicit"
        case .ownerReleased: "owner released"
        case .requestReleased: "request released"
        case .replaced: "replaced"
        case .taskCancelled: "task cancelled"
        case .shutdown: "shutdown"
        }
    }
}
