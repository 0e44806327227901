import FoundationEssentials

/// Writing back. On the writer thread.
extension StoreEngine {
    /// Something is due: changes that have waited long enough, or access times.
    func tick() {
        let now = Worker.now() + .milliseconds(10)
        let limits = configuration.limits
        let (dirty, touched) = state.withLock { ($0.queue.oldest, $0.touchesSince) }
        if let dirty, dirty + limits.dirtyAge <= now { _ = drain() }
        if let touched, touched + limits.touchAge <= now { writeTouches() }
        let next = state.withLock { state in
            [state.queue.oldest.map { $0 + limits.dirtyAge }, state.touchesSince.map { $0 + limits.touchAge }].compactMap { $0 }.min()
        }
        guard let next, door.current != nil else { return }
        // Never at once again: a busy database would keep the thread running.
        writer.schedule(at: max(next, Worker.now() + .milliseconds(20))) { [weak self] in self?.tick() }
    }

    /// Writes everything that waits.
    /// - Returns: whether all of it is on disk.
    func drain() -> Bool {
        if let database = door.current, state.withLock({ !$0.queue.isEmpty }) { reopenIfMoved(database) }
        while let database = door.current {
            let batch = state.withLock { $0.queue.isEmpty ? nil : $0.takeBatch() }
            guard let batch, !batch.isEmpty else { break }
            do throws(DatabaseFailure) {
                let written = try database.write(batch, now: clocks.wall())
                _ = state.withLock { $0.commit(refused: written.refused) }
                progress.withLock { progress in
                    progress.bytes = written.bytes
                    progress.entries = written.entries
                }
                tell(.wrote(keys: batch.writes.count))
                if batch.clearsAll || !batch.clearedPartitions.isEmpty { try? database.vacuum() }
                evictIfNeeded(database, used: written.bytes)
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
                rest -= bytes - evicted.bytes
                bytes = evicted.bytes
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

    /// Writes what waits and closes the files; afterwards memory alone answers. Returns at once.
    func close(then done: @escaping @Sendable () -> Void = {}) {
        let wasClosed = progress.withLock { progress in
            defer { progress.isClosed = true }
            return progress.isClosed
        }
        // The second close waits for the first: its job comes after it.
        let isQueued = writer.enqueue { [self] in
            if !wasClosed { finish() }
            done()
        }
        if !isQueued { done() }
        if !wasClosed {
            // After the job above has been taken in, none is.
            let end: @Sendable () -> Void = { [writer, readers] in
                writer.end()
                readers.end()
            }
            // Without a thread that could be made for it there is no job to wait for.
            if !writer.enqueue(end) { end() }
        }
    }

    private func finish() {
        _ = drain()
        writeTouches()
        let lost = state.withLock { $0.loseDisk(nil, at: now) }
        for body in lost.bodies { body.discard() }
        if case .open(let database, let lock) = door.change(to: .closed) {
            database.close()
            lock.release()
        }
    }
}
