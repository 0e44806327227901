import GRDB

/// The bytes and entries of a store on disk.
///
/// Counters in the table `total` keep them, and change in the same transaction as what they count: the sum over all rows would take too long to
/// be asked for after each batch.
struct StoreTotals: Sendable, Equatable {
    var bytes = 0
    var entries = 0
}

extension StoreTotals {
    /// The totals as the counters say.
    ///
    /// - Throws: `corrupt` when there are none, or they cannot be.
    init(of database: Database) throws {
        var found: StoreTotals?
        try database.run("SELECT bytes, entries FROM total WHERE id = 1") { row in
            found = StoreTotals(bytes: try row.size(0), entries: try row.size(1))
        }
        guard let found else { throw DatabaseFailure.corrupt("the totals are missing") }
        self = found
    }

    /// Counts everything, in one statement and so at one moment.
    ///
    /// - Throws: `corrupt` when the counters say something else.
    init(counting database: Database) throws {
        var found: StoreTotals?
        try database.run(
            "SELECT bytes, entries, (SELECT coalesce(sum(cost), 0) FROM entry), (SELECT count(*) FROM entry) FROM total WHERE id = 1"
        ) { row in
            guard row.integer(0) == row.integer(2), row.integer(1) == row.integer(3) else { return }
            found = StoreTotals(bytes: try row.size(0), entries: try row.size(1))
        }
        guard let found else { throw DatabaseFailure.corrupt("the totals are not those of the entries") }
        self = found
    }

    /// Brings the counters in line with the rows that a transaction changed, within that transaction.
    ///
    /// - Returns: the totals afterwards.
    static func settle(_ ledger: TransactionLedger, in database: Database) throws -> StoreTotals {
        if ledger.bytes != 0 || ledger.entries != 0 {
            try database.run(
                "UPDATE total SET bytes = bytes + ?, entries = entries + ? WHERE id = 1",
                [.integer(Int64(ledger.bytes)), .integer(Int64(ledger.entries))])
        }
        return try StoreTotals(of: database)
    }

    /// Sets the counters to nothing, where every row goes at once.
    static func clear(in database: Database) throws { try database.run("UPDATE total SET bytes = 0, entries = 0 WHERE id = 1") }
}
