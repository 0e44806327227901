import FoundationEssentials
import SystemSupport

/// Runs a store: decides under its lock with `MemoryState`, and acts outside it, on the writer thread and the reader threads.
final class StoreEngine: Sendable {
    let configuration: StoreConfiguration
    let folder: StoreFolder
    let clocks: Clocks
    let state: Lock<MemoryState>
    let door = DiskDoor()
    let writer = Worker(name: "store-writer")
    let readers: DiskThreads
    /// For bodies that are files, so that a large one is not in the way of lookups.
    let bodies: DiskThreads
    /// For what takes long by itself, such as reading everything: lookups keep their threads.
    let upkeep = Worker(name: "store-upkeep")

    let progress = Lock(Progress())

    /// What the writer thread is about to do, and did.
    struct Progress {
        /// A drain is queued already.
        var isDrainQueued = false
        /// The readers are about to ask what others did.
        var isCatchUpQueued = false
        var isClosed = false
        /// The files are closed, or never were open, and no thread has anything left to do.
        var isFinished = false
        var onFinish: [@Sendable () -> Void] = []
        /// The writer thread is in a call of the user's, outside the database. Exact on that thread only.
        var isTelling = false
        /// Of the file whose lock it holds.
        var lockFile: UInt64?
        /// In the order the stores of the process were made.
        var number: UInt64 = 0
        var failures = 0
        var lastReplacement: Duration?
        var lastPlaceCheck = Duration.zero
        /// What SQLite said of the store last.
        var bytes = 0
        var entries = 0
    }

    init(_ configuration: StoreConfiguration, clocks: Clocks) {
        var configuration = configuration
        configuration.limits = configuration.limits.bounded
        self.configuration = configuration
        self.clocks = clocks
        readers = DiskThreads(name: "store-reader", threads: 2, limit: configuration.limits.readTimeout)
        bodies = DiskThreads(name: "store-body", threads: 2, limit: configuration.limits.readTimeout)
        folder = StoreFolder(configuration.directory)
        state = Lock(MemoryState(limits: configuration.limits, writesThrough: configuration.writesThrough || configuration.mode == .shared))
        let number = OpenStores.shared.add(self)
        progress.withLock { $0.number = number }
        if !writer.enqueue({ self.open() }) { settleWithoutDisk("the process can have no further thread", retryAfter: .seconds(60)) }
    }

    var isShared: Bool { configuration.mode == .shared }

    var now: MemoryState.Moment { MemoryState.Moment(wall: clocks.wall(), monotonic: clocks.monotonic()) }

    /// On the writer thread, but for the first event of a process that can have no thread.
    func tell(_ event: StoreEvent) {
        guard let onEvent = configuration.onEvent else { return }
        progress.withLock { $0.isTelling = true }
        onEvent(event)
        progress.withLock { $0.isTelling = false }
    }

    // MARK: Lookup

    /// The answer of memory, or nil when only the disk can tell. Calls no database: in shared mode memory answers as long as nobody has
    /// committed anything since the last look.
    func cached(_ key: EntryKey) -> Lookup? {
        guard isShared else { return remembered(key) }
        switch door.snapshot {
        case .none: return remembered(key)
        case .open(let database, _): return !isPlaceCheckDue && database.isUnchanged ? remembered(key) : nil
        case .opening, .closed: return nil
        }
    }

    private func remembered(_ key: EntryKey) -> Lookup? {
        let now = now
        let (answer, wake, ticket, hasDisk) = state.withLock { state in
            let (answer, wake) = state.lookup(key, at: now)
            return (answer, wake, state.ticket, state.disk != .none)
        }
        act(on: wake)
        if !hasDisk { retryDiskIfDue() }
        guard case .entries(let entries) = answer else { return nil }
        return Lookup(entries: entries, ticket: ticket)
    }

    /// The entries in memory of a key that the disk may have more of; nil when there are none.
    func known(_ key: EntryKey) -> Lookup? {
        if isShared { return nil }
        return state.withLock { state in
            let entries = state.known(key)
            return entries.isEmpty ? nil : Lookup(entries: entries, ticket: state.ticket, isComplete: false)
        }
    }

    /// The answer to a lookup that the disk has not answered in time: what this process has just put, else nothing.
    func missed(_ key: EntryKey) -> Lookup {
        known(key) ?? state.withLock { Lookup(entries: [], ticket: $0.ticket, isComplete: false) }
    }

    /// Memory, then the disk, on this thread.
    func lookup(_ key: EntryKey) -> Lookup {
        let attempts = 3
        for attempt in 1...attempts {
            if !isShared || catchUp(), let found = remembered(key) { return found }
            guard let database = door.wait() else { continue }
            let (version, ticket) = state.withLock { ($0.beginLoad(key), $0.ticket) }
            guard let rows = load(key, from: database) else {
                let entries = state.withLock { state in
                    state.abandonLoad(key)
                    return state.overlay([], key)
                }
                return Lookup(entries: entries, ticket: ticket)
            }
            let end = state.withLock {
                $0.endLoad(key, version: version, rows: rows.entries, lastUsed: rows.lastUsed, at: now, isFinal: attempt == attempts)
            }
            act(on: end.wake)
            if let entries = end.entries { return Lookup(entries: entries, ticket: ticket) }
        }
        return state.withLock { Lookup(entries: $0.overlay([], key), ticket: $0.ticket) }
    }

    private func load(_ key: EntryKey, from database: StoreDatabase) -> (entries: [Entry], lastUsed: Int64)? {
        do throws(DatabaseFailure) {
            return try database.load(key)
        } catch {
            report(error, of: database)
            return nil
        }
    }

    /// In shared mode: learns what others did. False when that cannot be told, and memory must not answer.
    func catchUp() -> Bool {
        guard let database = door.current else {
            // While it is being opened nothing is known; without a disk memory stands alone.
            if case .none = door.snapshot { return true }
            return false
        }
        guard isInPlace(database) else { return false }
        do throws(DatabaseFailure) {
            try database.catchUp(
                from: { state.withLock { $0.sharedPosition } },
                apply: { changes, position in
                    _ = state.withLock { state in
                        if let changes { state.apply(changes, upTo: position) } else { state.forgetEverythingKnown(upTo: position) }
                    }
                })
            return true
        } catch {
            report(error, of: database)
            return false
        }
    }

    /// In shared mode: learns on a thread of the store what others did, so that the tickets of a process that only puts do not grow old.
    func catchUpSoon() {
        guard isShared else { return }
        let isFirst = progress.withLock { progress in
            defer { progress.isCatchUpQueued = true }
            return !progress.isCatchUpQueued
        }
        guard isFirst else { return }
        let isQueued = readers.enqueue { [self] in
            progress.withLock { $0.isCatchUpQueued = false }
            _ = catchUp()
        }
        if !isQueued { progress.withLock { $0.isCatchUpQueued = false } }
    }

    private var isPlaceCheckDue: Bool {
        let now = clocks.monotonic()
        return progress.withLock { now - $0.lastPlaceCheck >= .seconds(1) }
    }

    /// Looks once a second: who only reads would not notice that somebody removed the files, and others made new ones.
    private func isInPlace(_ database: StoreDatabase) -> Bool {
        let now = clocks.monotonic()
        let isDue = progress.withLock { progress in
            guard now - progress.lastPlaceCheck >= .seconds(1) else { return false }
            progress.lastPlaceCheck = now
            return true
        }
        guard isDue, !database.isInPlace else { return true }
        writer.enqueue { [self] in reopenIfMoved(database) }
        return false
    }

    /// A reader met damage: the writer thread replaces the files.
    func report(_ failure: DatabaseFailure, of database: StoreDatabase) {
        guard case .corrupt(let reason) = failure else { return }
        writer.enqueue { [self] in
            guard door.current === database else { return }
            replace(reason)
        }
    }

    // MARK: Changes

    func change(_ body: (inout MemoryState, MemoryState.Moment) -> MemoryState.Change) -> PutOutcome {
        guard !progress.withLock({ $0.isClosed }) else { return .closed }
        let now = now
        let (change, dropped) = state.withLock { state in
            let change = body(&state, now)
            return (change, state.queue.takeDropped())
        }
        act(on: change.wake)
        // Their files are removed by whoever lets go of them last: that is not to be this thread.
        if !dropped.isEmpty { writer.enqueue { withExtendedLifetime(dropped) {} } }
        retryDiskIfDue()
        return change.outcome
    }

    func act(on wake: MemoryState.Wake) {
        switch wake {
        case .none: break
        case .by(let time): writer.schedule(at: time) { [weak self] in self?.tick() }
        case .now: queueDrain()
        }
    }

    private func queueDrain() {
        let isFirst = progress.withLock { progress in
            defer { progress.isDrainQueued = true }
            return !progress.isDrainQueued
        }
        guard isFirst else { return }
        let isQueued = writer.enqueue { [self] in
            progress.withLock { $0.isDrainQueued = false }
            _ = drain()
        }
        if !isQueued { progress.withLock { $0.isDrainQueued = false } }
    }

    func retryDiskIfDue() {
        guard state.withLock({ $0.disk == .none }), door.takeRetry(at: clocks.monotonic()) else { return }
        writer.enqueue { self.open() }
    }
}
