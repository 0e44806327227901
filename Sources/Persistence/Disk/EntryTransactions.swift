import GRDB

/// The transactions that change entries, with the totals that change in them and the files of bodies that come and go with them.
struct EntryTransactions: Sendable {
    let connections: DatabaseConnections
    let folder: StoreFolder

    /// Runs a transaction. Files that rows lose are removed once it is committed; those that were moved to their place for it, when it fails.
    ///
    /// - Returns: what `body` returned, and the totals of the store afterwards.
    func run<Result>(
        _ body: (Database, inout TransactionLedger) throws -> Result
    ) throws(DatabaseFailure) -> (result: Result, totals: StoreTotals) {
        var ledger = TransactionLedger()
        do throws(DatabaseFailure) {
            let outcome = try connections.write { database in
                let result = try body(database, &ledger)
                return (result, try StoreTotals.settle(ledger, in: database))
            }
            folder.removeBodies(ledger.unlinked)
            return outcome
        } catch {
            folder.removeBodies(ledger.adopted)
            throw error
        }
    }
}
