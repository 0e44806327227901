/// What a store has under a key.
public struct Lookup: Sendable {
    /// All variants, the newest last; empty when there is none.
    public let entries: [Entry]
    /// For the `put` of what is fetched because of this lookup: it is refused when the key is invalidated meanwhile.
    public let ticket: PutTicket
    /// True when the disk has nothing beyond these entries. Only ``Store/cached(_:)`` answers before that is known.
    public let isComplete: Bool

    init(entries: [Entry], ticket: PutTicket, isComplete: Bool = true) {
        self.entries = entries
        self.ticket = ticket
        self.isComplete = isComplete
    }

    /// The entry of a variant.
    public func entry(variant: String) -> Entry? { entries.last { $0.variant.hasSameBytes(as: variant) } }
}
