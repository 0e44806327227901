import FoundationEssentials
import GRDB

extension StoreDatabase {
    /// Notes when keys were used last.
    func writeTouches(_ touches: [EntryKey: Int64]) throws(DatabaseFailure) {
        try write { database in
            for (plain, time) in touches {
                let key = stored(plain)
                try database.run(
                    "UPDATE entry SET last_used = ? WHERE partition = ? AND key_hash = ? AND key = ?",
                    [.integer(time), .bytes(key.partition), .integer(keyHash(key)), .bytes(key.name)])
            }
        }
    }

    struct Evicted: Sendable {
        var entries = 0
        /// Of the whole store, afterwards.
        var bytes = 0
    }

    /// One batch of an eviction: entries that are of no use any more, then those used longest ago, until `bytes` are free or the batch is
    /// full.
    func evict(bytes: Int, now: Int64) throws(DatabaseFailure) -> Evicted {
        var ledger = Ledger()
        let evicted = try write { database in
            // Uses "in the future" were noted before the clock was set back; they would never be the oldest.
            try database.run("UPDATE entry SET last_used = ?1 WHERE last_used > ?1 + 60000", [.integer(now)])
            var rows = try candidates(
                "revalidatable = 0 AND fresh_until IS NOT NULL AND fresh_until < ? ORDER BY fresh_until", [.integer(now)], database)
            try delete(rows, until: bytes, database, &ledger)
            if -ledger.bytes < bytes && -ledger.entries < EvictionPolicy.batch {
                rows = try candidates("1 ORDER BY last_used", [], database)
                try delete(rows, until: bytes, database, &ledger)
            }
            let entries = -ledger.entries
            return Evicted(entries: entries, bytes: try settle(ledger, database).bytes)
        }
        folder.removeBodies(ledger.unlinked)
        return evicted
    }

    private func candidates(_ condition: String, _ values: [SQLValue], _ database: Database) throws -> [RowSummary] {
        var rows: [RowSummary] = []
        try database.run("SELECT id, cost, file FROM entry WHERE \(condition) LIMIT \(EvictionPolicy.batch)", values) { row in
            rows.append(
                RowSummary(
                    id: row.integer(0), variant: "", cost: try row.size(1), file: row.isNull(2) ? nil : row.string(2), generation: 0,
                    metadataCount: 0))
        }
        return rows
    }

    private func delete(_ rows: [RowSummary], until bytes: Int, _ database: Database, _ ledger: inout Ledger) throws {
        for row in rows {
            guard -ledger.bytes < bytes, -ledger.entries < EvictionPolicy.batch else { return }
            try delete(row, database, &ledger)
        }
    }

    /// Gives back the memory of page caches.
    func trim() {
        readers.trim()
        writer.releaseMemory()
    }

    /// Gives pages nobody uses back to the file system, 16 MiB a transaction.
    func vacuum() throws(DatabaseFailure) {
        do {
            try writer.writeWithoutTransaction { database in
                var last = Int64.max
                while let pages = try database.integer("PRAGMA freelist_count"), pages > 0, pages < last {
                    last = pages
                    try database.run("PRAGMA incremental_vacuum(2048)")
                }
            }
        } catch {
            throw DatabaseFailure(error)
        }
    }

    /// Bytes and entries of the store, as the counters say.
    func readTotals() throws(DatabaseFailure) -> (bytes: Int, entries: Int) { try readers.read { try totals($0) } }

    /// Brings files and rows in line: rows without their file go, and files without a row once they are `age` seconds old.
    func sweep(olderThan age: Int, temporaryOlderThan temporaryAge: Int, now: Int64) throws(DatabaseFailure) {
        let seconds = Int(now / 1000)
        folder.sweepTemporaries(olderThan: temporaryAge, now: seconds)
        var named: Set<String> = []
        var orphans: [RowSummary] = []
        try readers.read { database in
            try database.run("SELECT id, cost, file FROM entry WHERE file IS NOT NULL") { row in
                let name = row.string(2)
                named.insert(name)
                if let path = folder.bodyPath(name), Files.status(of: path) != nil { return }
                orphans.append(
                    RowSummary(id: row.integer(0), variant: "", cost: try row.size(1), file: name, generation: 0, metadataCount: 0))
            }
        }
        if !orphans.isEmpty { try removeOrphans(orphans) }
        folder.sweepBodies(except: named, olderThan: age, now: seconds)
    }

    /// Removes rows whose files are gone.
    ///
    /// Between the look and this transaction another process may have removed such a row, and stored something else under its id: the row
    /// counts as what it is now, and only if its file is still missing.
    func removeOrphans(_ rows: [RowSummary]) throws(DatabaseFailure) {
        try write { database in
            var ledger = Ledger()
            for row in rows {
                var current: RowSummary?
                try database.run("SELECT cost, file FROM entry WHERE id = ? AND file IS NOT NULL", [.integer(row.id)]) { columns in
                    current = RowSummary(
                        id: row.id, variant: "", cost: try columns.size(0), file: columns.string(1), generation: 0, metadataCount: 0)
                }
                guard let current, let name = current.file else { continue }
                if let path = folder.bodyPath(name), Files.status(of: path) != nil { continue }
                try delete(current, database, &ledger)
            }
            _ = try settle(ledger, database)
        }
    }

    // MARK: Looking at everything

    /// The next entries by id, without their bodies.
    func list(partition: String?, after id: Int64, limit: Int) throws(DatabaseFailure) -> [EntrySummary] {
        try readers.read { database in
            var result: [EntrySummary] = []
            let condition = partition == nil ? "1" : "e.partition = ?3"
            var values: [SQLValue] = [.integer(id), .integer(Int64(limit))]
            if let partition { values.append(.bytes(stored(partition: partition))) }
            try database.run(
                "SELECT \(Self.entryColumns), e.cost FROM entry e WHERE e.id > ?1 AND \(condition) ORDER BY e.id LIMIT ?2", values
            ) { row in
                let names = try openedNames(
                    EntryKey(row.string(2), partition: row.string(1)), row.string(3), row.data(4), generation: row.integer(8))
                result.append(
                    EntrySummary(
                        id: row.integer(0), key: names.key, variant: names.variant, metadata: names.metadata,
                        bodyLength: Int(clamping: row.integer(10)), isFile: row.integer(9) == BodyKind.file.rawValue,
                        storedAt: Date(milliseconds: row.integer(7)), lastUsed: Date(milliseconds: row.integer(14)),
                        freshUntil: row.isNull(5) ? nil : Date(milliseconds: row.integer(5)), cost: Int(clamping: row.integer(15))))
            }
            return result
        }
    }

    /// Reads everything: SQLite's own check, every row with its body, every file, and the totals.
    func verify() throws(DatabaseFailure) -> VerificationReport {
        var report = VerificationReport()
        do throws(DatabaseFailure) {
            let answer = try readers.read { database in
                var answer = ""
                try database.run("SELECT * FROM pragma_quick_check(1)") { row in answer = row.string(0) }
                return answer
            }
            if answer != "ok" { report.problems.append("the database: \(answer)") }
            var last: Int64 = 0
            while let next = try verifyEntries(after: last, &report) { last = next }
            let totals = try readTotals()
            if totals.bytes != report.bytes || totals.entries != report.entries {
                report.problems.append(
                    "the totals say \(totals.entries) entries and \(totals.bytes) bytes, there are \(report.entries) and \(report.bytes)")
            }
        } catch DatabaseFailure.corrupt(let message) {
            report.problems.append(message)
        }
        return report
    }

    /// A few entries at a time: no read transaction lasts.
    /// - Returns: where to go on; nil at the end.
    private func verifyEntries(after id: Int64, _ report: inout VerificationReport) throws(DatabaseFailure) -> Int64? {
        var last: Int64?
        var bytes = 0
        var entries: [Entry] = []
        try readers.read { database in
            try database.run(
                """
                SELECT \(Self.entryColumns), b.data, e.cost FROM entry e LEFT JOIN body b ON b.id = e.id
                WHERE e.id > ? ORDER BY e.id LIMIT 64
                """, [.integer(id)]
            ) { row in
                last = row.integer(0)
                bytes += try row.size(16)
                let key = EntryKey(row.string(2), partition: row.string(1))
                entries.append(try entry(of: row, key: key, data: { row.data(15) }))
            }
        }
        report.bytes += bytes
        report.entries += entries.count
        for entry in entries where entry.body.data == nil {
            do throws(StoreError) {
                try entry.body.makeReader().check()
            } catch {
                report.problems.append("the body of \(entry.key): \(error)")
            }
        }
        return last
    }
}
