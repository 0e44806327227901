import FoundationEssentials
import GRDB

@testable import Persistence

/// The tables of a store in memory, without a store around them. Bodies that are files are in a folder of the test's own.
final class TableLab {
    let folder = TestFolder()
    let queue: DatabaseQueue
    let format: EntryRowFormat
    let entries: EntryTable
    let sealing: RowSealing
    /// Of the transactions that were run by ``change(_:)``.
    private(set) var ledger = TransactionLedger()

    static let inlineBytes = 1000

    init(sealing: (any StoreSealing)? = nil) throws {
        queue = try DatabaseQueue()
        try folder.folder.prepare()
        try queue.writeWithoutTransaction { try Schema.establish($0, contentVersion: 0, seed: 7) }
        self.sealing = RowSealing(sealing: sealing)
        format = EntryRowFormat(
            seed: 7, folder: folder.folder, sealing: sealing, frameOverhead: sealing?.overhead ?? 0, bodyThreads: nil)
        let bodies = BodyPlacement(folder: folder.folder, inlineBytes: Self.inlineBytes, sealing: sealing)
        entries = EntryTable(format: format, bodies: bodies)
    }

    deinit { try? queue.close() }

    /// Runs a transaction, and brings the totals in line.
    func change(_ body: (Database, inout TransactionLedger) throws -> Void) throws {
        var ledger = TransactionLedger()
        defer { self.ledger = ledger }
        try queue.write { database in
            try body(database, &ledger)
            _ = try StoreTotals.settle(ledger, in: database)
        }
    }

    /// Stores entries of the key's name, used at the times given.
    func insert(_ list: [StoreEntry], used: Int64 = 1) throws {
        try change { database, ledger in
            for entry in list { try entries.insert(entry, in: database, &ledger, now: used) }
        }
    }

    func load(_ key: EntryKey) throws -> [StoreEntry] { try queue.read { try entries.load(key, in: $0).entries } }

    func totals() throws -> StoreTotals { try queue.read { try StoreTotals(of: $0) } }

    /// The names of the keys that are there, in their order.
    func names() throws -> [String] {
        try queue.read { try EntryListing(sealing: sealing).list(partition: nil, after: 0, limit: 1000, in: $0).map(\.key.name) }
    }

    func execute(_ statement: String) throws { try queue.writeWithoutTransaction { try $0.execute(sql: statement) } }

    /// Moves bytes to a complete body, as a batch does.
    func storage(_ count: Int) throws -> EntryBody.Storage { try entries.bodies.settled(.data(Data(count: count))) }
}

/// An entry of a few bytes, unless said otherwise.
func makeEntry(
    _ name: String, partition: String = "", variant: String = "", metadata: Data = Data([1]), body: EntryBody.Storage = .data(Data([2])),
    storedAt: Int64 = 1, freshUntil: Int64? = nil, isRevalidatable: Bool = true, generation: Int64 = 1
) -> StoreEntry {
    StoreEntry(
        key: EntryKey(name, partition: partition), variant: variant, metadata: metadata, body: EntryBody(storage: body),
        storedAt: Date(milliseconds: storedAt), freshUntil: freshUntil.map { Date(milliseconds: $0) }, isRevalidatable: isRevalidatable,
        generation: generation)
}

/// Runs what is to find damage, and says whether it did.
func findsDamage(_ body: () throws -> Void) -> Bool {
    do {
        try body()
        return false
    } catch {
        if case .corrupt = DatabaseFailure(error) { return true }
        return false
    }
}

extension TestFolder {
    /// The database of a store, open without the store.
    func database(isShared: Bool = false, sealing: (any StoreSealing)? = nil) throws -> StoreDatabase {
        let options = StoreDatabase.Options(
            isShared: isShared, contentVersion: 0, secureDelete: false, variantsPerKey: 4, inlineBodyBytes: TableLab.inlineBytes,
            sealing: sealing, frameOverhead: sealing?.overhead ?? 0)
        return try StoreDatabase(folder, options)
    }
}

/// A batch of puts.
func makeBatch(_ entries: [StoreEntry], ticket: PutTicket? = nil) -> WriteBackQueue.Batch {
    var batch = WriteBackQueue.Batch()
    batch.writes = entries.map { entry in
        (key: entry.key, write: WriteBackQueue.Write(puts: [WriteBackQueue.Put(entry: entry, ticket: ticket)]))
    }
    return batch
}
