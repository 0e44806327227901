import FoundationEssentials
import GRDB

/// The row of an entry, as far as its removal needs it.
struct EntryRowSummary: Sendable, Equatable {
    var id: Int64
    var variant = ""
    var cost: Int
    var file: String?
    var generation: Int64 = 0
    var metadataCount = 0
}

/// The statements on the tables of entries and bodies. Keys, variants and metadata are as rows have them (``RowSealing``).
///
/// A change of rows notes in a ``TransactionLedger`` what that means for the totals and the files of bodies.
struct EntryTable: Sendable {
    let format: EntryRowFormat
    let bodies: BodyPlacement

    // MARK: Reading

    /// Made once: a lookup is a few microseconds, and this would be one of them.
    private static let loadStatement = """
        SELECT \(EntryRowFormat.columns), b.data FROM entry e LEFT JOIN body b ON b.id = e.id
        WHERE e.partition = ? AND e.key_hash = ? AND e.key = ?
        """

    /// Reads all variants of a key, the newest last, and when they were last used.
    ///
    /// - Throws: `corrupt` when a row is not as it was written.
    func load(_ key: EntryKey, in database: Database) throws -> (entries: [StoreEntry], lastUsed: Int64) {
        var entries: [StoreEntry] = []
        var lastUsed: Int64 = 0
        try database.run(Self.loadStatement, [.bytes(key.partition), .integer(format.hash(key)), .bytes(key.name)]) { row in
            entries.append(try format.entry(of: row, key: key, data: { row.data(15) }))
            lastUsed = max(lastUsed, row.integer(14))
        }
        if entries.count > 1 { entries.sort { $0.storedAt < $1.storedAt } }
        return (entries, lastUsed)
    }

    /// Reads the rows of a key, the oldest first.
    func rows(of key: EntryKey, in database: Database) throws -> [EntryRowSummary] {
        var rows: [EntryRowSummary] = []
        try database.run(
            """
            SELECT id, variant, cost, file, generation, length(metadata) FROM entry
            WHERE partition = ? AND key_hash = ? AND key = ? ORDER BY id
            """, [.bytes(key.partition), .integer(format.hash(key)), .bytes(key.name)]
        ) { row in
            rows.append(
                EntryRowSummary(
                    id: row.integer(0), variant: row.string(1), cost: try row.size(2), file: row.isNull(3) ? nil : row.string(3),
                    generation: row.integer(4), metadataCount: try row.size(5)))
        }
        return rows
    }

    /// Reads the rows for which a condition holds, without their variants.
    func rows(where condition: String, _ values: [SQLValue] = [], in database: Database) throws -> [EntryRowSummary] {
        var rows: [EntryRowSummary] = []
        try database.run("SELECT id, cost, file FROM entry WHERE \(condition)", values) { row in
            rows.append(EntryRowSummary(id: row.integer(0), cost: try row.size(1), file: row.isNull(2) ? nil : row.string(2)))
        }
        return rows
    }

    // MARK: Writing

    /// Inserts an entry, and its body where that is a row.
    ///
    /// - Throws: `StoreError` with `missing` when the file of its body is gone.
    func insert(_ entry: StoreEntry, in database: Database, _ ledger: inout TransactionLedger, now: Int64) throws {
        let rowCost = entry.key.byteCount + entry.variant.utf8.count + entry.metadata.count + Schema.overheadPerEntry
        let kind: BodyKind
        let checksum: Int64
        let cost: Int
        var name = SQLValue.null
        // A sealed body is a little longer than what it holds, and was settled before.
        let storage = try format.sealing == nil ? bodies.settled(entry.body.storage) : entry.body.storage
        switch storage {
        case .data(let data):
            kind = .row
            checksum = BodyKind.checksum(data)
            cost = rowCost + data.count
        case .file(let file):
            kind = .file
            checksum = file.checksum
            cost = rowCost + (file.layout.fileSize + 4095) / 4096 * 4096
            name = .bytes(try bodies.place(file, &ledger))
        }
        try database.run(
            """
            INSERT INTO entry(partition, key_hash, key, variant, metadata, fresh_until, revalidatable, stored_at, generation,
                body_kind, body_length, body_checksum, file, checksum, cost, last_used)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .bytes(entry.key.partition), .integer(format.hash(entry.key)), .bytes(entry.key.name), .bytes(entry.variant),
                .blob(entry.metadata), entry.freshUntil.map { .integer($0.milliseconds) } ?? .null, .integer(entry.isRevalidatable ? 1 : 0),
                .integer(entry.storedAt.milliseconds), .integer(entry.generation), .integer(kind.rawValue),
                .integer(Int64(entry.body.length)), .integer(checksum), name,
                .integer(format.checksum(of: entry, bodyChecksum: checksum)), .integer(Int64(cost)), .integer(now),
            ])
        if case .data(let data) = storage {
            try database.run("INSERT OR REPLACE INTO body(id, data) VALUES(?, ?)", [.integer(database.lastInsertedRowID), .blob(data)])
        }
        ledger.bytes += cost
        ledger.entries += 1
    }

    /// Gives the row of a key new metadata. The body is neither read nor written.
    func update(
        _ row: EntryRowSummary, of key: EntryKey, with update: MetadataUpdate, in database: Database, _ ledger: inout TransactionLedger
    )
        throws
    {
        var found: (entry: StoreEntry, bodyChecksum: Int64)?
        try database.run("SELECT \(EntryRowFormat.columns) FROM entry e WHERE e.id = ?", [.integer(row.id)]) { columns in
            // The body is not read for it: what matters of it is in the row.
            let length = try columns.size(10)
            let body = EntryBody(storage: .file(BodyFile(stored: "", layout: FrameLayout(length: length), checksum: columns.integer(11))))
            let entry = StoreEntry(
                key: key, variant: columns.string(3), metadata: update.metadata, body: body,
                storedAt: Date(milliseconds: columns.integer(7)),
                freshUntil: update.freshUntil, isRevalidatable: update.isRevalidatable, generation: update.generation)
            found = (entry, columns.integer(11))
        }
        guard let found else { return }
        let difference = update.metadata.count - row.metadataCount
        try database.run(
            "UPDATE entry SET metadata = ?, fresh_until = ?, revalidatable = ?, checksum = ?, cost = cost + ? WHERE id = ?",
            [
                .blob(update.metadata), update.freshUntil.map { .integer($0.milliseconds) } ?? .null,
                .integer(update.isRevalidatable ? 1 : 0),
                .integer(format.checksum(of: found.entry, bodyChecksum: found.bodyChecksum)), .integer(Int64(difference)), .integer(row.id),
            ])
        ledger.bytes += difference
    }

    /// Notes when a key was used last.
    func touch(_ key: EntryKey, at time: Int64, in database: Database) throws {
        try database.run(
            "UPDATE entry SET last_used = ? WHERE partition = ? AND key_hash = ? AND key = ?",
            [.integer(time), .bytes(key.partition), .integer(format.hash(key)), .bytes(key.name)])
    }

    // MARK: Removing

    /// Removes a row and its body; a body that is a file only once the transaction is committed.
    func delete(_ row: EntryRowSummary, in database: Database, _ ledger: inout TransactionLedger) throws {
        try database.run("DELETE FROM entry WHERE id = ?", [.integer(row.id)])
        if let file = row.file {
            ledger.unlinked.append(file)
        } else {
            try database.run("DELETE FROM body WHERE id = ?", [.integer(row.id)])
        }
        ledger.bytes -= row.cost
        ledger.entries -= 1
    }

    /// Removes every row, and sets the totals to nothing.
    func deleteAll(in database: Database, _ ledger: inout TransactionLedger) throws {
        try database.run("SELECT file FROM entry WHERE file IS NOT NULL") { ledger.unlinked.append($0.string(0)) }
        try database.run("DELETE FROM body")
        try database.run("DELETE FROM entry")
        try StoreTotals.clear(in: database)
    }

    /// Removes the rows of a partition.
    func deleteAll(of partition: String, in database: Database, _ ledger: inout TransactionLedger) throws {
        try database.run("SELECT sum(cost), count(*) FROM entry WHERE partition = ?", [.bytes(partition)]) { row in
            ledger.bytes -= try row.size(0)
            ledger.entries -= try row.size(1)
        }
        try database.run("SELECT file FROM entry WHERE partition = ? AND file IS NOT NULL", [.bytes(partition)]) {
            ledger.unlinked.append($0.string(0))
        }
        try database.run("DELETE FROM body WHERE id IN (SELECT id FROM entry WHERE partition = ?)", [.bytes(partition)])
        try database.run("DELETE FROM entry WHERE partition = ?", [.bytes(partition)])
    }
}
