import FoundationEssentials
import GRDB

extension StoreDatabase {
    struct Written: Sendable {
        /// Keys whose puts came too late.
        var refused: [EntryKey] = []
        /// Of the whole store, afterwards.
        var bytes = 0
        var entries = 0
    }

    /// What a transaction changes beside the rows.
    struct Ledger {
        var bytes = 0
        var entries = 0
        /// Bodies to be removed once it is committed.
        var unlinked: [String] = []
        /// Bodies that were moved to their place for it.
        var adopted: [String] = []
    }

    /// Writes a batch in one transaction: bodies first get their place, then come the rows, and what they replace is removed last.
    func write(_ batch: WriteBackQueue.Batch, now: Int64) throws(DatabaseFailure) -> Written {
        var ledger = Ledger()
        do throws(DatabaseFailure) {
            let written = try write { database in
                try write(batch, database, &ledger, now: now)
            }
            folder.removeBodies(ledger.unlinked)
            return written
        } catch {
            folder.removeBodies(ledger.adopted)
            throw error
        }
    }

    private func write(_ batch: WriteBackQueue.Batch, _ database: Database, _ ledger: inout Ledger, now: Int64) throws -> Written {
        var refused: [EntryKey] = []
        if batch.clearsAll {
            try clearAll(database, &ledger)
        } else {
            for partition in batch.clearedPartitions { try clear(stored(partition: partition.text), database, &ledger) }
        }
        for (key, write) in batch.writes {
            if try !apply(stored(write, of: key), to: stored(key), database, &ledger, now: now) { refused.append(key) }
        }
        if options.isShared { try trimChanges(database) }
        let totals = try settle(ledger, database)
        return Written(refused: refused, bytes: totals.bytes, entries: totals.entries)
    }

    /// The counters change in the same transaction as what they count.
    func settle(_ ledger: Ledger, _ database: Database) throws -> (bytes: Int, entries: Int) {
        if ledger.bytes != 0 || ledger.entries != 0 {
            try database.run(
                "UPDATE total SET bytes = bytes + ?, entries = entries + ? WHERE id = 1",
                [.integer(Int64(ledger.bytes)), .integer(Int64(ledger.entries))])
        }
        return try totals(database)
    }

    func totals(_ database: Database) throws -> (bytes: Int, entries: Int) {
        var found: (bytes: Int, entries: Int)?
        try database.run("SELECT bytes, entries FROM total WHERE id = 1") { row in found = (try row.size(0), try row.size(1)) }
        guard let found else { throw DatabaseFailure.corrupt("the totals are missing") }
        return found
    }

    /// Counts everything, in one statement and so at one moment.
    /// - Throws: `corrupt` when the counters say something else.
    func checkTotals() throws(DatabaseFailure) -> (bytes: Int, entries: Int) {
        try readers.read { database in
            var found: (bytes: Int, entries: Int)?
            try database.run(
                "SELECT bytes, entries, (SELECT coalesce(sum(cost), 0) FROM entry), (SELECT count(*) FROM entry) FROM total WHERE id = 1"
            ) { row in
                guard row.integer(0) == row.integer(2), row.integer(1) == row.integer(3) else { return }
                found = (try row.size(0), try row.size(1))
            }
            guard let found else { throw DatabaseFailure.corrupt("the totals are not those of the entries") }
            return found
        }
    }

    // MARK: Keys

    /// - Returns: false when a put was refused.
    private func apply(
        _ write: WriteBackQueue.Write, to key: EntryKey, _ database: Database, _ ledger: inout Ledger, now: Int64
    ) throws -> Bool {
        let hash = keyHash(key)
        var rows = try rows(of: key, hash, database)
        if write.deletesKey {
            for row in rows { try delete(row, database, &ledger) }
            rows = []
        }
        for variant in write.deletedVariants {
            guard let index = rows.firstIndex(where: { $0.variant.hasSameBytes(as: variant) }) else { continue }
            try delete(rows.remove(at: index), database, &ledger)
        }
        for update in write.updates { try apply(update, to: key, rows, database, &ledger) }
        var isComplete = true
        for put in write.puts {
            if options.isShared, let ticket = put.ticket, try isInvalidated(key, since: ticket.shared, database) {
                isComplete = false
                continue
            }
            if let index = rows.firstIndex(where: { $0.variant.hasSameBytes(as: put.entry.variant) }) {
                try delete(rows.remove(at: index), database, &ledger)
            }
            while rows.count >= options.variantsPerKey { try delete(rows.removeFirst(), database, &ledger) }
            do {
                try insert(put.entry, hash, database, &ledger, now: now)
            } catch let error as StoreError where error.code == .missing {
                // Somebody removed the body's file before it was at its place.
                isComplete = false
            }
        }
        if options.isShared { try note(partition: key.partition, name: key.name, isInvalidation: write.isInvalidation, database) }
        return isComplete
    }

    /// What has to be known of a row to replace it.
    struct RowSummary {
        var id: Int64
        var variant: String
        var cost: Int
        var file: String?
        var generation: Int64
        var metadataCount: Int
    }

    /// The oldest first.
    private func rows(of key: EntryKey, _ hash: Int64, _ database: Database) throws -> [RowSummary] {
        var rows: [RowSummary] = []
        try database.run(
            """
            SELECT id, variant, cost, file, generation, length(metadata) FROM entry
            WHERE partition = ? AND key_hash = ? AND key = ? ORDER BY id
            """, [.bytes(key.partition), .integer(hash), .bytes(key.name)]
        ) { row in
            rows.append(
                RowSummary(
                    id: row.integer(0), variant: row.string(1), cost: try row.size(2), file: row.isNull(3) ? nil : row.string(3),
                    generation: row.integer(4), metadataCount: try row.size(5)))
        }
        return rows
    }

    func delete(_ row: RowSummary, _ database: Database, _ ledger: inout Ledger) throws {
        try database.run("DELETE FROM entry WHERE id = ?", [.integer(row.id)])
        if let file = row.file {
            ledger.unlinked.append(file)
        } else {
            try database.run("DELETE FROM body WHERE id = ?", [.integer(row.id)])
        }
        ledger.bytes -= row.cost
        ledger.entries -= 1
    }

    private func insert(_ entry: Entry, _ hash: Int64, _ database: Database, _ ledger: inout Ledger, now: Int64) throws {
        let rowCost = entry.key.byteCount + entry.variant.utf8.count + entry.metadata.count + Schema.overheadPerEntry
        let kind: BodyKind
        let checksum: Int64
        let cost: Int
        var name = SQLValue.null
        // What is sealed is a little longer than what it holds, and was settled before.
        let storage = try options.sealing == nil ? settledStorage(entry.body.storage) : entry.body.storage
        switch storage {
        case .data(let data):
            kind = .row
            checksum = BodyKind.checksum(data)
            cost = rowCost + data.count
        case .file(let file):
            kind = .file
            checksum = file.checksum
            cost = rowCost + (file.layout.fileSize + 4095) / 4096 * 4096
            name = .bytes(try place(file, &ledger))
        }
        try database.run(
            """
            INSERT INTO entry(partition, key_hash, key, variant, metadata, fresh_until, revalidatable, stored_at, generation,
                body_kind, body_length, body_checksum, file, checksum, cost, last_used)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .bytes(entry.key.partition), .integer(hash), .bytes(entry.key.name), .bytes(entry.variant), .blob(entry.metadata),
                entry.freshUntil.map { .integer($0.milliseconds) } ?? .null, .integer(entry.isRevalidatable ? 1 : 0),
                .integer(entry.storedAt.milliseconds), .integer(entry.generation), .integer(kind.rawValue),
                .integer(Int64(entry.body.length)),
                .integer(checksum), name, .integer(rowChecksum(entry, bodyChecksum: checksum)), .integer(Int64(cost)), .integer(now),
            ])
        if case .data(let data) = storage {
            try database.run("INSERT OR REPLACE INTO body(id, data) VALUES(?, ?)", [.integer(database.lastInsertedRowID), .blob(data)])
        }
        ledger.bytes += cost
        ledger.entries += 1
    }

    /// Bytes that came in one piece and are too many for a row get a file after all.
    func settledStorage(_ storage: EntryBody.Storage) throws -> EntryBody.Storage {
        guard case .data(let data) = storage, data.count > options.inlineBodyBytes else { return storage }
        let limits = BodyWriter.Limits(inline: options.inlineBodyBytes, maximum: data.count)
        let writer = BodyWriter(limits: limits, sealing: options.sealing) { [folder] () throws(StoreError) in try folder.makeTemporaryFile()
        }
        try writer.write(data)
        return try writer.finish().storage
    }

    /// - Returns: the name of the body at its place.
    private func place(_ file: BodyFile, _ ledger: inout Ledger) throws -> String {
        if let temporary = file.temporaryFile {
            let name = try folder.adopt(temporary)
            ledger.adopted.append(name)
            guard let path = folder.bodyPath(name) else { throw DatabaseFailure.unavailable("a body without a place") }
            file.settle(at: path, name: name)
        }
        // An entry that was read and is put again under another key would share its file with the first.
        guard let name = file.takeName() else { throw DatabaseFailure.unavailable("a body that is stored already") }
        return name
    }

    private func apply(_ update: MetadataUpdate, to key: EntryKey, _ rows: [RowSummary], _ database: Database, _ ledger: inout Ledger)
        throws
    {
        guard let row = rows.first(where: { $0.generation == update.generation }) else { return }
        var found: (entry: Entry, bodyChecksum: Int64)?
        try database.run("SELECT \(Self.entryColumns) FROM entry e WHERE e.id = ?", [.integer(row.id)]) { columns in
            // The body is not read for it: what matters of it is in the row.
            let length = try columns.size(10)
            let body = EntryBody(storage: .file(BodyFile(stored: "", layout: FrameLayout(length: length), checksum: columns.integer(11))))
            let entry = Entry(
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
                .integer(rowChecksum(found.entry, bodyChecksum: found.bodyChecksum)), .integer(Int64(difference)), .integer(row.id),
            ])
        ledger.bytes += difference
    }

    // MARK: Clearing

    private func clearAll(_ database: Database, _ ledger: inout Ledger) throws {
        try database.run("SELECT file FROM entry WHERE file IS NOT NULL") { ledger.unlinked.append($0.string(0)) }
        try database.run("DELETE FROM body")
        try database.run("DELETE FROM entry")
        try database.run("UPDATE total SET bytes = 0, entries = 0 WHERE id = 1")
        if options.isShared { try note(partition: nil, name: nil, isInvalidation: true, database) }
    }

    private func clear(_ partition: String, _ database: Database, _ ledger: inout Ledger) throws {
        try database.run("SELECT sum(cost), count(*) FROM entry WHERE partition = ?", [.bytes(partition)]) { row in
            ledger.bytes -= try row.size(0)
            ledger.entries -= try row.size(1)
        }
        try database.run("SELECT file FROM entry WHERE partition = ? AND file IS NOT NULL", [.bytes(partition)]) {
            ledger.unlinked.append($0.string(0))
        }
        try database.run("DELETE FROM body WHERE id IN (SELECT id FROM entry WHERE partition = ?)", [.bytes(partition)])
        try database.run("DELETE FROM entry WHERE partition = ?", [.bytes(partition)])
        if options.isShared { try note(partition: partition, name: nil, isInvalidation: true, database) }
    }

    // MARK: The log of changes, in shared mode

    private func note(partition: String?, name: String?, isInvalidation: Bool, _ database: Database) throws {
        try database.run(
            "INSERT INTO change(origin, partition, name, invalidation) VALUES(?, ?, ?, ?)",
            [
                .integer(origin), partition.map { .bytes($0) } ?? .null, name.map { .bytes($0) } ?? .null, .integer(isInvalidation ? 1 : 0),
            ])
    }

    /// Whether anybody else invalidated the key after the log stood at `position`. Own invalidations were judged in memory.
    private func isInvalidated(_ key: EntryKey, since position: Int64, _ database: Database) throws -> Bool {
        let oldest = try database.integer("SELECT min(position) FROM change") ?? 0
        if oldest > position + 1 { return true }
        return try database.integer(
            """
            SELECT 1 FROM change WHERE position > ? AND origin <> ? AND invalidation = 1
                AND (partition IS NULL OR partition = ? AND (name IS NULL OR name = ?)) LIMIT 1
            """, [.integer(position), .integer(origin), .bytes(key.partition), .bytes(key.name)]) != nil
    }

    /// The log keeps the last few thousand changes.
    private func trimChanges(_ database: Database) throws {
        let newest = try database.integer("SELECT max(position) FROM change") ?? 0
        let oldest = try database.integer("SELECT min(position) FROM change") ?? 0
        guard newest - oldest > 2 * Self.changesKept else { return }
        try database.run("DELETE FROM change WHERE position <= ?", [.integer(newest - Self.changesKept)])
    }

    private static let changesKept: Int64 = 4096
}
