import FoundationEssentials

/// What is still to be written, gathered by key: later changes replace earlier ones, and a clear drops what it makes pointless. Pure.
///
/// Within a batch clears come first: what is in the queue beside one was put after it.
struct WriteBackQueue: Sendable {
    /// The changes of one key.
    struct Write: Sendable {
        /// All variants on disk go first.
        var deletesKey = false
        /// Somebody asked for that; it is not merely the trace of a put that could not be kept.
        var isInvalidation = false
        /// Single variants that go.
        var deletedVariants: [String] = []
        var puts: [Put] = []
        var updates: [MetadataUpdate] = []

        /// What is left when `newer` follows this.
        mutating func append(_ newer: Write) {
            if newer.deletesKey {
                let isInvalidation = isInvalidation
                self = newer
                self.isInvalidation = newer.isInvalidation || isInvalidation
                return
            }
            isInvalidation = isInvalidation || newer.isInvalidation
            let replaced = newer.puts.map(\.entry.variant) + newer.deletedVariants
            puts.removeAll { put in replaced.contains { $0.hasSameBytes(as: put.entry.variant) } }
            updates.removeAll { update in replaced.contains { $0.hasSameBytes(as: update.variant) } }
            deletedVariants += newer.deletedVariants
            deletedVariants.removeAll { variant in newer.puts.contains { $0.entry.variant.hasSameBytes(as: variant) } }
            for update in newer.updates {
                if let index = puts.firstIndex(where: { $0.entry.generation == update.generation }) {
                    puts[index].entry = puts[index].entry.replacing(update)
                } else {
                    updates.removeAll { $0.generation == update.generation }
                    updates.append(update)
                }
            }
            puts += newer.puts
        }

        /// What readers see when these changes come on top of what the disk holds.
        func applied(to entries: [StoreEntry]) -> [StoreEntry] {
            var result = deletesKey ? [] : entries
            result.removeAll { entry in
                deletedVariants.contains { $0.hasSameBytes(as: entry.variant) }
                    || puts.contains { $0.entry.variant.hasSameBytes(as: entry.variant) }
            }
            for update in updates {
                guard let index = result.firstIndex(where: { $0.generation == update.generation }) else { continue }
                result[index] = result[index].replacing(update)
            }
            return result + puts.map(\.entry)
        }

        var cost: Int { puts.reduce(64) { $0 + $1.entry.memoryCost } + updates.reduce(0) { $0 + $1.metadata.count + 64 } }
    }

    struct Put: Sendable {
        var entry: StoreEntry
        /// Nil: stored whatever was invalidated meanwhile.
        var ticket: PutTicket?

        fileprivate var hasLostBody: Bool {
            if case .file(let file) = entry.body.storage { file.temporaryFile == nil } else { false }
        }
    }

    struct Batch: Sendable {
        var clearsAll = false
        var clearedPartitions: Set<ExactString> = []
        var writes: [(key: EntryKey, write: Write)] = []

        var isEmpty: Bool { !clearsAll && clearedPartitions.isEmpty && writes.isEmpty }
        /// Puts whose bodies were moved for a transaction that failed, and removed again.
        mutating func dropPlacedBodies() -> [EntryKey] {
            var keys: [EntryKey] = []
            for index in writes.indices where writes[index].write.puts.contains(where: \.hasLostBody) {
                writes[index].write.puts.removeAll(where: \.hasLostBody)
                keys.append(writes[index].key)
            }
            return keys
        }

        var hasInvalidations: Bool { clearsAll || !clearedPartitions.isEmpty || writes.contains { $0.write.isInvalidation } }
    }

    private var writes: [EntryKey: Write] = [:]
    /// Keys in the order of their first change; those that were dropped since are skipped.
    private var order: [EntryKey] = []
    private var head = 0
    private var clearsAll = false
    private var clearedPartitions: Set<ExactString> = []

    /// What the writes hold in memory.
    private(set) var cost = 0
    /// When the first of them came; nil when there is nothing.
    private(set) var oldest: Duration?
    private var dropped: [Put] = []

    init() {}

    private init(dropped: [Put]) { self.dropped = dropped }

    var isEmpty: Bool { writes.isEmpty && !clearsAll && clearedPartitions.isEmpty }
    var count: Int { writes.count }

    func write(for key: EntryKey) -> Write? { writes[key] }

    func forEachPut(_ body: (EntryKey) -> Void) {
        for (key, write) in writes where !write.puts.isEmpty { body(key) }
    }

    /// Whether something there may not be read from the disk any more.
    func clears(_ partition: String) -> Bool { clearsAll || clearedPartitions.contains(ExactString(partition)) }

    mutating func put(_ put: Put, at now: Duration) {
        change(put.entry.key, at: now) { write in
            let variant = put.entry.variant
            write.puts.removeAll { $0.entry.variant.hasSameBytes(as: variant) }
            write.updates.removeAll { $0.variant.hasSameBytes(as: variant) }
            write.deletedVariants.removeAll { $0.hasSameBytes(as: variant) }
            write.puts.append(put)
        }
    }

    mutating func update(_ update: MetadataUpdate, of key: EntryKey, at now: Duration) {
        change(key, at: now) { write in
            if let index = write.puts.firstIndex(where: { $0.entry.generation == update.generation }) {
                write.puts[index].entry = write.puts[index].entry.replacing(update)
                return
            }
            write.updates.removeAll { $0.generation == update.generation }
            write.updates.append(update)
        }
    }

    mutating func remove(_ key: EntryKey, isInvalidation: Bool, at now: Duration) {
        change(key, at: now) { write in
            write = Write(deletesKey: true, isInvalidation: isInvalidation || write.isInvalidation)
        }
    }

    mutating func remove(variant: String, of key: EntryKey, at now: Duration) {
        change(key, at: now) { write in
            write.puts.removeAll { $0.entry.variant.hasSameBytes(as: variant) }
            write.updates.removeAll { $0.variant.hasSameBytes(as: variant) }
            write.isInvalidation = true
            if !write.deletesKey { write.deletedVariants.append(variant) }
        }
    }

    mutating func clear(partition: String, at now: Duration) {
        for (key, write) in writes where key.partition.hasSameBytes(as: partition) {
            cost -= write.cost
            drop(write)
            writes[key] = nil
        }
        clearedPartitions.insert(ExactString(partition))
        noteChange(at: now)
    }

    mutating func clearAll(at now: Duration) {
        for write in writes.values { drop(write) }
        self = WriteBackQueue(dropped: dropped)
        clearsAll = true
        noteChange(at: now)
    }

    /// Puts with a ticket are dropped: the key was invalidated by somebody else. Other changes stay.
    mutating func dropTicketedPuts(where isConcerned: (EntryKey) -> Bool) {
        for (key, write) in writes where isConcerned(key) && write.puts.contains(where: { $0.ticket != nil }) {
            var changed = write
            changed.puts.removeAll { $0.ticket != nil }
            drop(write)
            cost += changed.cost - write.cost
            writes[key] = changed
        }
    }

    /// The oldest changes, up to this many keys and bytes (and at least one key).
    mutating func takeBatch(keys: Int, bytes: Int) -> Batch {
        var batch = Batch(clearsAll: clearsAll, clearedPartitions: clearedPartitions)
        clearsAll = false
        clearedPartitions = []
        var taken = 0
        while head < order.count, batch.writes.count < keys, taken < bytes {
            let key = order[head]
            head += 1
            guard let write = writes.removeValue(forKey: key) else { continue }
            taken += write.cost
            cost -= write.cost
            batch.writes.append((key, write))
        }
        if writes.isEmpty {
            order.removeAll(keepingCapacity: order.count < 4096)
            head = 0
            oldest = nil
        } else if head > 1024 && head > order.count / 2 {
            order.removeFirst(head)
            head = 0
        }
        return batch
    }

    /// A batch that could not be written yet goes back, in front of what came since.
    mutating func restore(_ batch: Batch, at now: Duration) {
        let newer = self
        self = WriteBackQueue(dropped: dropped)
        clearsAll = batch.clearsAll || newer.clearsAll
        clearedPartitions = batch.clearedPartitions.union(newer.clearedPartitions)
        for (key, write) in batch.writes where !newer.clears(key.partition) { change(key, at: now) { $0 = write } }
        for key in newer.order[newer.head...] {
            guard let write = newer.writes[key] else { continue }
            change(key, at: now) { $0.append(write) }
        }
        if !isEmpty { noteChange(at: newer.oldest ?? now) }
    }

    /// Everything becomes a removal: what cannot be written now must not be read later from what the disk still holds.
    /// Beyond `limit` keys it becomes one clear of all.
    mutating func becomeRemovals(with failed: Batch, limit: Int, at now: Duration) {
        let former = self
        self = WriteBackQueue(dropped: dropped)
        clearsAll = former.clearsAll || failed.clearsAll
        clearedPartitions = former.clearedPartitions.union(failed.clearedPartitions)
        if failed.writes.count + former.writes.count > limit {
            clearAll(at: now)
            return
        }
        for (key, write) in failed.writes { remove(key, isInvalidation: write.isInvalidation, at: now) }
        for (key, write) in former.writes { remove(key, isInvalidation: write.isInvalidation, at: now) }
        if !isEmpty { noteChange(at: now) }
    }

    /// Puts that will not be written any more, and whose bodies are files. Whoever lets go of such a body last removes its file: not under a
    /// lock, nor on a caller's thread.
    mutating func takeDropped() -> [Put] {
        guard !dropped.isEmpty else { return [] }
        defer { dropped = [] }
        return dropped
    }

    private mutating func drop(_ write: Write) {
        for put in write.puts where put.entry.body.data == nil { dropped.append(put) }
    }

    private mutating func change(_ key: EntryKey, at now: Duration, _ body: (inout Write) -> Void) {
        let former = writes.removeValue(forKey: key)
        if let former { cost -= former.cost } else { order.append(key) }
        var write = former ?? Write()
        body(&write)
        if let former { drop(former) }
        cost += write.cost
        writes[key] = write
        noteChange(at: now)
    }

    private mutating func noteChange(at now: Duration) {
        if oldest == nil { oldest = now }
    }
}
