internal import Persistence

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

    /// Returns at once. What changes while it is written is the next writer's.
    func save() {
        guard let store else { return withLedger { $0.clear() } }
        withLedger { ledger in
            if ledger.writer == nil { beginWriting(to: store, &ledger) }
        }
    }

    private func beginWriting(to store: Store, _ ledger: inout RecordLedger<Key>) {
        ledger.writer = ledger.isEmpty ? nil : Task { await self.write(to: store) }
    }

    /// Returns when all that has changed so far is on disk.
    func waitUntilSaved() async throws(StoreError) {
        save()
        let target = withLedger { $0.noted }
        while let writer = withLedger({ $0.saved < target ? $0.writer : nil }) {
            if let error = await writer.value { throw error }
        }
    }

    private func write(to store: Store) async -> StoreError? {
        // A disk that has come back holds what was kept before.
        await load()
        var failure: StoreError?
        let due = withLedger { $0.take() }
        if let due {
            do throws(StoreError) { try await write(due, to: store) } catch { failure = error }
        }
        withLedger { ledger in
            if failure == nil {
                ledger.paid()
                return beginWriting(to: store, &ledger)
            }
            // With the next change or flush.
            if let due { ledger.note(due) }
            ledger.writer = nil
        }
        return failure
    }

    private func write(_ due: RecordLedger<Key>.Due, to store: Store) async throws(StoreError) {
        let (kept, gone) = records(for: due)
        if due == .everything { try await store.removeRecords(nil, in: namespace) }
        if !kept.isEmpty { try await store.setRecords(kept, in: namespace) }
        if !gone.isEmpty, due != .everything { try await store.removeRecords(gone, in: namespace) }
    }
}
