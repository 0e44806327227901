import GRDB

/// The choice of entries that have to go, and their removal, a batch at a time.
struct EntryEviction: Sendable {
    let entries: EntryTable

    /// Removes entries that are of no use any more, then those used longest ago, until `bytes` are free or the batch is full.
    func evict(bytes: Int, now: Int64, in database: Database, _ ledger: inout TransactionLedger) throws {
        // Uses "in the future" were noted before the clock was set back; they would never be the oldest.
        try database.run("UPDATE entry SET last_used = ?1 WHERE last_used > ?1 + 60000", [.integer(now)])
        let stale = try candidates(
            "revalidatable = 0 AND fresh_until IS NOT NULL AND fresh_until < ? ORDER BY fresh_until", [.integer(now)], in: database)
        try delete(stale, until: bytes, in: database, &ledger)
        guard wantsMore(bytes, ledger) else { return }
        try delete(candidates("1 ORDER BY last_used", in: database), until: bytes, in: database, &ledger)
    }

    private func candidates(_ condition: String, _ values: [SQLValue] = [], in database: Database) throws -> [EntryRowSummary] {
        try entries.rows(where: "\(condition) LIMIT \(EvictionPolicy.batch)", values, in: database)
    }

    private func delete(_ rows: [EntryRowSummary], until bytes: Int, in database: Database, _ ledger: inout TransactionLedger) throws {
        for row in rows {
            guard wantsMore(bytes, ledger) else { return }
            try entries.delete(row, in: database, &ledger)
        }
    }

    private func wantsMore(_ bytes: Int, _ ledger: TransactionLedger) -> Bool {
        -ledger.bytes < bytes && -ledger.entries < EvictionPolicy.batch
    }
}
