// Pure: no clock, lock, thread or import. The model check and its mutants compile this very file.

/// How a member and its bag agree on who takes the member out of the list: one atomic word in the member.
///
/// The inserter announces itself, adds the member under the bag's lock, then confirms. The member's ending swaps in `closed`.
/// Whoever comes second unlinks: an ending that finds `linked`, or an inserter that finds `closed` when it confirms.
package enum BagLink: UInt8, Sendable {
    case none, linking, linked, closed

    /// Before the inserter takes the bag's lock.
    package mutating func announce() -> Bool {
        guard self == .none else { return false }
        self = .linking
        return true
    }

    package enum ConfirmAction: Sendable { case keep, unlink }

    /// After the member is in the list.
    package mutating func confirm() -> ConfirmAction {
        switch self {
        case .linking: self = .linked; return .keep
        case .none, .linked, .closed: return .unlink
        }
    }

    package enum CloseAction: Sendable { case unlink, leaveToInserter, nothing }

    /// When the member ends, by any way.
    package mutating func close() -> CloseAction {
        defer { self = .closed }
        switch self {
        case .linked: return .unlink
        case .linking: return .leaveToInserter
        case .none, .closed: return .nothing
        }
    }
}
