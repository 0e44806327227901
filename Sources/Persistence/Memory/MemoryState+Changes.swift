import FoundationEssentials

extension MemoryState {
    struct Change {
        var outcome = PutOutcome.accepted
        var wake = Wake.none
        /// To be released outside the lock.
        var released: [Slot] = []
    }

    mutating func put(_ entry: StoreEntry, ticket: PutTicket?, at now: Moment) -> Change {
        let key = entry.key
        if let ticket, !invalidations.isCurrent(key, since: ticket.position) { return Change(outcome: .invalidated) }
        let isFile = entry.body.data == nil
        if isFile || entry.placement == .disk, disk == .none { return Change(outcome: .unavailable) }
        guard entry.placement == .memory || queue.cost + entry.memoryCost <= limits.pendingBytes else {
            return Change(outcome: .overloaded, wake: .now)
        }
        markStale(key)
        let mayBeOnDisk = mayBeOnDisk(entry)
        var slot = slots.peek(key) ?? Slot(entries: [], isComplete: disk == .none, notedUse: now.wall)
        if isNotOnDisk(key) { slot.isComplete = true }
        slot.entries.removeAll { $0.variant.hasSameBytes(as: entry.variant) }
        slot.entries.append(entry)
        slot.notedUse = now.wall
        if slot.entries.count > limits.variantsPerKey { slot.entries.removeFirst(slot.entries.count - limits.variantsPerKey) }
        statistics.puts += 1
        let released = entry.placement == .disk ? forget(key) : keep(slot, for: key)
        // What an older one of the same name left on disk must not come back; where there is none, the disk never hears of this one.
        if entry.placement == .memory, disk != .none {
            guard mayBeOnDisk else { return Change(released: released) }
            queue.remove(variant: entry.variant, of: key, at: now.monotonic)
            return Change(wake: .now, released: released)
        }
        if disk == .none {
            queue.remove(key, isInvalidation: false, at: now.monotonic)
            forgetDetailsIfNeeded(now)
            return Change(released: released)
        }
        let before = queue.oldest
        noteOnDisk(key)
        queue.put(WriteBackQueue.Put(entry: entry, ticket: ticket), at: now.monotonic)
        // What memory let go of before it was written is the queue's alone now, and goes to the disk first.
        let isDirtyGone = released.contains { slot in slot.entries.first.map { $0.key != key && queue.write(for: $0.key) != nil } ?? false }
        // One that is too large for memory waits for nothing: no other write makes its own cheaper, and meanwhile it takes memory all the same.
        let isHeldByQueueAlone = entry.memoryCost > limits.largestInMemory
        return Change(wake: isDirtyGone || isHeldByQueueAlone ? .now : wake(before: before, now), released: released)
    }

    /// Memory has only a part of what there is then, so that the next reader asks the disk.
    private mutating func forget(_ key: EntryKey) -> [Slot] { slots.remove(key).map { [$0] } ?? [] }

    /// Whether the disk, as far as memory knows, has an entry of the same key and variant.
    private func mayBeOnDisk(_ entry: StoreEntry) -> Bool {
        guard let slot = slots.peek(entry.key), slot.isComplete else { return true }
        return slot.entries.contains { $0.placement != .memory && $0.variant.hasSameBytes(as: entry.variant) }
    }

    private mutating func updateInMemory(_ entry: StoreEntry, _ update: MetadataUpdate) -> Change {
        guard var slot = slots.peek(entry.key), let index = slot.entries.firstIndex(where: { $0.generation == update.generation }) else {
            return Change(outcome: .invalidated)
        }
        slot.entries[index] = slot.entries[index].replacing(update)
        return Change(released: keep(slot, for: entry.key))
    }

    /// New metadata for exactly this entry. Does nothing where it has been replaced since.
    mutating func update(_ entry: StoreEntry, _ update: MetadataUpdate, at now: Moment) -> Change {
        let key = entry.key
        markStale(key)
        var change = Change()
        if entry.placement == .memory { return updateInMemory(entry, update) }
        if var slot = slots.peek(key) {
            if let index = slot.entries.firstIndex(where: { $0.generation == update.generation }) {
                slot.entries[index] = slot.entries[index].replacing(update)
                change.released = keep(slot, for: key)
            } else if slot.isComplete {
                change.outcome = .invalidated
                return change
            }
        }
        if disk == .none {
            queue.remove(key, isInvalidation: false, at: now.monotonic)
            forgetDetailsIfNeeded(now)
            return change
        }
        let before = queue.oldest
        queue.update(update, of: key, at: now.monotonic)
        change.wake = wake(before: before, now)
        return change
    }

    /// All variants. What is fetched already, with a ticket from before, is not stored either.
    mutating func remove(_ key: EntryKey, at now: Moment) -> Change {
        invalidations.record(key)
        markStale(key)
        queue.remove(key, isInvalidation: true, at: now.monotonic)
        forgetDetailsIfNeeded(now)
        touches[key] = nil
        return Change(wake: .now, released: keep(Slot(entries: [], isComplete: true, notedUse: now.wall), for: key))
    }

    mutating func remove(variant: String, of key: EntryKey, at now: Moment) -> Change {
        invalidations.record(key)
        markStale(key)
        let known = slots.peek(key)?.entries.last { $0.variant.hasSameBytes(as: variant) }
        let isOnDisk = known?.placement != .memory
        if isOnDisk {
            queue.remove(variant: variant, of: key, at: now.monotonic)
            forgetDetailsIfNeeded(now)
        }
        guard var slot = slots.peek(key) else { return Change(wake: .now) }
        slot.entries.removeAll { $0.variant.hasSameBytes(as: variant) }
        return Change(wake: isOnDisk ? .now : .none, released: keep(slot, for: key))
    }

    /// This entry, unless another has taken its place.
    mutating func remove(_ entry: StoreEntry, at now: Moment) -> Change {
        let current = slots.peek(entry.key)?.entries.first { $0.variant.hasSameBytes(as: entry.variant) }
        if let current, current.generation != entry.generation { return Change(outcome: .invalidated) }
        return remove(variant: entry.variant, of: entry.key, at: now)
    }

    mutating func clear(partition: String, at now: Moment) -> Change {
        invalidations.record(partition: partition)
        let isConcerned = { (key: EntryKey) in key.partition.hasSameBytes(as: partition) }
        queue.clear(partition: partition, at: now.monotonic)
        return Change(wake: .now, released: forget(where: isConcerned))
    }

    mutating func clearAll(at now: Moment) -> Change {
        invalidations.recordAll()
        queue.clearAll(at: now.monotonic)
        markStale { _ in true }
        touches = [:]
        return Change(wake: .now, released: slots.removeAll())
    }

    /// Memory forgets these keys; the disk is asked when they are wanted again.
    private mutating func forget(where isConcerned: (EntryKey) -> Bool) -> [Slot] {
        markStale(where: isConcerned)
        touches = touches.filter { !isConcerned($0.key) }
        return slots.keys.filter(isConcerned).compactMap { slots.remove($0) }
    }

    private func wake(before: Duration?, _ now: Moment) -> Wake {
        if writesThrough || queue.count >= limits.batchKeys || queue.cost >= limits.batchBytes { return .now }
        return before == nil ? .by(now.monotonic + limits.dirtyAge) : .none
    }

    /// Without a disk the queue only gathers removals for its return, and not without end.
    private mutating func forgetDetailsIfNeeded(_ now: Moment) {
        if disk == .none && queue.count > limits.removalsWithoutDisk { queue.clearAll(at: now.monotonic) }
    }

    // MARK: Writing

    /// What the writer should write next. Until `commit` or `fail` readers see it on top of what the disk says.
    mutating func takeBatch() -> WriteBackQueue.Batch {
        let batch = queue.takeBatch(keys: limits.batchKeys, bytes: limits.batchBytes)
        inFlight = InFlight(batch)
        return batch
    }

    /// Notes that the batch is on disk. `refused` are the keys whose puts came too late: they had been invalidated.
    mutating func commit(refused: [EntryKey]) -> [Slot] {
        // A read that began before the commit may have missed what nobody lays over it any more.
        let written = inFlight
        markStale { written.concerns($0) }
        inFlight = InFlight()
        return refused.compactMap { slots.remove($0) }
    }

    /// The database was busy for too long: the batch is tried again.
    mutating func postpone(_ batch: WriteBackQueue.Batch, at now: Moment) {
        let written = inFlight
        markStale { written.concerns($0) }
        inFlight = InFlight()
        queue.restore(batch, at: now.monotonic)
    }

    /// There is no disk any more. Memory goes on alone; what the disk holds of keys that changed is to be removed when it is back.
    ///
    /// - Returns: bodies that nobody will store, and slots that named them.
    mutating func loseDisk(_ failed: WriteBackQueue.Batch?, at now: Moment) -> (bodies: [BodyFile], released: [Slot]) {
        var bodies: [BodyFile] = []
        var released: [Slot] = []
        var pending = failed?.writes ?? []
        let rest = queue.takeBatch(keys: .max, bytes: .max)
        pending += rest.writes
        for (key, write) in pending {
            let files = write.puts.compactMap { put in
                if case .file(let file) = put.entry.body.storage { file } else { nil }
            }
            guard !files.isEmpty else { continue }
            bodies += files
            if let slot = slots.remove(key) { released.append(slot) }
        }
        queue.restore(rest, at: now.monotonic)
        queue.becomeRemovals(with: failed ?? WriteBackQueue.Batch(), limit: limits.removalsWithoutDisk, at: now.monotonic)
        inFlight = InFlight()
        touches = [:]
        touchesSince = nil
        markStale { _ in true }
        disk = .none
        forgetDiskKeys()
        return (bodies, released)
    }

    /// The database was replaced by an empty one: what was in its files is gone.
    mutating func replaceDisk() -> [Slot] {
        forgetDiskKeys()
        markStale { _ in true }
        let concerned = slots.keys.filter { key in
            slots.peek(key)?.entries.contains { $0.body.data == nil } ?? false
        }
        return concerned.compactMap { slots.remove($0) }
    }

    /// The disk is there (again). Slots made without it cannot say any more that they are complete, nor need they be dropped: what the disk
    /// had of their keys is removed first.
    mutating func gainDisk() { disk = .open }

    // MARK: Others

    /// Changes that other processes made, in their order.
    mutating func apply(_ foreign: [ForeignChange], upTo position: Int64) -> [Slot] {
        sharedPosition = max(sharedPosition, position)
        var released: [Slot] = []
        for change in foreign {
            let isConcerned = { (key: EntryKey) in change.concerns(key) }
            if let key = change.key {
                markStale(key)
                if let slot = slots.remove(key) { released.append(slot) }
            } else {
                released += forget(where: isConcerned)
            }
            guard change.isInvalidation else { continue }
            if let key = change.key {
                invalidations.record(key)
            } else if let partition = change.partition {
                invalidations.record(partition: partition)
            } else {
                invalidations.recordAll()
            }
            queue.dropTicketedPuts(where: isConcerned)
            inFlight.dropTicketedPuts(where: isConcerned)
        }
        return released
    }

    /// The log does not reach back far enough to tell what others did.
    mutating func forgetEverythingKnown(upTo position: Int64) -> [Slot] {
        sharedPosition = max(sharedPosition, position)
        invalidations.recordAll()
        queue.dropTicketedPuts { _ in true }
        inFlight.dropTicketedPuts { _ in true }
        markStale { _ in true }
        return slots.removeAll()
    }
}

/// The batch that is being written, as readers see it.
struct InFlight {
    private(set) var writes: [EntryKey: WriteBackQueue.Write] = [:]
    private var clearsAll = false
    private var clearedPartitions: Set<ExactString> = []

    init() {}

    init(_ batch: WriteBackQueue.Batch) {
        clearsAll = batch.clearsAll
        clearedPartitions = batch.clearedPartitions
        writes = Dictionary(batch.writes.map { ($0.key, $0.write) }, uniquingKeysWith: { $1 })
    }

    func clears(_ partition: String) -> Bool { clearsAll || clearedPartitions.contains(ExactString(partition)) }

    func concerns(_ key: EntryKey) -> Bool { writes[key] != nil || clears(key.partition) }

    mutating func dropTicketedPuts(where isConcerned: (EntryKey) -> Bool) {
        for key in writes.keys where isConcerned(key) { writes[key]?.puts.removeAll { $0.ticket != nil } }
    }
}
