/// What happens to a store by itself.
public enum StoreEvent: Sendable, Hashable {
    /// Open and usable, at the start or again.
    case opened
    /// The files were not those of this store, or damaged, and were replaced. Entries are gone; records (``StoreRecord``) that could be read are
    /// kept, unless the files were another program's or written with another key.
    case replaced(reason: String)
    /// There is no disk: memory goes on alone.
    case lostDisk(reason: String)
    /// A batch of changes is on disk.
    case wrote(keys: Int)
    /// Entries had to go; `bytes` is what the store takes now.
    case evicted(entries: Int, bytes: Int)
}

/// Whether there is a disk behind a store.
public enum StoreCondition: Sendable, Hashable {
    /// On its way; memory answers already.
    case opening
    /// The database is open.
    case open
    /// Memory alone. Tried again now and then, when the store is used.
    case memoryOnly(reason: String)
    /// ``Store/close()`` was called. It stays so.
    case closed
}

/// What became of a put.
public enum PutOutcome: Sendable, Hashable {
    /// Visible from now on; on disk soon.
    case accepted
    /// The key was invalidated after the ticket was taken, or the entry replaced.
    case invalidated
    /// The disk does not keep up.
    case overloaded
    /// A large body, and no disk; or one that was put before.
    case unavailable
    /// The body is longer than ``StoreLimits/bodyBytes``, the metadata too large, or a body in a file was meant for memory alone.
    case tooLarge
    /// The store was closed before.
    case closed
}
