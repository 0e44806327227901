import FoundationEssentials

/// The form of an entry in its row: the columns, the checksum over them, and the way back to an entry that was checked.
struct EntryRowFormat: Sendable {
    /// Of the hashes of keys and the checksums; nobody outside can make keys that collide.
    let seed: UInt64
    let folder: StoreFolder
    let sealing: (any StoreSealing)?
    /// The bytes that sealing adds to a frame of a body file; known where the key is not, too.
    let frameOverhead: Int
    /// The threads that read bodies that are files, for callers who wait for a limited time.
    let bodyThreads: DiskThreads?

    /// The columns of an entry, in the order `entry(of:key:data:)` reads them.
    static let columns = """
        e.id, e.partition, e.key, e.variant, e.metadata, e.fresh_until, e.revalidatable, e.stored_at, e.generation, \
        e.body_kind, e.body_length, e.body_checksum, e.file, e.checksum, e.last_used
        """

    /// The hash by which a key, as rows have it, is found.
    func hash(_ key: EntryKey) -> Int64 { key.hash(seed: seed) }

    /// Makes the entry of a row. `data` has its body, and is called only for a body that is a row.
    ///
    /// - Throws: `corrupt` when the row is not as it was written.
    func entry(of row: SQLRow, key: EntryKey, data: () -> Data) throws -> StoreEntry {
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
            let layout = FrameLayout(length: Int(length), overhead: frameOverhead)
            storage = .file(BodyFile(stored: path, layout: layout, checksum: bodyChecksum, sealing: sealing, disk: bodyThreads))
        default:
            throw DatabaseFailure.corrupt("a body of an unknown kind")
        }
        let entry = StoreEntry(
            key: key, variant: row.string(3), metadata: row.data(4), body: EntryBody(storage: storage),
            storedAt: Date(milliseconds: row.integer(7)),
            freshUntil: row.isNull(5) ? nil : Date(milliseconds: row.integer(5)), isRevalidatable: row.integer(6) != 0,
            generation: row.integer(8))
        guard checksum(of: entry, bodyChecksum: bodyChecksum) == row.integer(13) else { throw DatabaseFailure.corrupt("a row is damaged") }
        return entry
    }

    /// The checksum over all of a row but what changes with use. With the key in it: a row under another key is a damaged one.
    func checksum(of entry: StoreEntry, bodyChecksum: Int64) -> Int64 {
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

/// The place of a body: in the database or in a file.
enum BodyKind: Int64 {
    case row = 0
    case file = 1

    static func checksum(_ data: Data) -> Int64 { data.withUnsafeBytes { Int64(bitPattern: XXHash64.hash($0, seed: 0)) } }
}
