import FoundationEssentials
import GRDB

/// The line between memory, which has entries as they are, and the disk, which has them sealed. Without a ``StoreSealing`` nothing changes here.
extension StoreDatabase {
    /// The name rows have for a key.
    func stored(_ key: EntryKey) -> EntryKey { options.sealing?.hidden(key) ?? key }

    func stored(partition: String) -> String { options.sealing?.hidden(partition, "partition") ?? partition }

    func stored(_ write: WriteBackQueue.Write, of key: EntryKey) throws -> WriteBackQueue.Write {
        guard let sealing = options.sealing else { return write }
        var stored = write
        stored.deletedVariants = write.deletedVariants.map { sealing.hidden($0, "variant") }
        stored.updates = try write.updates.map { update in
            var sealed = update
            sealed.variant = sealing.hidden(update.variant, "variant")
            let names = SealedNames(key, update.variant, update.metadata)
            sealed.metadata = try sealing.seal(names.encoded, context: SealingContext.metadata(update.generation))
            return sealed
        }
        stored.puts = try write.puts.map { put in
            var sealed = put
            sealed.entry = try self.stored(put.entry, sealing)
            return sealed
        }
        return stored
    }

    private func stored(_ entry: Entry, _ sealing: any StoreSealing) throws -> Entry {
        let names = SealedNames(entry.key, entry.variant, entry.metadata)
        var body = entry.body
        // A body for a file is sealed frame by frame, where it is written.
        body = EntryBody(storage: try settledStorage(body.storage))
        if let data = body.data {
            body = EntryBody(storage: .data(try sealing.seal(data, context: SealingContext.body(entry.generation))))
        }
        return Entry(
            key: sealing.hidden(entry.key), variant: sealing.hidden(entry.variant, "variant"),
            metadata: try sealing.seal(names.encoded, context: SealingContext.metadata(entry.generation)), body: body,
            storedAt: entry.storedAt, freshUntil: entry.freshUntil, isRevalidatable: entry.isRevalidatable, generation: entry.generation)
    }

    /// Opens what a row says. `key` is that of the row; nil when that is to be found out.
    ///
    /// Throws `corrupt` when it does not open, or is another's.
    func opened(_ entry: Entry, of key: EntryKey?) throws -> Entry {
        guard let sealing = options.sealing else { return entry }
        let names = try names(entry.metadata, generation: entry.generation, sealing)
        guard key == nil || key == names.key else { throw DatabaseFailure.corrupt("a row is another entry's") }
        var body = entry.body
        if let data = body.data {
            body = EntryBody(
                storage: .data(
                    try opening { () throws(StoreError) in
                        try sealing.open(data, context: SealingContext.body(entry.generation))
                    }))
        }
        return Entry(
            key: names.key, variant: names.variant, metadata: names.metadata, body: body, storedAt: entry.storedAt,
            freshUntil: entry.freshUntil, isRevalidatable: entry.isRevalidatable, generation: entry.generation)
    }

    private func names(_ metadata: Data, generation: Int64, _ sealing: any StoreSealing) throws -> SealedNames {
        let text = try opening { () throws(StoreError) in try sealing.open(metadata, context: SealingContext.metadata(generation)) }
        guard let names = SealedNames(decoding: text) else { throw DatabaseFailure.corrupt("a row without names") }
        return names
    }

    /// A listing of a store whose key is not known shows what is there.
    func openedNames(_ key: EntryKey, _ variant: String, _ metadata: Data, generation: Int64) throws -> SealedNames {
        guard let sealing = options.sealing else { return SealedNames(key, variant, metadata) }
        return try names(metadata, generation: generation, sealing)
    }

    func stored(_ record: StoreRecord, in namespace: String) throws -> StoreRecord {
        guard let sealing = options.sealing else { return record }
        var sealed = record
        sealed.data = try sealing.seal(record.data, context: SealingContext.record(record.name, in: namespace))
        return sealed
    }

    func opened(_ record: StoreRecord, in namespace: String) throws -> StoreRecord {
        guard let sealing = options.sealing else { return record }
        var opened = record
        opened.data = try opening { () throws(StoreError) in
            try sealing.open(record.data, context: SealingContext.record(record.name, in: namespace))
        }
        return opened
    }

    private func opening(_ body: () throws(StoreError) -> Data) throws -> Data {
        do throws(StoreError) { return try body() } catch { throw DatabaseFailure.corrupt(error.message) }
    }

    // MARK: Whose key

    /// Checks that the store was written with this key, or without one; a new one is marked.
    ///
    /// - Throws: `corrupt` when it was not, so that it is replaced.
    static func claim(_ database: Database, for sealing: (any StoreSealing)?) throws {
        try database.inTransaction(.immediate) {
            let found = try fingerprint(of: database)
            guard found != sealing?.fingerprint else { return .rollback }
            let rows = try database.integer("SELECT (SELECT count(*) FROM entry) + (SELECT count(*) FROM record)") ?? 0
            guard rows == 0, let sealing else { throw DatabaseFailure.corrupt("the store was written with another key, or without one") }
            try database.run(
                "INSERT INTO record(namespace, name, data, checksum) VALUES(?, ?, ?, 0)",
                [.bytes(markNamespace), .bytes("key"), .blob(sealing.fingerprint)])
            return .commit
        }
    }

    func isSealed() throws(DatabaseFailure) -> Bool { try readers.read { try Self.fingerprint(of: $0) != nil } }

    /// Nil for a store that is not sealed.
    static func fingerprint(of database: Database) throws -> Data? {
        var found: Data?
        try database.run("SELECT data FROM record WHERE namespace = ? AND name = ?", [.bytes(markNamespace), .bytes("key")]) { row in
            found = row.data(0)
        }
        return found
    }

    /// How many bytes more than its content each frame of a body file has.
    static func frameOverhead(of fingerprint: Data?) -> Int {
        guard let fingerprint, fingerprint.count == 20 else { return 0 }
        return fingerprint.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private static let markNamespace = "\u{0}sealing"
}
