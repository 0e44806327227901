/// The changes of a transaction beside its rows: those of the totals, and the files of bodies that come and go with it. Pure.
struct TransactionLedger: Sendable, Equatable {
    var bytes = 0
    var entries = 0
    /// Bodies to be removed once it is committed.
    var unlinked: [String] = []
    /// Bodies that were moved to their place for it, to be removed again if it fails.
    var adopted: [String] = []
}
