import GRDB

/// The removal of what earlier processes left behind: rows whose files are gone, files that no row names, bodies that were never complete.
struct OrphanSweep: Sendable {
    let entries: EntryTable
    let transactions: EntryTransactions

    private var folder: StoreFolder { transactions.folder }

    /// Brings files and rows in line. Files go once they are so old, in seconds: younger ones may be those of a process that is at work.
    func sweep(olderThan age: Int, temporaryOlderThan temporaryAge: Int, now: Int64) throws(DatabaseFailure) {
        let seconds = Int(now / 1000)
        folder.sweepTemporaries(olderThan: temporaryAge, now: seconds)
        let rows = try transactions.connections.read { try entries.rows(where: "file IS NOT NULL", in: $0) }
        let orphans = rows.filter { !hasFile($0) }
        if !orphans.isEmpty { try remove(orphans) }
        folder.sweepBodies(except: Set(rows.compactMap(\.file)), olderThan: age, now: seconds)
    }

    /// Removes rows whose files are gone.
    ///
    /// Between the look and this transaction another process may have removed such a row, and stored something else under its id: the row
    /// counts as what it is now, and only if its file is still missing.
    func remove(_ rows: [EntryRowSummary]) throws(DatabaseFailure) {
        _ = try transactions.run { database, ledger in
            for row in rows {
                let found = try entries.rows(where: "id = ? AND file IS NOT NULL", [.integer(row.id)], in: database)
                for current in found where !hasFile(current) { try entries.delete(current, in: database, &ledger) }
            }
        }
    }

    private func hasFile(_ row: EntryRowSummary) -> Bool {
        guard let name = row.file, let path = folder.bodyPath(name) else { return false }
        return Files.status(of: path) != nil
    }
}
