public import FoundationEssentials
import SystemSupport

/// A value of the store, with its key and variant. A value: it stays as it was read, whatever becomes of the store.
public struct StoreEntry: Sendable {
    /// The key it is stored under.
    public let key: EntryKey
    /// Tells several entries of one key from each other; empty where there is but one.
    public let variant: String
    /// Opaque to the store.
    public let metadata: Data
    /// The bytes, or the file that has them.
    public let body: EntryBody
    /// The time of the put, by the wall clock; `update` does not change it.
    public let storedAt: Date
    /// A hint for eviction; nil when it is not known. The store never withholds an entry because of it.
    public let freshUntil: Date?
    /// False when the entry is of no use once `freshUntil` has passed; such entries are evicted first.
    public let isRevalidatable: Bool
    /// Changes with each `put`, and not with `update`.
    let generation: Int64
    var placement = EntryPlacement.memoryAndDisk
    /// Gone when the metadata changes, or the entry leaves memory.
    package let note = EntryNote()

    /// The bytes it takes in memory, its share of the tables included.
    var memoryCost: Int {
        key.byteCount + variant.utf8.count + metadata.count + (body.data?.count ?? 0) + 256
    }

    func replacing(_ update: MetadataUpdate) -> StoreEntry {
        StoreEntry(
            key: key, variant: variant, metadata: update.metadata, body: body, storedAt: storedAt, freshUntil: update.freshUntil,
            isRevalidatable: update.isRevalidatable, generation: generation, placement: placement)
    }
}

/// The places of an entry: memory, the disk, or both.
public enum EntryPlacement: Sendable, Hashable {
    /// In memory until others need the space, and on disk.
    case memoryAndDisk
    /// Never on disk. It is gone when others need the memory, and with the process; its body must not be in a file.
    case memory
    /// Not in memory until it is read for the first time.
    case disk
}

/// A value that a user has made of an entry's metadata, so that it need be made once for as long as memory has the entry.
package final class EntryNote: Sendable {
    private let value = Lock<(any Sendable)?>(nil)

    /// The value, made now if it was not before. `make` may run on several threads at once; one result is kept.
    package func value<Value: Sendable>(_ make: () -> Value?) -> Value? {
        if let known = value.withLock({ $0 }) as? Value { return known }
        guard let made = make() else { return nil }
        // The former value is let go of outside the lock.
        _ = value.withLock { value in
            defer { value = made }
            return value
        }
        return made
    }
}

/// A value to store.
public struct NewStoreEntry: Sendable {
    /// The key to store it under.
    public var key: EntryKey
    /// The variant within the key; empty where there is but one.
    public var variant: String
    /// The bytes that are kept in the row, of any meaning.
    public var metadata: Data
    /// A hint for eviction; nil when it is not known.
    public var freshUntil: Date?
    /// False when the entry is of no use once ``freshUntil`` has passed; such entries are evicted first.
    public var isRevalidatable: Bool
    /// The body.
    public var body: NewBody
    /// Default: ``EntryPlacement/memoryAndDisk``.
    public var placement: EntryPlacement

    /// Makes an entry to store.
    ///
    /// - Parameters:
    ///   - key: the key to store it under.
    ///   - variant: replaces the entry of the same key and variant; others of the key stay.
    ///   - metadata: opaque; kept in the row, and cheap to replace (`Store.update`).
    ///   - body: empty by default.
    ///   - freshUntil: a hint for eviction.
    ///   - isRevalidatable: false when the entry is of no use once `freshUntil` has passed.
    ///   - placement: memory, disk, or both.
    public init(
        key: EntryKey, variant: String = "", metadata: Data, body: NewBody = .data(Data()), freshUntil: Date? = nil,
        isRevalidatable: Bool = true, placement: EntryPlacement = .memoryAndDisk
    ) {
        self.key = key
        self.variant = variant
        self.metadata = metadata
        self.body = body
        self.placement = placement
        self.freshUntil = freshUntil
        self.isRevalidatable = isRevalidatable
    }
}

/// New metadata for an entry whose body stays as it is.
struct MetadataUpdate: Sendable {
    var variant: String
    var generation: Int64
    var metadata: Data
    var freshUntil: Date?
    var isRevalidatable: Bool
}

extension Date {
    /// Milliseconds since 1970, kept within what every calendar can say.
    var milliseconds: Int64 {
        let seconds = timeIntervalSince1970
        guard seconds.isFinite else { return seconds > 0 ? Self.bound : -Self.bound }
        return Int64(max(-Double(Self.bound), min(Double(Self.bound), (seconds * 1000).rounded())))
    }

    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// Somewhere in the year 10,000.
    private static let bound: Int64 = 253_402_300_800_000
}
