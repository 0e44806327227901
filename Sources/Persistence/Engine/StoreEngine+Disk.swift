import FoundationEssentials
import SystemSupport

/// Opening, losing and replacing the database. On the writer thread.
extension StoreEngine {
    /// Opens the database, replaces it where it is not one of this store, or goes on without.
    func open() {
        if case .closed = door.snapshot { return }
        do {
            if let refusal = configuration.refusal { throw refusal }
            try folder.prepare()
            let lock = try takeLock()
            switch Self.tryOpen(folder, options) {
            case .success(let database): try begin(with: database, lock, replaced: nil)
            case .failure(.corrupt(let reason)): try begin(with: remake(lock, reason), lock, replaced: reason)
            case .failure(let failure): throw failure
            }
        } catch {
            settleWithoutDisk(Self.reason(of: error), retryAfter: backoff())
        }
    }

    /// A store of this process that was closed, or dropped, just before still writes what waits there: this one waits for it.
    private func takeLock() throws(StoreError) -> LockFile {
        OpenStores.shared.waitForPredecessor(of: self, lockFile: Files.inode(of: folder.lock), limit: Self.predecessorLimit)
        let file = try LockFile(folder.lock, isExclusive: !isShared)
        let inode = Files.inode(of: folder.lock)
        progress.withLock { $0.lockFile = inode }
        return file
    }

    /// What a predecessor may have to write is bounded, and so is the wait for it.
    private static let predecessorLimit = Duration.seconds(10)

    private static func tryOpen(_ folder: StoreFolder, _ options: StoreDatabase.Options) -> Result<StoreDatabase, DatabaseFailure> {
        Result { () throws(DatabaseFailure) in try StoreDatabase(folder, options) }
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

    private var options: StoreDatabase.Options {
        StoreDatabase.Options(
            isShared: isShared, contentVersion: Int64(configuration.contentVersion), secureDelete: configuration.erasesDeletedContent,
            variantsPerKey: configuration.limits.variantsPerKey, inlineBodyBytes: configuration.limits.inlineBodyBytes,
            sealing: configuration.sealing, frameOverhead: configuration.sealing?.overhead ?? 0, bodies: bodies)
    }

    private func begin(with database: StoreDatabase, _ lock: LockFile, replaced: String?) throws {
        let position = isShared ? try database.changePosition() : 0
        let totals = try database.readTotals()
        progress.withLock { progress in
            progress.failures = 0
            progress.bytes = totals.bytes
            progress.entries = totals.entries
        }
        let released = state.withLock { state in
            var released: [MemoryState.Slot] = []
            // What memory had from before knows nothing of what others did meanwhile.
            if isShared { released = state.forgetEverythingKnown(upTo: position) }
            state.sharedPosition = position
            if replaced != nil { released += state.replaceDisk() }
            state.gainDisk()
            return released
        }
        _ = released
        door.change(to: .open(database, lock))
        if let replaced {
            progress.withLock { $0.lastReplacement = clocks.monotonic() }
            tell(.replaced(reason: replaced))
        }
        tell(.opened)
        writer.enqueue { [self] in learnKeys(database) }
        writer.enqueue { [self] in sweep(database) }
        _ = drain()
    }

    /// Nobody else puts into a private store, so what is not in it is known without asking it. Of a sealed one that would take a hash with its key
    /// for each question.
    func learnKeys(_ database: StoreDatabase) {
        guard door.current === database, !isShared, configuration.sealing == nil else { return }
        do throws(DatabaseFailure) {
            var filter: KeyFilter? = try database.keyFilter()
            // Handed over: held here too, it would be copied under the lock by the first key that is added.
            state.withLock { state in if let learned = filter.take() { state.learn(learned) } }
        } catch {
            // It only spares questions: without it each of them is asked, and what else the disk cannot do its next user finds out.
            guard case .corrupt = error else { return }
            handle(error, database, batch: nil)
        }
    }

    /// What earlier processes left behind. What is younger than an hour may be somebody's who is at work, or our own.
    private func sweep(_ database: StoreDatabase) {
        guard door.current === database else { return }
        let now = clocks.wall()
        do throws(DatabaseFailure) {
            try database.sweep(olderThan: 3600, temporaryOlderThan: 3600, now: now)
            let totals = try database.checkTotals()
            progress.withLock { progress in
                progress.bytes = totals.bytes
                progress.entries = totals.entries
            }
            evictIfNeeded(database, used: totals.bytes)
        } catch {
            handle(error, database, batch: nil)
        }
    }

    /// The files are not what they were: they are removed, and an empty store takes their place.
    func replace(_ reason: String) {
        let now = clocks.monotonic()
        let last = progress.withLock { $0.lastReplacement }
        guard case .open(let database, let lock) = door.snapshot else { return }
        door.change(to: .opening)
        database.close()
        if let last, now - last < .seconds(10) {
            settleWithoutDisk("damaged again and again: \(reason)", retryAfter: .seconds(60))
            return
        }
        do {
            try begin(with: remake(lock, reason), lock, replaced: reason)
        } catch {
            settleWithoutDisk(Self.reason(of: error), retryAfter: backoff())
        }
    }

    /// Somebody removed the files, as people do with caches: new ones take their place.
    func reopenIfMoved(_ database: StoreDatabase) {
        guard door.current === database, !database.isInPlace else { return }
        door.change(to: .opening)
        database.close()
        _ = state.withLock { $0.replaceDisk() }
        open()
    }

    /// Memory goes on alone.
    func settleWithoutDisk(_ reason: String, batch: WriteBackQueue.Batch? = nil, retryAfter delay: Duration) {
        let lost = state.withLock { $0.loseDisk(batch, at: now) }
        for body in lost.bodies { body.discard() }
        let former = door.change(to: .none(reason: reason, retry: clocks.monotonic() + delay))
        if case .open(let database, _) = former { database.close() }
        tell(.lostDisk(reason: reason))
    }

    /// One second, then twice as long each time, up to a minute.
    func backoff() -> Duration {
        let failures = progress.withLock { progress in
            progress.failures += 1
            return progress.failures
        }
        return .seconds(min(60, 1 << min(failures - 1, 6)))
    }

    private static func reason(of error: any Error) -> String {
        switch error {
        case let error as StoreError: error.message
        case DatabaseFailure.corrupt(let message), DatabaseFailure.unavailable(let message): message
        case DatabaseFailure.full: "the disk is full"
        case DatabaseFailure.busy: "the database is busy"
        default: "\(error)"
        }
    }

    /// What a failed call of the database leads to.
    func handle(_ failure: DatabaseFailure, _ database: StoreDatabase, batch: WriteBackQueue.Batch?) {
        guard door.current === database else { return }
        var batch = batch
        let lostKeys = batch?.dropPlacedBodies() ?? []
        if !lostKeys.isEmpty { _ = state.withLock { state in lostKeys.compactMap { state.slots.remove($0) } } }
        let postpone = { [self] in
            if let batch { state.withLock { $0.postpone(batch, at: now) } }
        }
        switch failure {
        case .busy:
            postpone()
            writer.schedule(at: clocks.monotonic() + .milliseconds(100)) { [weak self] in self?.tick() }
        case .corrupt(let reason):
            postpone()
            replace(reason)
        case .full where batch?.hasInvalidations == true:
            // What was invalidated must not come back, and removing files needs no room.
            postpone()
            replace("the disk is full, and something had to be removed")
        case .full, .unavailable:
            settleWithoutDisk(Self.reason(of: failure), batch: batch, retryAfter: backoff())
        }
    }
}
