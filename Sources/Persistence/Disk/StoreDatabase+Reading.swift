import FoundationEssentials
import GRDB

extension StoreDatabase {
    /// The columns of an entry, in the order `entry(of:in:)` reads them.
    static let entryColumns = """
        e.id, e.partition, e.key, e.variant, e.metadata, e.fresh_until, e.revalidatable, e.stored_at, e.generation, \
        e.body_kind, e.body_length, e.body_checksum, e.file, e.checksum, e.last_used
        """

    /// Made once: a lookup is a few microseconds, and this would be one of them.
    private static let loadStatement = """
        SELECT \(entryColumns), b.data FROM entry e LEFT JOIN body b ON b.id = e.id WHERE e.partition = ? AND e.key_hash = ? AND e.key = ?
        """

    /// All variants of a key, the newest last, and when they were last used.
    func load(_ key: EntryKey) throws(DatabaseFailure) -> (entries: [Entry], lastUsed: Int64) {
        let stored = stored(key)
        let hash = keyHash(stored)
        return try readers.read { database in
            var entries: [Entry] = []
            var lastUsed: Int64 = 0
            try database.run(
                Self.loadStatement, [.bytes(stored.partition), .integer(hash), .bytes(stored.name)]
            ) { row in
                entries.append(try opened(entry(of: row, key: stored, data: { row.data(15) }), of: key))
                lastUsed = max(lastUsed, row.integer(14))
            }
            if entries.count > 1 { entries.sort { $0.storedAt < $1.storedAt } }
            return (entries, lastUsed)
        }
    }

    /// The keys of all entries.
    func keyFilter() throws(DatabaseFailure) -> KeyFilter {
        try readers.read { database in
            var filter = KeyFilter(seed: seed)
            try database.run("SELECT key_hash FROM entry", []) { filter.insert(hash: $0.integer(0)) }
            return filter
        }
    }

    /// - Throws: `corrupt` when the row is not as it was written.
    func entry(of row: SQLRow, key: EntryKey, data: () -> Data) throws -> Entry {
        let length = row.integer(10)
        let bodyChecksum = row.integer(11)
        let storage: EntryBody.Storage
        switch row.integer(9) {
        case BodyKind.row.rawValue:
            let body = data()
            guard body.count == length, BodyKind.checksum(body) == bodyChecksum else { throw DatabaseFailure.corrupt("a body is damaged") }
            storage = .data(body)
        case BodyKind.file.rawValue:
            guard length >= 0, length <= 1 << 48, let path = folder.bodyPath(row.string(12)) else {
                throw DatabaseFailure.corrupt("a row names a body that cannot be")
            }
            let layout = FrameLayout(length: Int(length), overhead: options.frameOverhead)
            storage = .file(BodyFile(stored: path, layout: layout, checksum: bodyChecksum, sealing: options.sealing, disk: options.bodies))
        default:
            throw DatabaseFailure.corrupt("a body of an unknown kind")
        }
        let entry = Entry(
            key: key, variant: row.string(3), metadata: row.data(4), body: EntryBody(storage: storage),
            storedAt: Date(milliseconds: row.integer(7)),
            freshUntil: row.isNull(5) ? nil : Date(milliseconds: row.integer(5)), isRevalidatable: row.integer(6) != 0,
            generation: row.integer(8))
        guard rowChecksum(entry, bodyChecksum: bodyChecksum) == row.integer(13) else { throw DatabaseFailure.corrupt("a row is damaged") }
        return entry
    }

    /// Over all of a row but what changes with use. With the key in it: a row under another key is a damaged one.
    func rowChecksum(_ entry: Entry, bodyChecksum: Int64) -> Int64 {
        var sum = Checksum(seed: seed)
        sum.add(entry.key.partition)
        sum.add(entry.key.name)
        sum.add(entry.variant)
        sum.add(entry.metadata)
        sum.add(entry.freshUntil?.milliseconds ?? -1)
        sum.add(entry.isRevalidatable ? 1 : 0)
        sum.add(entry.storedAt.milliseconds)
        sum.add(entry.generation)
        sum.add(Int64(entry.body.length))
        sum.add(bodyChecksum)
        return sum.stored
    }
}

/// Where a body is.
enum BodyKind: Int64 {
    case row = 0
    case file = 1

    static func checksum(_ data: Data) -> Int64 { data.withUnsafeBytes { Int64(bitPattern: XXHash64.hash($0, seed: 0)) } }
}
