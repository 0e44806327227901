import FoundationEssentials
import SystemSupport

extension Store {
    /// Writes what waits, then lets go of everything in memory that the disk has. For when memory is short; see ``MemoryPressureMonitor``.
    public func relieveMemory() async {
        try? await flush()
        await withCheckedContinuation { continuation in
            let engine = engine
            let isQueued = engine.threads.writer.enqueue {
                engine.handle.current?.trim()
                continuation.resume()
            }
            if !isQueued { continuation.resume() }
        }
        // Without a disk memory is all there is, and goes too: it is a cache.
        _ = engine.memory.withLock { $0.slots.removeAll() }
    }

    /// Counts what the store holds and has answered, without a call of the database. One statvfs(3) tells the free space.
    public func statistics() -> StoreStatistics {
        let totals = engine.handle.totals
        let free = Files.freeBytes(at: engine.folder.path)
        var statistics = StoreStatistics()
        if engine.handle.current != nil {
            statistics.entries = totals.entries
            statistics.bytes = totals.bytes
            statistics.capacity = EvictionPolicy(limit: engine.configuration.limits.diskBytes, used: totals.bytes, free: free).capacity
        }
        engine.memory.withLock { state in
            statistics.memoryKeys = state.slots.count
            statistics.memoryBytes = state.slots.cost
            statistics.pendingKeys = state.queue.count
            statistics.pendingBytes = state.queue.cost
            statistics.memoryHits = state.statistics.memoryHits
            statistics.diskHits = state.statistics.diskHits
            statistics.misses = state.statistics.misses
            statistics.puts = state.statistics.puts
        }
        return statistics
    }

    /// Reads everything there is, bodies included, and says what is wrong. Takes as long as that takes; lookups and writes are not held up. One
    /// call of this or of ``list(partition:after:limit:)`` is served after the other.
    ///
    /// - Throws: `unavailable` or `closed` when there is no disk.
    public func verify() async throws(StoreError) -> VerificationReport {
        try? await flush()
        return try await reading { (database) throws(DatabaseFailure) in try database.verify() }
    }

    /// Entries on disk in the order they were stored, without their bodies.
    ///
    /// - Parameters:
    ///   - partition: of this one only; nil for all.
    ///   - after: the `id` of the last one seen; 0 to begin.
    ///   - limit: the most entries of the answer. Default: 100.
    /// - Returns: the next entries; fewer than `limit` at the end.
    /// - Throws: `unavailable` or `closed` when there is no disk.
    public func list(partition: String? = nil, after: Int64 = 0, limit: Int = 100) async throws(StoreError) -> [EntrySummary] {
        try await reading { (database) throws(DatabaseFailure) in
            try database.list(partition: partition, after: after, limit: max(0, limit))
        }
    }

    /// Reads on a reader thread. The disk may take `limit` to answer; without one, on the thread for what may take long by itself.
    func reading<Value: Sendable>(
        within limit: Duration? = nil, _ body: @escaping @Sendable (StoreDatabase) throws(DatabaseFailure) -> Value
    ) async throws(StoreError) -> Value {
        let engine = engine
        engine.writeBack.retryIfDue()
        if let limit {
            let result = await engine.threads.readers.answer(within: limit) { engine.result(on: engine.handle.wait(), body) }
            guard let result else { throw StoreError(.unavailable, "the disk does not answer") }
            return try result.get()
        }
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let isQueued = engine.threads.upkeep.enqueue { continuation.resume(returning: engine.result(on: engine.handle.wait(), body)) }
            if !isQueued { continuation.resume(returning: .failure(engine.handle.unavailable)) }
        }
        return try result.get()
    }

    /// Writes on the writer thread.
    func writing<Value: Sendable>(
        _ body: @escaping @Sendable (StoreDatabase) throws(DatabaseFailure) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            write(body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Writes on the writer thread, and says there what came of it.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (StoreDatabase) throws(DatabaseFailure) -> Value,
        then done: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        let engine = engine
        // Before the job below, on the same thread.
        engine.writeBack.retryIfDue()
        let isQueued = engine.threads.writer.enqueue {
            // Somebody may have taken the files away: what is written into them then is gone.
            if let database = engine.handle.current { engine.writeBack.reopenIfMoved(database) }
            done(engine.result(on: engine.handle.current, body))
        }
        if !isQueued { done(.failure(engine.handle.unavailable)) }
    }
}

extension StoreEngine {
    fileprivate func result<Value>(
        on database: StoreDatabase?, _ body: (StoreDatabase) throws(DatabaseFailure) -> Value
    ) -> Result<Value, StoreError> {
        guard let database else { return .failure(handle.unavailable) }
        do throws(DatabaseFailure) {
            return .success(try body(database))
        } catch {
            writeBack.report(error, of: database)
            return .failure(StoreError(error))
        }
    }
}
