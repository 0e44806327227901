import FoundationEssentials
import SystemSupport

/// Writing back. On the writer thread.
extension StoreEngine {
    /// Something is due: changes that have waited long enough, or access times.
    func tick() {
        let now = Monotonic.now() + .milliseconds(10)
        let limits = configuration.limits
        let (dirty, touched) = state.withLock { ($0.queue.oldest, $0.touchesSince) }
        if let dirty, dirty + limits.dirtyAge <= now { _ = drain() }
        if let touched, touched + limits.touchAge <= now { writeTouches() }
        let next = state.withLock { state in
            [state.queue.oldest.map { $0 + limits.dirtyAge }, state.touchesSince.map { $0 + limits.touchAge }].compactMap { $0 }.min()
        }
        guard let next, door.current != nil else { return }
        // Never at once again: a busy database would keep the thread running.
        writer.schedule(at: max(next, Monotonic.now() + .milliseconds(20))) { [weak self] in self?.tick() }
    }

    /// Writes everything that waits.
    /// - Returns: whether all of it is on disk.
    func drain() -> Bool {
        _ = state.withLock { $0.queue.takeDropped() }
        if let database = door.current, state.withLock({ !$0.queue.isEmpty }) { reopenIfMoved(database) }
        while let database = door.current {
            let batch = state.withLock { $0.queue.isEmpty ? nil : $0.takeBatch() }
            guard let batch, !batch.isEmpty else { break }
            do throws(DatabaseFailure) {
                let written = try database.write(batch, now: clocks.wall())
                _ = state.withLock { $0.commit(refused: written.refused) }
                progress.withLock { progress in
                    progress.bytes = written.totals.bytes
                    progress.entries = written.totals.entries
                }
                tell(.wrote(keys: batch.writes.count))
                if batch.clearsAll || !batch.clearedPartitions.isEmpty { try? database.vacuum() }
                evictIfNeeded(database, used: written.totals.bytes)
            } catch {
                handle(error, database, batch: batch)
                if error == .busy { return false }
            }
        }
        let hasManyTouches = state.withLock { $0.touches.count >= configuration.limits.touchBatch }
        if hasManyTouches { writeTouches() }
        return door.current != nil
    }

    /// Best effort: a database that is busy drops them.
    func writeTouches() {
        guard let database = door.current else { return }
        let touches = state.withLock { $0.takeTouches() }
        guard !touches.isEmpty else { return }
        do throws(DatabaseFailure) {
            try database.writeTouches(touches)
        } catch {
            if error != .busy { handle(error, database, batch: nil) }
        }
    }

    /// Makes room in batches, until nine tenths of the capacity are left.
    func evictIfNeeded(_ database: StoreDatabase, used: Int) {
        let policy = EvictionPolicy(limit: configuration.limits.diskBytes, used: used, free: Files.freeBytes(at: folder.path))
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
            }
            try database.vacuum()
        } catch {
            if error != .busy { handle(error, database, batch: nil) }
        }
        progress.withLock { progress in
            progress.entries -= entries
            progress.bytes = bytes
        }
        if entries > 0 { tell(.evicted(entries: entries, bytes: bytes)) }
    }

    /// Writes what waits at once, where there is a thread for it, and then calls `done`. Any thread; returns at once, but on the writer thread
    /// itself, which comes here when a call of the user's ends the process.
    func flushNow(_ done: @escaping @Sendable () -> Void) {
        if writer.isCurrent {
            // Within a transaction nothing more can be written; between two of them all of it can.
            if progress.withLock({ $0.isTelling }) { writeEverything() }
            return done()
        }
        let isQueued = writer.enqueue { [self] in
            writeEverything()
            done()
        }
        if !isQueued { whenFinished(done) }
    }

    private func writeEverything() {
        _ = drain()
        writeTouches()
    }

    /// Calls `done` when a close that has begun is over; at once when none has.
    private func whenFinished(_ done: @escaping @Sendable () -> Void) {
        let isOver = progress.withLock { progress in
            guard progress.isClosed, !progress.isFinished else { return true }
            progress.onFinish.append(done)
            return false
        }
        if isOver { done() }
    }

    /// It was made before the other one, was closed, and still has, or is about to take, the files that the other one wants.
    func precedes(_ other: StoreEngine, lockFile: UInt64?) -> Bool {
        guard other !== self else { return false }
        let (isClosing, held, number) = progress.withLock { ($0.isClosed && !$0.isFinished, $0.lockFile, $0.number) }
        guard isClosing, number < other.progress.withLock({ $0.number }) else { return false }
        return folder.path.hasSameBytes(as: other.folder.path) || held != nil && held == lockFile
    }

    /// Writes what waits and closes the files; afterwards memory alone answers. Returns at once.
    func close(then done: @escaping @Sendable () -> Void = {}) {
        let wasClosed = progress.withLock { progress in
            defer { progress.isClosed = true }
            return progress.isClosed
        }
        if !wasClosed {
            let isQueued = writer.enqueue { [self] in finish() }
            // Without a thread that could be made for it there is no file that is open.
            if !isQueued { endFinish() }
        }
        // The second close waits for the first.
        whenFinished(done)
        if !wasClosed {
            // After the job above has been taken in, none is.
            let end: @Sendable () -> Void = { [writer, readers, bodies, upkeep] in
                writer.end()
                readers.end()
                bodies.end()
                upkeep.end()
            }
            if !writer.enqueue(end) { end() }
        }
    }

    private func finish() {
        writeEverything()
        let lost = state.withLock { $0.loseDisk(nil, at: now) }
        for body in lost.bodies { body.discard() }
        if case .open(let database, let lock) = door.change(to: .closed) {
            database.close()
            lock.release()
        }
        endFinish()
    }

    private func endFinish() {
        let waiting = progress.withLock { progress in
            defer { progress.onFinish = [] }
            progress.isFinished = true
            return progress.onFinish
        }
        OpenStores.shared.remove(self)
        for done in waiting { done() }
    }
}
