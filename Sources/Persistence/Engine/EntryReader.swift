import SystemSupport

/// The lookup of entries: in memory, then on disk.
final class EntryReader: Sendable {
    private let memory: StoreMemory
    private let handle: DatabaseHandle
    private let writeBack: WriteBack
    /// Nil in a private store: nobody else changes anything.
    private let catchUp: CatchUp?

    /// A lookup that the key changes under is tried again this often, and then answers with what it has.
    private static let attempts = 3

    init(memory: StoreMemory, handle: DatabaseHandle, writeBack: WriteBack, catchUp: CatchUp?) {
        self.memory = memory
        self.handle = handle
        self.writeBack = writeBack
        self.catchUp = catchUp
    }

    /// The answer of memory, or nil when only the disk can tell. Calls no database: in shared mode memory answers as long as nobody has
    /// committed anything since the last look.
    func cached(_ key: EntryKey) -> StoreLookup? {
        guard let catchUp else { return remembered(key) }
        switch handle.snapshot {
        case .none: return remembered(key)
        case .open(let database, _): return catchUp.isUnchanged(database) ? remembered(key) : nil
        case .opening, .closed: return nil
        }
    }

    private func remembered(_ key: EntryKey) -> StoreLookup? {
        let now = memory.now
        let (answer, wake, ticket, hasDisk) = memory.withLock { state in
            let (answer, wake) = state.lookup(key, at: now)
            return (answer, wake, state.ticket, state.disk != .none)
        }
        writeBack.act(on: wake)
        if !hasDisk { writeBack.retryIfDue() }
        guard case .entries(let entries) = answer else { return nil }
        return StoreLookup(entries: entries, ticket: ticket)
    }

    /// The entries in memory of a key that the disk may have more of; nil when there are none.
    func known(_ key: EntryKey) -> StoreLookup? {
        if catchUp != nil { return nil }
        return memory.withLock { state in
            let entries = state.known(key)
            return entries.isEmpty ? nil : StoreLookup(entries: entries, ticket: state.ticket, isComplete: false)
        }
    }

    /// The answer to a lookup that the disk has not answered in time: what this process has just put, else nothing.
    func missed(_ key: EntryKey) -> StoreLookup {
        known(key) ?? memory.withLock { StoreLookup(entries: [], ticket: $0.ticket, isComplete: false) }
    }

    /// Memory, then the disk, on this thread.
    func lookup(_ key: EntryKey) -> StoreLookup {
        for attempt in 1...Self.attempts {
            if catchUp?.run() ?? true, let found = remembered(key) { return found }
            guard let database = handle.wait() else { continue }
            let (version, ticket) = memory.withLock { ($0.beginLoad(key), $0.ticket) }
            guard let rows = load(key, from: database) else {
                let entries = memory.withLock { state in
                    state.abandonLoad(key)
                    return state.overlay([], key)
                }
                return StoreLookup(entries: entries, ticket: ticket)
            }
            let now = memory.now
            let end = memory.withLock {
                $0.endLoad(
                    key, version: version, rows: rows.entries, lastUsed: rows.lastUsed, at: now, isFinal: attempt == Self.attempts)
            }
            writeBack.act(on: end.wake)
            if let entries = end.entries { return StoreLookup(entries: entries, ticket: ticket) }
        }
        return memory.withLock { StoreLookup(entries: $0.overlay([], key), ticket: $0.ticket) }
    }

    private func load(_ key: EntryKey, from database: StoreDatabase) -> (entries: [StoreEntry], lastUsed: Int64)? {
        do throws(DatabaseFailure) {
            return try database.load(key)
        } catch {
            writeBack.report(error, of: database)
            return nil
        }
    }
}
