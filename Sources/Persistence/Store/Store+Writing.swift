public import FoundationEssentials

extension Store {
    /// Of one entry's metadata, in bytes.
    public static let largestMetadata = 4 << 20

    /// Stores an entry. It is visible at once, and on disk within `StoreLimits.dirtyAge` (in shared mode, and with `writesThrough`, as soon as
    /// the disk can). Never blocks.
    ///
    /// - Parameters:
    ///   - entry: replaces the entry of the same key and variant.
    ///   - ticket: of the lookup that led to it. The entry is refused when the key was invalidated since. Nil: stored anyway.
    /// - Returns: `accepted`, or the reason not to store it.
    @discardableResult
    public func put(_ entry: NewStoreEntry, ticket: PutTicket? = nil) -> PutOutcome {
        let limits = engine.configuration.limits
        guard entry.body.length <= limits.largestBody, entry.metadata.count <= Self.largestMetadata else { return .tooLarge }
        if case .file(let file) = entry.body.storage {
            guard entry.placement != .memory else { return .tooLarge }
            guard file.claim() else { return .unavailable }
        }
        let stored = StoreEntry(
            key: entry.key, variant: entry.variant, metadata: entry.metadata, body: EntryBody(storage: entry.body.storage),
            storedAt: Date(milliseconds: engine.clocks.wall()), freshUntil: entry.freshUntil.map { Date(milliseconds: $0.milliseconds) },
            isRevalidatable: entry.isRevalidatable, generation: Int64.random(in: Int64.min...Int64.max), placement: entry.placement)
        return engine.change { state, now in state.put(stored, ticket: ticket, at: now) }
    }

    /// The same, and waits until it is on disk.
    ///
    /// - Throws: as `flush`.
    @discardableResult
    public func putAndFlush(_ entry: NewStoreEntry, ticket: PutTicket? = nil) async throws(StoreError) -> PutOutcome {
        let outcome = put(entry, ticket: ticket)
        if outcome == .accepted { try await flush() }
        return outcome
    }

    /// New metadata for exactly this entry: the body is not touched. Nothing happens when the entry has been replaced or removed since.
    @discardableResult
    public func update(_ entry: StoreEntry, metadata: Data, freshUntil: Date? = nil, isRevalidatable: Bool = true) -> PutOutcome {
        guard metadata.count <= Self.largestMetadata else { return .tooLarge }
        let update = MetadataUpdate(
            variant: entry.variant, generation: entry.generation, metadata: metadata,
            freshUntil: freshUntil.map { Date(milliseconds: $0.milliseconds) }, isRevalidatable: isRevalidatable)
        return engine.change { state, now in state.update(entry, update, at: now) }
    }

    /// Removes all variants of a key. Nobody in this process sees them any more when this returns, and what is being fetched for the key is
    /// not stored. The disk follows at once, in the background.
    public func remove(_ key: EntryKey) {
        _ = engine.change { state, now in state.remove(key, at: now) }
    }

    /// Removes one variant.
    public func remove(_ key: EntryKey, variant: String) {
        _ = engine.change { state, now in state.remove(variant: variant, of: key, at: now) }
    }

    /// Removes an entry that is of no use, as when its body is `damaged` or `missing`. One that memory knows to have taken its place stays.
    public func remove(_ entry: StoreEntry) {
        _ = engine.change { state, now in state.remove(entry, at: now) }
    }

    /// Removes everything of a partition.
    public func removeAll(in partition: String) {
        _ = engine.change { state, now in state.clear(partition: partition, at: now) }
    }

    /// Removes every entry. Records stay.
    public func removeAll() {
        _ = engine.change { state, now in state.clearAll(at: now) }
    }

    /// Waits until everything that was changed before is on disk.
    ///
    /// - Throws: `unavailable` or `closed` when there is no disk.
    public func flush() async throws(StoreError) {
        let isWritten = await withCheckedContinuation { continuation in
            flush { continuation.resume(returning: $0) }
        }
        if !isWritten { throw engine.handle.unavailable }
    }

    /// Waits until everything that was changed before is on disk, for `limit` at most: a disk that does not answer holds nobody up.
    ///
    /// - Throws: as `flush()`, and `unavailable` when the time is over. What waits is still written when the disk answers.
    public func flush(atMost limit: Duration) async throws(StoreError) {
        let answer = FirstAnswer<Bool?>()
        flush { answer.give($0) }
        let clock = Task {
            try? await Task.sleep(for: limit)
            answer.give(nil)
        }
        let isWritten = await answer.value
        clock.cancel()
        guard let isWritten else { throw StoreError(.unavailable, "the disk has not answered for \(limit)") }
        if !isWritten { throw engine.handle.unavailable }
    }

    private func flush(then done: @escaping @Sendable (Bool) -> Void) {
        let engine = engine
        let isQueued = engine.threads.writer.enqueue {
            done(engine.writeBack.flush())
        }
        if !isQueued { done(false) }
    }
}
