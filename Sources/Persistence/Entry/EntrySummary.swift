public import FoundationEssentials

/// One line of a listing: an entry without its body.
public struct EntrySummary: Sendable, Identifiable {
    /// Where a listing goes on after it.
    public let id: Int64
    public let key: EntryKey
    public let variant: String
    public let metadata: Data
    /// In bytes.
    public let bodyLength: Int
    /// Whether the body is in a file of its own.
    public let isFile: Bool
    public let storedAt: Date
    /// Within a minute or so.
    public let lastUsed: Date
    public let freshUntil: Date?
    /// What it counts for on disk, in bytes.
    public let cost: Int
}
