/// The variants that a store has under a key.
public struct StoreLookup: Sendable {
    /// All variants, the newest last; empty when there is none.
    public let entries: [StoreEntry]
    /// For the `put` of what is fetched because of this lookup: it is refused when the key is invalidated meanwhile.
    public let ticket: PutTicket
    /// True when the disk has nothing beyond these entries. Only ``Store/cached(_:)`` answers before that is known.
    public let isComplete: Bool

    init(entries: [StoreEntry], ticket: PutTicket, isComplete: Bool = true) {
        self.entries = entries
        self.ticket = ticket
        self.isComplete = isComplete
    }

    /// The entry of a variant.
    public func entry(variant: String) -> StoreEntry? { entries.last { $0.variant.hasSameBytes(as: variant) } }
}

/// Says when a fetch began, as far as invalidations are concerned. Taken by every lookup, and given back with the `put`.
public struct PutTicket: Sendable, Hashable {
    /// Of the log of this process.
    let position: UInt64
    /// Of the log in the database, in shared mode.
    let shared: Int64
}
