/// Where a store is, who else uses it, and how much it may take.
public struct StoreConfiguration: Sendable {
    /// Who uses the store.
    public enum Mode: Sendable, Hashable {
        /// This process alone. Hits come from memory without a question, and changes are written in the background. A second user, in
        /// either mode, works in memory only.
        case `private`
        /// Several processes, all in this mode. Changes are written at once, and before memory answers the database is asked whether
        /// another process changed something (a few microseconds).
        case shared
    }

    /// An absolute path; made if it does not exist, for the owner alone. On a local file system: SQLite's log needs shared memory.
    ///
    /// It is used where no other user but root can replace or change what is in it: folder and path belong to this user or to root, and nobody else
    /// may write there, but that sticky folders such as `/tmp` may lead to it. Links on the way are followed where they belong to one of the two. What the
    /// store makes in the folder is for its owner alone and is never reached through a link. Anything else means memory only, and
    /// ``Store/condition`` says what to change.
    public var directory: String
    /// The users of the folder: this store alone, or several processes.
    public var mode: Mode
    /// The sizes of memory and disk, and how long the disk may take.
    public var limits: StoreLimits
    /// In private mode too, every change is written at once. It costs a transaction for each.
    public var writesThrough = false
    /// Of what you put in the metadata. The entries of a store with another one are dropped, so raise it when you could not read the old any more;
    /// records stay.
    /// Between 0 and 1,048,575.
    public var contentVersion = 0
    /// Whether SQLite overwrites what is deleted. Large bodies are removed, not overwritten.
    public var erasesDeletedContent = false
    /// Encrypts what is on disk. A store that was written with another key, or without one, is replaced. Default: nil.
    public var sealing: (any StoreSealing)?
    /// Told what happens to the store, on a thread of it; be brief.
    public var onEvent: (@Sendable (StoreEvent) -> Void)?
    /// Why there is no folder to keep the store in.
    var refusal: StoreError?

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - directory: an absolute path. One store has it for itself.
    ///   - mode: private to one process by default.
    ///   - limits: 256 MiB on disk and 32 MiB in memory by default.
    public init(directory: String, mode: Mode = .private, limits: StoreLimits = StoreLimits()) {
        self.directory = directory
        self.mode = mode
        self.limits = limits
    }
}

/// How much a store may take, and how long it may wait.
public struct StoreLimits: Sendable {
    /// Of entries in memory, in bytes. What takes more than a sixteenth of it is not kept there.
    public var memoryBytes = 32 << 20
    /// On disk, in bytes; and never more than a fifth of what the file system could give.
    public var diskBytes = 256 << 20
    /// Of one entry's body, in bytes. An eighth of `diskBytes` when nil, but not below 5 MiB.
    public var bodyBytes: Int?
    /// Bodies up to here are rows of the database; larger ones files.
    public var inlineBodyBytes = 128 << 10
    /// The oldest go beyond that.
    public var variantsPerKey = 16
    /// How long a change may wait to be written, in private mode. What a killed process can lose. What memory does not keep is written at once.
    public var dirtyAge = Duration.seconds(1)
    /// Changes that wait to be written, in bytes. Puts beyond are refused until the disk has caught up.
    public var pendingBytes = 32 << 20
    /// How long a lookup waits for the disk before it is a miss.
    public var readTimeout = Duration.seconds(2)

    /// The most bytes of an entry that is kept in memory.
    var largestInMemory: Int { memoryBytes / 16 }
    /// Changes of one transaction.
    var batchKeys = 512
    var batchBytes = 8 << 20
    /// Access times are written when there are so many, or after so long.
    var touchBatch = 500
    var touchAge = Duration.seconds(25)
    /// What is remembered of changes while there is no disk; beyond that the store is cleared when it is back.
    var removalsWithoutDisk = 4096

    /// Makes the default limits. Values that make no sense are taken as the nearest that do.
    public init() {}

    /// The same within what makes sense, so that nobody has to think of the rest.
    var bounded: StoreLimits {
        var limits = self
        limits.memoryBytes = max(0, memoryBytes)
        limits.diskBytes = max(0, diskBytes)
        limits.bodyBytes = bodyBytes.map { max(0, min($0, 1 << 43)) }
        limits.inlineBodyBytes = max(0, min(inlineBodyBytes, 64 << 20))
        limits.variantsPerKey = max(1, variantsPerKey)
        limits.pendingBytes = max(0, pendingBytes)
        limits.readTimeout = max(.zero, min(readTimeout, .seconds(86_400)))
        limits.dirtyAge = max(.zero, min(dirtyAge, .seconds(86_400 * 365)))
        return limits
    }

    var largestBody: Int { bodyBytes ?? max(5 << 20, diskBytes / 8) }
}
