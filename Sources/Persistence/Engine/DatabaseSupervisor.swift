import FoundationEssentials
import SystemSupport

/// Opens the database of a store, replaces it where it is damaged, and does without it where there can be none. On the writer thread.
///
/// Each call that may end with an open database takes a closure for that case, which is called before it returns.
final class DatabaseSupervisor: Sendable {
    private struct Progress {
        var backoff = ReopenBackoff()
        var lastReplacement: Duration?
        /// Of the file whose lock is held.
        var lockFile: UInt64?
    }

    private let configuration: StoreConfiguration
    private let folder: StoreFolder
    private let clocks: Clocks
    private let memory: StoreMemory
    private let handle: DatabaseHandle
    private let events: StoreEvents
    private let bodies: DiskThreads
    private let number: UInt64
    private let progress = Lock(Progress())

    /// A predecessor has a bounded amount to write, and so the wait for it is bounded.
    private static let predecessorLimit = Duration.seconds(10)
    /// Damage that comes again within this time is no accident: the disk is left alone for a while.
    private static let replacementInterval = Duration.seconds(10)

    /// Makes a supervisor that has opened nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: that of the store.
    ///   - clocks: for deadlines and ages.
    ///   - memory: told what becomes of the disk.
    ///   - handle: given the database.
    ///   - events: told what happens.
    ///   - bodies: the threads that read bodies that are files.
    ///   - number: that of the store in ``OpenStores``.
    init(
        _ configuration: StoreConfiguration, clocks: Clocks, memory: StoreMemory, handle: DatabaseHandle, events: StoreEvents,
        bodies: DiskThreads, number: UInt64
    ) {
        self.configuration = configuration
        folder = StoreFolder(configuration.directory)
        self.clocks = clocks
        self.memory = memory
        self.handle = handle
        self.events = events
        self.bodies = bodies
        self.number = number
    }

    private var isShared: Bool { configuration.mode == .shared }

    /// The number of the file whose lock is held; nil before.
    var lockFile: UInt64? { progress.withLock { $0.lockFile } }

    // MARK: Opening

    /// Opens the database, replaces it where it is not one of this store, or goes on without.
    func open(then opened: (StoreDatabase) -> Void) {
        if case .closed = handle.snapshot { return }
        do {
            if let refusal = configuration.refusal { throw refusal }
            try folder.prepare()
            let lock = try takeLock()
            switch Self.tryOpen(folder, options) {
            case .success(let database): try begin(with: database, lock, replaced: nil, then: opened)
            case .failure(.corrupt(let reason)): try begin(with: remake(lock, reason), lock, replaced: reason, then: opened)
            case .failure(let failure): throw failure
            }
        } catch {
            lose(Self.reason(of: error))
        }
    }

    /// A store of this process that was closed, or dropped, just before still writes what waits there: this one waits for it.
    private func takeLock() throws(StoreError) -> LockFile {
        OpenStores.shared.waitForPredecessors(
            of: number, folder: folder.path, lockFile: Files.inode(of: folder.lock), limit: Self.predecessorLimit)
        let file = try LockFile(folder.lock, isExclusive: !isShared)
        let inode = Files.inode(of: folder.lock)
        progress.withLock { $0.lockFile = inode }
        return file
    }

    private static func tryOpen(_ folder: StoreFolder, _ options: StoreDatabase.Options) -> Result<StoreDatabase, DatabaseFailure> {
        Result { () throws(DatabaseFailure) in try StoreDatabase(folder, options) }
    }

    private var options: StoreDatabase.Options {
        StoreDatabase.Options(
            isShared: isShared, contentVersion: Int64(configuration.contentVersion), secureDelete: configuration.erasesDeletedContent,
            variantsPerKey: configuration.limits.variantsPerKey, inlineBodyBytes: configuration.limits.inlineBodyBytes,
            sealing: configuration.sealing, frameOverhead: configuration.sealing?.overhead ?? 0, bodies: bodies)
    }

    private func begin(
        with database: StoreDatabase, _ lock: LockFile, replaced: String?, then opened: (StoreDatabase) -> Void
    ) throws(DatabaseFailure) {
        let position = isShared ? try database.changePosition() : 0
        handle.totals = try database.readTotals()
        progress.withLock { $0.backoff.succeed() }
        let released = memory.withLock { state in
            var released: [MemoryState.Slot] = []
            // Memory from before knows nothing of the changes of others meanwhile.
            if isShared { released = state.forgetEverythingKnown(upTo: position) }
            state.sharedPosition = position
            if replaced != nil { released += state.replaceDisk() }
            state.gainDisk()
            return released
        }
        _ = released
        handle.change(to: .open(database, lock))
        if let replaced {
            progress.withLock { $0.lastReplacement = clocks.monotonic() }
            events.tell(.replaced(reason: replaced))
        }
        events.tell(.opened)
        opened(database)
    }

    // MARK: Replacing

    /// Removes files that are not what they were; an empty store takes their place.
    func replace(_ reason: String, then opened: (StoreDatabase) -> Void) {
        let now = clocks.monotonic()
        let last = progress.withLock { $0.lastReplacement }
        guard case .open(let database, let lock) = handle.snapshot else { return }
        handle.change(to: .opening)
        database.close()
        if let last, now - last < Self.replacementInterval {
            lose("damaged again and again: \(reason)", retryAfter: .seconds(60))
            return
        }
        do {
            try begin(with: remake(lock, reason), lock, replaced: reason, then: opened)
        } catch {
            lose(Self.reason(of: error))
        }
    }

    /// Removes the files and makes new ones, alone with them. Records that can be read go into the new ones.
    private func remake(_ lock: LockFile, _ reason: String) throws -> StoreDatabase {
        guard !isShared || lock.makeExclusive() else {
            throw DatabaseFailure.unavailable("the store is damaged, and others still use it: \(reason)")
        }
        let salvage = try RecordSalvage(of: folder, fingerprint: configuration.sealing?.fingerprint)
        try folder.removeDatabase()
        let database = try StoreDatabase(folder, options, newSeed: salvage?.seed)
        // A disk that does not take them is not there for entries either.
        if let salvage { try database.write(salvage) }
        guard !isShared || lock.makeShared() else { throw DatabaseFailure.unavailable("others took the store") }
        return database
    }

    /// Opens new files where the ones that are open were removed, as people do with caches.
    func reopenIfMoved(_ database: StoreDatabase, then opened: (StoreDatabase) -> Void) {
        guard handle.current === database, !database.isInPlace else { return }
        handle.change(to: .opening)
        database.close()
        _ = memory.withLock { $0.replaceDisk() }
        open(then: opened)
    }

    // MARK: Doing without

    /// Lets memory go on alone, until the next try is due.
    ///
    /// - Parameters:
    ///   - reason: one sentence for the program.
    ///   - batch: what was being written and is not on disk.
    ///   - delay: the time until the next try; longer after each failure when nil.
    func lose(_ reason: String, batch: WriteBackQueue.Batch? = nil, retryAfter delay: Duration? = nil) {
        let delay = delay ?? progress.withLock { $0.backoff.fail() }
        leaveDisk(batch)
        let former = handle.change(to: .none(reason: reason, retry: clocks.monotonic() + delay))
        if case .open(let database, _) = former { database.close() }
        events.tell(.lostDisk(reason: reason))
    }

    /// Closes the files, for good.
    func close() {
        leaveDisk(nil)
        if case .open(let database, let lock) = handle.change(to: .closed) {
            database.close()
            lock.release()
        }
    }

    private func leaveDisk(_ batch: WriteBackQueue.Batch?) {
        let now = memory.now
        let lost = memory.withLock { $0.loseDisk(batch, at: now) }
        for body in lost.bodies { body.discard() }
    }

    private static func reason(of error: any Error) -> String {
        switch error {
        case let error as StoreError: error.message
        case let failure as DatabaseFailure: failure.reason
        default: "\(error)"
        }
    }
}
