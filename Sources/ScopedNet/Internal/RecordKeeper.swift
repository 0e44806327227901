internal import Persistence
import SystemSupport

/// A table in memory that a store keeps, too: written in the background, by one writer at a time, and read when it is made. No call of the table
/// waits for the disk.
protocol RecordKeeper<Key>: AnyObject, Sendable {
    associatedtype Key: Hashable & Sendable

    /// Nil: memory alone.
    var store: Store? { get }
    var namespace: String { get }

    /// The ledger, under the lock that guards the table: what is changed and what is noted belong together.
    func withLedger<Result>(_ body: (inout RecordLedger<Key>) -> Result) -> Result
    /// Puts what was kept into the table, once. What was changed meanwhile is newer.
    func restore(_ records: [StoreRecord])
    /// What is on disk after this: records, and the names of those that are gone. Of everything, only the first counts.
    func records(for due: RecordLedger<Key>.Due) -> (kept: [StoreRecord], gone: [String])
}

extension RecordKeeper {
    /// Reads what was kept. A disk that is not there is asked again before the next writing.
    func load() async {
        guard let store, !withLedger({ $0.isLoaded }), let records = try? await store.records(in: namespace) else { return }
        restore(records)
    }

    /// Returns at once. The writing is queued at the store in the same moment, so that whatever is asked of the store later, and the end of the
    /// process, comes after it.
    func save() {
        guard let store else { return withLedger { $0.clear() } }
        if withLedger({ $0.queue() }) { write(to: store) }
    }

    private func write(to store: Store) {
        let writing = Writing(keeper: self)
        store.changeRecords(in: namespace) { stored in
            writing.begin(stored)
        } then: { error in
            writing.end(error)
        }
    }

    /// Returns when all that has changed so far is on disk.
    func waitUntilSaved() async throws(StoreError) {
        guard let store else { return withLedger { $0.clear() } }
        let error: StoreError? = await withCheckedContinuation { continuation in
            // In one step: a writing that fails at once must not be over before anybody waits for it.
            let step = withLedger { ledger in
                let isFresh = ledger.queue()
                let waiter = RecordLedger<Key>.Waiter(target: ledger.noted) { continuation.resume(returning: $0) }
                return (isFresh: isFresh, waits: ledger.wait(waiter))
            }
            if step.isFresh { write(to: store) }
            if !step.waits { continuation.resume(returning: nil) }
        }
        if let error { throw error }
    }
}

/// One writing of what a ledger owes.
private final class Writing<Keeper: RecordKeeper>: Sendable {
    private let keeper: Keeper
    private let due = Lock<RecordLedger<Keeper.Key>.Due?>(nil)

    init(keeper: Keeper) { self.keeper = keeper }

    /// On the store's thread.
    func begin(_ stored: () -> [StoreRecord]?) -> RecordChange {
        // A disk that has come back holds what was kept before.
        if !keeper.withLedger({ $0.isLoaded }), let records = stored() { keeper.restore(records) }
        guard let taken = keeper.withLedger({ $0.beginWriting() }) else { return RecordChange() }
        due.withLock { $0 = taken }
        let (kept, gone) = keeper.records(for: taken)
        return RecordChange(replacesAll: taken == .everything, kept: kept, gone: taken == .everything ? [] : gone)
    }

    func end(_ error: StoreError?) {
        let unwritten = error == nil ? nil : due.withLock { $0 }
        let waiters = keeper.withLedger { $0.endWriting(unwritten, isWritten: error == nil) }
        for waiter in waiters { waiter.resume(error) }
    }
}
