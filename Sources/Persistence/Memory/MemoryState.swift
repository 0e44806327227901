import FoundationEssentials

/// Everything a store knows without asking the disk: the entries in memory, what is to be written, what was invalidated, who is reading.
/// Pure: decisions only; the engine calls it under its lock and acts afterwards.
struct MemoryState {
    /// All that memory has of a key.
    struct Slot: Sendable {
        var entries: [StoreEntry]
        /// The disk has nothing beyond that.
        var isComplete: Bool
        /// When a use was last noted for the disk, in milliseconds since 1970.
        var notedUse: Int64
    }

    enum Disk: Sendable {
        /// Not open yet; who may block waits.
        case opening
        case open
        /// Memory alone answers.
        case none
    }

    enum Answer {
        case entries([StoreEntry])
        /// The disk has to be asked.
        case unknown
    }

    /// When the writer should look.
    enum Wake: Equatable {
        case none
        case by(Duration)
        case now
    }

    struct Moment {
        /// Milliseconds since 1970.
        var wall: Int64
        var monotonic: Duration
    }

    /// A read that is under way. Its version moves when the key changes meanwhile.
    struct Load {
        var readers: Int
        var version: UInt64
    }

    let limits: StoreLimits
    /// Nothing waits: every change is to be written at once.
    let writesThrough: Bool

    var disk = Disk.opening
    var slots: MemoryLRU<EntryKey, Slot>
    var queue = WriteBackQueue()
    var inFlight = InFlight()
    var invalidations = InvalidationLog()
    /// The position in the log of changes of the database up to which others' changes are known; shared mode only.
    var sharedPosition: Int64 = 0
    var touches: [EntryKey: Int64] = [:]
    var touchesSince: Duration?
    var loads: [EntryKey: Load] = [:]
    private var loadVersion: UInt64 = 0
    var statistics = StoreStatistics.Counters()
    /// What was ever put on the disk that is open; nil when that is not known, as where others put, too.
    private(set) var diskKeys: KeyFilter?

    init(limits: StoreLimits, writesThrough: Bool) {
        self.limits = limits
        self.writesThrough = writesThrough
        slots = MemoryLRU(capacity: limits.memoryBytes)
    }

    var ticket: PutTicket { PutTicket(position: invalidations.position, shared: sharedPosition) }

    // MARK: StoreLookup

    /// What memory can say about a key. A use is noted once a minute.
    mutating func lookup(_ key: EntryKey, at now: Moment) -> (answer: Answer, wake: Wake) {
        let found = slots.use(key) { slot -> (entries: [StoreEntry], isComplete: Bool, isNoted: Bool) in
            // A clock that was set back makes the age negative; the use is noted then, too.
            let isNoted = abs(now.wall - slot.notedUse) < Self.noteInterval || slot.entries.isEmpty
            if !isNoted { slot.notedUse = now.wall }
            return (slot.entries, slot.isComplete, isNoted)
        }
        guard let found, found.isComplete else {
            guard disk == .none || isNotOnDisk(key) else { return (.unknown, .none) }
            let entries = found?.entries ?? []
            countAnswer(entries)
            return (.entries(entries), .none)
        }
        countAnswer(found.entries)
        return (.entries(found.entries), found.isNoted ? .none : touch(key, at: now))
    }

    /// The entries memory has of a key, whatever else the disk may have.
    func known(_ key: EntryKey) -> [StoreEntry] {
        guard let slot = slots.peek(key) else { return overlay([], key) }
        return slot.entries
    }

    /// Nothing was ever put on disk for the key, nor is on its way there: what memory has of it is all there is.
    func isNotOnDisk(_ key: EntryKey) -> Bool { diskKeys.map { !$0.mayContain(key) } ?? false }

    /// What the disk has is known from here on.
    ///
    /// - Parameter filter: everything on disk at a moment when nothing is being written.
    mutating func learn(_ filter: consuming KeyFilter) {
        diskKeys = filter
        queue.forEachPut { diskKeys?.insert($0) }
    }

    /// The disk is not the one it was, or none.
    mutating func forgetDiskKeys() { diskKeys = nil }

    /// The key is on its way to the disk.
    mutating func noteOnDisk(_ key: EntryKey) { diskKeys?.insert(key) }

    private mutating func countAnswer(_ entries: [StoreEntry]) {
        if entries.isEmpty { statistics.misses += 1 } else { statistics.memoryHits += 1 }
    }

    /// Notes that the key was used, for the next batch of access times.
    mutating func touch(_ key: EntryKey, at now: Moment) -> Wake {
        guard disk != .none else { return .none }
        touches[key] = now.wall
        if touches.count >= limits.touchBatch { return .now }
        guard touchesSince == nil else { return .none }
        touchesSince = now.monotonic
        return .by(now.monotonic + limits.touchAge)
    }

    mutating func takeTouches() -> [EntryKey: Int64] {
        defer {
            touches = [:]
            touchesSince = nil
        }
        return touches
    }

    // MARK: Reading from disk

    /// - Returns: the version to give back with `endLoad`.
    mutating func beginLoad(_ key: EntryKey) -> UInt64 {
        if var load = loads[key] {
            load.readers += 1
            loads[key] = load
            return load.version
        }
        loadVersion += 1
        loads[key] = Load(readers: 1, version: loadVersion)
        return loadVersion
    }

    /// Takes what the disk said, with what it does not know yet on top.
    ///
    /// `lastUsed` is that of the newest row, and decides whether this use is noted. The entries are nil when the key changed while the disk
    /// was read, and the answer may never have been true. With `isFinal` they are returned nevertheless, but not kept.
    mutating func endLoad(
        _ key: EntryKey, version: UInt64, rows: [StoreEntry], lastUsed: Int64, at now: Moment, isFinal: Bool
    ) -> (entries: [StoreEntry]?, released: [Slot], wake: Wake) {
        let isCurrent = finishLoad(key) == version
        guard isCurrent || isFinal else { return (nil, [], .none) }
        // What is in memory alone the rows cannot have.
        let entries = overlay(rows, key) + (slots.peek(key)?.entries.filter { $0.placement == .memory } ?? [])
        if entries.isEmpty { statistics.misses += 1 } else { statistics.diskHits += 1 }
        guard isCurrent else { return (entries, [], .none) }
        let isNoted = entries.isEmpty || abs(now.wall - lastUsed) < Self.noteInterval
        let released = keep(Slot(entries: entries, isComplete: true, notedUse: isNoted ? lastUsed : now.wall), for: key)
        return (entries, released, isNoted ? .none : touch(key, at: now))
    }

    /// The read came to nothing.
    mutating func abandonLoad(_ key: EntryKey) { _ = finishLoad(key) }

    private mutating func finishLoad(_ key: EntryKey) -> UInt64? {
        guard var load = loads[key] else { return nil }
        load.readers -= 1
        loads[key] = load.readers == 0 ? nil : load
        return load.version
    }

    /// What readers see: the rows, and over them what is being written and what waits to be.
    func overlay(_ rows: [StoreEntry], _ key: EntryKey) -> [StoreEntry] {
        var result = inFlight.clears(key.partition) ? [] : rows
        if let write = inFlight.writes[key] { result = write.applied(to: result) }
        if queue.clears(key.partition) { result = [] }
        if let write = queue.write(for: key) { result = write.applied(to: result) }
        return result
    }

    mutating func markStale(_ key: EntryKey) {
        guard loads[key] != nil else { return }
        loadVersion += 1
        loads[key]?.version = loadVersion
    }

    mutating func markStale(where isConcerned: (EntryKey) -> Bool) {
        for key in loads.keys where isConcerned(key) { markStale(key) }
    }

    /// A slot that takes more than its share stays out; then the queue and the disk answer for it.
    mutating func keep(_ slot: Slot, for key: EntryKey) -> [Slot] {
        let cost = slot.entries.reduce(128 + key.byteCount) { $0 + $1.memoryCost }
        guard cost <= limits.largestInMemory else { return slots.remove(key).map { [$0] } ?? [] }
        let former = slots.insert(slot, for: key, cost: cost)
        let gone = slots.evict()
        if let former { return gone + [former] }
        return gone
    }

    /// A use is written at most once in this many milliseconds.
    static let noteInterval: Int64 = 60_000
}
