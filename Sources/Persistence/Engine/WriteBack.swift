import FoundationEssentials
import SystemSupport

/// Writes what waits in memory back to the disk, keeps the disk within its limit, and decides what a failure there leads to.
///
/// On the writer thread, but for the calls that only ask for something to be done there.
final class WriteBack: Sendable {
    private let configuration: StoreConfiguration
    private let clocks: Clocks
    private let memory: StoreMemory
    private let handle: DatabaseHandle
    private let events: StoreEvents
    private let supervisor: DatabaseSupervisor
    private let writer: Worker
    /// A drain is to come already.
    private let isDrainQueued = Lock(false)

    private var limits: StoreLimits { configuration.limits }

    /// Makes what has written nothing yet; `open()` is to be called first.
    init(
        _ configuration: StoreConfiguration, clocks: Clocks, memory: StoreMemory, handle: DatabaseHandle, events: StoreEvents,
        supervisor: DatabaseSupervisor, writer: Worker
    ) {
        self.configuration = configuration
        self.clocks = clocks
        self.memory = memory
        self.handle = handle
        self.events = events
        self.supervisor = supervisor
        self.writer = writer
    }

    // MARK: From any thread

    /// Sees to it that the writer looks when it should.
    func act(on wake: MemoryState.Wake) {
        switch wake {
        case .none: break
        case .by(let time): writer.schedule(at: time) { [weak self] in self?.tick() }
        case .now: drainSoon()
        }
    }

    private func drainSoon() {
        let isFirst = isDrainQueued.withLock { isQueued in
            defer { isQueued = true }
            return !isQueued
        }
        guard isFirst else { return }
        let isQueued = writer.enqueue { [self] in
            isDrainQueued.withLock { $0 = false }
            _ = drain()
        }
        if !isQueued { isDrainQueued.withLock { $0 = false } }
    }

    /// Tries to open the database where there is none, once that is due.
    func retryIfDue() {
        guard memory.withLock({ $0.disk == .none }), handle.takeRetry(at: clocks.monotonic()) else { return }
        writer.enqueue { self.open() }
    }

    /// Takes a failure that a reader met. Damage makes the writer replace the files; of all else the writer finds out by itself.
    func report(_ failure: DatabaseFailure, of database: StoreDatabase) {
        guard case .corrupt(let reason) = failure else { return }
        writer.enqueue { [self] in
            guard handle.current === database else { return }
            supervisor.replace(reason, then: begin)
        }
    }

    /// Lets the writer open new files where those of the database were removed.
    func reopenSoon(_ database: StoreDatabase) { writer.enqueue { self.reopenIfMoved(database) } }

    // MARK: Opening

    /// Opens the database, or goes on without.
    func open() { supervisor.open(then: begin) }

    /// Opens new files where those of the database were removed.
    func reopenIfMoved(_ database: StoreDatabase) { supervisor.reopenIfMoved(database, then: begin) }

    private func begin(with database: StoreDatabase) {
        writer.enqueue { [self] in learnKeys(database) }
        writer.enqueue { [self] in sweep(database) }
        _ = drain()
    }

    /// Reads the keys of a private store: nobody else puts into it, so what is not in it is then known without asking it. Of a sealed one that
    /// would take a hash with its key for each question.
    func learnKeys(_ database: StoreDatabase) {
        guard handle.current === database, configuration.mode == .private, configuration.sealing == nil else { return }
        do throws(DatabaseFailure) {
            var filter: KeyFilter? = try database.keyFilter()
            // Handed over: held here too, it would be copied under the lock by the first key that is added.
            memory.withLock { state in if let learned = filter.take() { state.learn(learned) } }
        } catch {
            // It only spares questions: without it each of them is asked, and what else the disk cannot do its next user finds out.
            guard case .corrupt = error else { return }
            recover(from: error, of: database)
        }
    }

    /// Removes what earlier processes left behind. What is younger than an hour may be that of one that is at work, or our own.
    private func sweep(_ database: StoreDatabase) {
        guard handle.current === database else { return }
        let now = clocks.wall()
        do throws(DatabaseFailure) {
            try database.sweep(olderThan: 3600, temporaryOlderThan: 3600, now: now)
            let totals = try database.checkTotals()
            handle.totals = totals
            evictIfNeeded(database, used: totals.bytes)
        } catch {
            recover(from: error, of: database)
        }
    }

    // MARK: Writing

    /// Writes what is due: changes that have waited long enough, or access times.
    private func tick() {
        let now = Monotonic.now() + .milliseconds(10)
        let (dirty, touched) = memory.withLock { ($0.queue.oldest, $0.touchesSince) }
        if let dirty, dirty + limits.dirtyAge <= now { _ = drain() }
        if let touched, touched + limits.touchAge <= now { writeTouches() }
        let next = memory.withLock { state in
            [state.queue.oldest.map { $0 + limits.dirtyAge }, state.touchesSince.map { $0 + limits.touchAge }].compactMap { $0 }.min()
        }
        guard let next, handle.current != nil else { return }
        // Never at once again: a busy database would keep the thread running.
        writer.schedule(at: max(next, Monotonic.now() + .milliseconds(20))) { [weak self] in self?.tick() }
    }

    /// Writes everything that waits, access times too.
    ///
    /// - Returns: whether all changes are on disk.
    @discardableResult
    func flush() -> Bool {
        let isWritten = drain()
        writeTouches()
        return isWritten
    }

    /// Writes all changes that wait.
    ///
    /// - Returns: whether all of them are on disk.
    func drain() -> Bool {
        _ = memory.withLock { $0.queue.takeDropped() }
        if let database = handle.current, memory.withLock({ !$0.queue.isEmpty }) { reopenIfMoved(database) }
        while let database = handle.current {
            let batch = memory.withLock { $0.queue.isEmpty ? nil : $0.takeBatch() }
            guard let batch, !batch.isEmpty else { break }
            do throws(DatabaseFailure) {
                let written = try database.write(batch, now: clocks.wall())
                _ = memory.withLock { $0.commit(refused: written.refused) }
                handle.totals = written.totals
                events.tell(.wrote(keys: batch.writes.count))
                if batch.clearsAll || !batch.clearedPartitions.isEmpty { try? database.vacuum() }
                evictIfNeeded(database, used: written.totals.bytes)
            } catch {
                recover(from: error, of: database, batch: batch)
                if error == .busy { return false }
            }
        }
        let hasManyTouches = memory.withLock { $0.touches.count >= limits.touchBatch }
        if hasManyTouches { writeTouches() }
        return handle.current != nil
    }

    /// Writes access times. Best effort: a database that is busy drops them.
    private func writeTouches() {
        guard let database = handle.current else { return }
        let touches = memory.withLock { $0.takeTouches() }
        guard !touches.isEmpty else { return }
        do throws(DatabaseFailure) {
            try database.writeTouches(touches)
        } catch {
            if error != .busy { recover(from: error, of: database) }
        }
    }

    /// Evicts in batches, until nine tenths of the capacity are left.
    private func evictIfNeeded(_ database: StoreDatabase, used: Int) {
        let policy = EvictionPolicy(limit: limits.diskBytes, used: used, free: Files.freeBytes(at: database.folder.path))
        guard var rest = policy.bytesToFree(used: used) else { return }
        var entries = 0
        var bytes = used
        do throws(DatabaseFailure) {
            while rest > 0 {
                let evicted = try database.evict(bytes: rest, now: clocks.wall())
                guard evicted.entries > 0 else { break }
                entries += evicted.entries
                rest -= bytes - evicted.totals.bytes
                bytes = evicted.totals.bytes
                handle.totals = evicted.totals
            }
            try database.vacuum()
        } catch {
            if error != .busy { recover(from: error, of: database) }
        }
        if entries > 0 { events.tell(.evicted(entries: entries, bytes: bytes)) }
    }

    // MARK: Failures

    /// Does what a failed call of the database leads to. Nothing where the database is no longer the one that is open.
    private func recover(from failure: DatabaseFailure, of database: StoreDatabase, batch: WriteBackQueue.Batch? = nil) {
        guard handle.current === database else { return }
        var batch = batch
        let lostKeys = batch?.dropPlacedBodies() ?? []
        if !lostKeys.isEmpty { _ = memory.withLock { state in lostKeys.compactMap { state.slots.remove($0) } } }
        let postpone = { [memory] in
            let now = memory.now
            if let batch { memory.withLock { $0.postpone(batch, at: now) } }
        }
        switch failure {
        case .busy:
            postpone()
            writer.schedule(at: clocks.monotonic() + .milliseconds(100)) { [weak self] in self?.tick() }
        case .corrupt(let reason):
            postpone()
            supervisor.replace(reason, then: begin)
        case .full where batch?.hasInvalidations == true:
            // Invalidated entries must not come back, and removing files needs no space.
            postpone()
            supervisor.replace("the disk is full, and something had to be removed", then: begin)
        case .full, .unavailable:
            supervisor.lose(failure.reason, batch: batch)
        }
    }
}
