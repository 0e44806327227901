import CleanSlate
import FoundationEssentials
import GRDB
import Glibc
import Testing

@testable import Persistence

/// The way of a batch of changes into the tables.
@Suite(.leavesNothing) struct BatchWriterTests {
    private let lab: TableLab

    init() throws { lab = try TableLab() }

    /// - Returns: the keys that were refused.
    @discardableResult
    private func write(_ batch: WriteBackQueue.Batch, _ log: ChangeLog? = nil, variants: Int = 2) throws -> [EntryKey] {
        let writer = BatchWriter(entries: lab.entries, sealing: lab.sealing, log: log, variantsPerKey: variants)
        var refused: [EntryKey] = []
        try lab.change { database, ledger in refused = try writer.write(batch, in: database, &ledger, now: 1) }
        return refused
    }

    private func batch(_ name: String, _ write: WriteBackQueue.Write) -> WriteBackQueue.Batch {
        WriteBackQueue.Batch(writes: [(key: EntryKey(name), write: write)])
    }

    @Test func clearsComeBeforeWhatWasPut() throws {
        try write(makeBatch([makeEntry("a", partition: "p"), makeEntry("b", partition: "q")]))
        var second = makeBatch([makeEntry("c", partition: "p")])
        second.clearedPartitions = [ExactString("p")]
        try write(second)
        #expect(try lab.names() == ["b", "c"])
        var third = makeBatch([makeEntry("d")])
        third.clearsAll = true
        try write(third)
        #expect(try lab.names() == ["d"])
        #expect(try lab.queue.read { try StoreTotals(counting: $0) }.entries == 1)
    }

    @Test func aPutReplacesItsVariantAlone() throws {
        try write(makeBatch([makeEntry("a", variant: "x", storedAt: 1), makeEntry("a", variant: "y", storedAt: 2)]))
        try write(makeBatch([makeEntry("a", variant: "x", metadata: Data([9]), storedAt: 3)]))
        let found = try lab.load(EntryKey("a"))
        #expect(found.map(\.variant) == ["y", "x"] && found.last?.metadata == Data([9]))
    }

    @Test func theOldestVariantsGoBeyondTheLimit() throws {
        for variant in ["1", "2", "3"] { try write(makeBatch([makeEntry("a", variant: variant, storedAt: Int64(variant) ?? 0)])) }
        #expect(try lab.load(EntryKey("a")).map(\.variant) == ["2", "3"])
    }

    @Test func removalsComeBeforePuts() throws {
        try write(makeBatch([makeEntry("a", variant: "x"), makeEntry("a", variant: "y")]))
        try write(batch("a", WriteBackQueue.Write(deletedVariants: ["x", "never"])))
        #expect(try lab.load(EntryKey("a")).map(\.variant) == ["y"])
        try write(
            batch("a", WriteBackQueue.Write(deletesKey: true, puts: [WriteBackQueue.Put(entry: makeEntry("a", variant: "z"))])))
        #expect(try lab.load(EntryKey("a")).map(\.variant) == ["z"])
    }

    @Test func anUpdateIsForItsGenerationAlone() throws {
        try write(makeBatch([makeEntry("a", generation: 1)]))
        for generation in [Int64(2), 1] {
            let update = MetadataUpdate(
                variant: "", generation: generation, metadata: Data([UInt8(generation)] + [0]), freshUntil: nil, isRevalidatable: true)
            try write(batch("a", WriteBackQueue.Write(updates: [update])))
            #expect(try lab.load(EntryKey("a")).first?.metadata == (generation == 1 ? Data([1, 0]) : Data([1])))
        }
    }

    @Test func othersInvalidationsRefuseTicketsFromBefore() throws {
        let (mine, other) = (ChangeLog(origin: 1, hidesNames: false), ChangeLog(origin: 2, hidesNames: false))
        try lab.queue.write { try other.note(partition: "", name: "a", isInvalidation: true, in: $0) }
        let entries = [makeEntry("a"), makeEntry("b")]
        #expect(try write(makeBatch(entries, ticket: PutTicket(position: 0, shared: 0)), mine) == [EntryKey("a")])
        #expect(try lab.names() == ["b"])
        #expect(try write(makeBatch(entries, ticket: PutTicket(position: 0, shared: 1)), mine).isEmpty)
        #expect(try lab.names().sorted() == ["a", "b"])
    }

    @Test func onlyASharedStoreTellsWhatItChanged() throws {
        var batch = makeBatch([makeEntry("a")])
        batch.clearedPartitions = [ExactString("p")]
        batch.writes.append((key: EntryKey("b"), write: WriteBackQueue.Write(deletesKey: true, isInvalidation: true)))
        try write(batch)
        #expect(try lab.queue.read { try ChangeLog.position(in: $0) } == 0)
        try write(batch, ChangeLog(origin: 1, hidesNames: false))
        let other = ChangeLog(origin: 2, hidesNames: false)
        let changes = try #require(try lab.queue.read { try other.changes(after: 0, in: $0).changes })
        #expect(changes.map(\.partition) == ["p", "", ""])
        #expect(changes.map(\.name) == [nil, "a", "b"])
        #expect(changes.map(\.isInvalidation) == [true, false, true])
    }

    @Test func aPutWhoseFileIsGoneIsRefused() throws {
        let lost = makeEntry("lost", body: try lab.storage(5000))
        for name in lab.folder.temporaries { unlink("\(lab.folder.folder.temporary)/\(name)") }
        #expect(try write(makeBatch([lost, makeEntry("kept")])) == [EntryKey("lost")])
        #expect(try lab.names() == ["kept"])
    }

    /// Sealed, it is longer than the limit: it is measured before.
    @Test func aSealedBodyIsARowUpToTheLimit() throws {
        let lab = try TableLab(sealing: SealingTests.MaskSealing(key: 3))
        let writer = BatchWriter(entries: lab.entries, sealing: lab.sealing, log: nil, variantsPerKey: 2)
        let batch = makeBatch([
            makeEntry("row", body: .data(Data(count: TableLab.inlineBytes)), generation: 1),
            makeEntry("file", body: .data(Data(count: TableLab.inlineBytes + 1)), generation: 2),
        ])
        var refused: [EntryKey]?
        try lab.change { database, ledger in refused = try writer.write(batch, in: database, &ledger, now: 1) }
        #expect(refused == [])
        let summaries = try lab.queue.read { try EntryListing(sealing: lab.sealing).list(partition: nil, after: 0, limit: 9, in: $0) }
        #expect(summaries.map(\.key.name) == ["row", "file"])
        #expect(summaries.map(\.isFile) == [false, true])
        #expect(lab.folder.bodies.count == 1)
    }
}

/// Transactions, and the files that come and go with them.
@Suite(.leavesNothing) struct EntryTransactionsTests {
    private let folder = TestFolder()

    @Test func filesFollowTheTransaction() throws {
        let database = try folder.database()
        defer { database.close() }
        let transactions = EntryTransactions(connections: database.connections, folder: folder.folder)
        let bodies = BodyPlacement(folder: folder.folder, inlineBytes: 10, sealing: nil)
        func place(_ ledger: inout TransactionLedger) throws {
            guard case .file(let file) = try bodies.settled(.data(Data(count: 100))) else { return }
            _ = try bodies.place(file, &ledger)
            ledger.bytes += 1
        }
        // It fails: what was moved to its place for it is removed.
        let failure = #expect(throws: DatabaseFailure.self) {
            try transactions.run { _, ledger in
                try place(&ledger)
                throw StoreError(.diskFull, "")
            }
        }
        #expect(failure == .full)
        #expect(folder.bodies.isEmpty)
        #expect(try database.readTotals() == StoreTotals())
        // It is committed: what rows have lost is removed.
        let first = try transactions.run { _, ledger in
            try place(&ledger)
            return ledger.adopted
        }
        #expect(first.totals.bytes == 1 && folder.bodies.count == 1)
        let second = try transactions.run { _, ledger in
            ledger.unlinked = first.result
            #expect(folder.bodies.count == 1)
        }
        #expect(second.totals.bytes == 1 && folder.bodies.isEmpty)
    }
}
