public import FoundationEssentials

/// One line of a listing: an entry without its body.
public struct EntrySummary: Sendable, Identifiable {
    /// Where a listing goes on after it.
    public let id: Int64
    /// The key it is stored under.
    public let key: EntryKey
    /// The variant within the key; empty where there is but one.
    public let variant: String
    /// The metadata of the entry.
    public let metadata: Data
    /// In bytes.
    public let bodyLength: Int
    /// Whether the body is in a file of its own.
    public let isFile: Bool
    /// The time of the put, by the wall clock.
    public let storedAt: Date
    /// Within a minute or so.
    public let lastUsed: Date
    /// The hint for eviction; nil when there was none.
    public let freshUntil: Date?
    /// What it counts for on disk, in bytes.
    public let cost: Int
}
