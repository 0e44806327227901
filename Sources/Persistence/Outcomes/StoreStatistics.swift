/// What a store holds, and what became of what it was asked.
public struct StoreStatistics: Sendable, Hashable {
    struct Counters: Sendable, Hashable {
        var memoryHits = 0
        var diskHits = 0
        var misses = 0
        var puts = 0
    }

    /// Entries on disk, and what they take there in bytes; 0 without a disk.
    public internal(set) var entries = 0
    /// The size of all entries on disk, in bytes.
    public internal(set) var bytes = 0
    /// What eviction keeps the store below.
    public internal(set) var capacity = 0
    /// Keys in memory, and what they take there in bytes.
    public internal(set) var memoryKeys = 0
    /// The size of all entries in memory, their share of the tables included, in bytes.
    public internal(set) var memoryBytes = 0
    /// Keys with changes that are not on disk yet, and what they take in bytes.
    public internal(set) var pendingKeys = 0
    /// The size of the changes that wait, in bytes.
    public internal(set) var pendingBytes = 0
    /// Lookups that memory has answered with an entry.
    public internal(set) var memoryHits = 0
    /// Lookups that the disk has answered with an entry.
    public internal(set) var diskHits = 0
    /// Lookups that found no entry.
    public internal(set) var misses = 0
    /// Entries that were put and accepted.
    public internal(set) var puts = 0
}

/// What `Store.verify()` found.
public struct VerificationReport: Sendable, Hashable {
    /// Entries that were read, and what they take in bytes.
    public internal(set) var entries = 0
    /// The size of those entries, in bytes.
    public internal(set) var bytes = 0
    /// A sentence for each; none when all is well.
    public internal(set) var problems: [String] = []

    /// True when no problem was found.
    public var isClean: Bool { problems.isEmpty }
}
