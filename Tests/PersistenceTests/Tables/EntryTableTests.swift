import CleanSlate
import FoundationEssentials
import GRDB
import Glibc
import Testing

@testable import Persistence

/// The statements on the tables of entries and bodies, and what they note for the totals and the files.
@Suite(.leavesNothing) struct EntryTableTests {
    private let lab: TableLab
    private var entries: EntryTable { lab.entries }

    init() throws { lab = try TableLab() }

    private func rows(_ name: String) throws -> [EntryRowSummary] {
        try lab.queue.read { try entries.rows(of: EntryKey(name), in: $0) }
    }

    @Test func variantsComeTheNewestLast() throws {
        try lab.insert([
            makeEntry("a", variant: "second", storedAt: 20), makeEntry("a", variant: "first", storedAt: 10), makeEntry("b"),
        ])
        let found = try lab.queue.read { try entries.load(EntryKey("a"), in: $0) }
        #expect(found.entries.map(\.variant) == ["first", "second"])
        #expect(found.lastUsed == 1)
        // Rows come as they were inserted, so that the first is the oldest.
        #expect(try rows("a").map(\.variant) == ["second", "first"])
    }

    @Test func anEntryComesBackAsItWas() throws {
        let entry = makeEntry(
            "é", partition: "p\u{0}q", variant: "v", metadata: Data([0, 1]), body: .data(Data([7, 8])), storedAt: 5, freshUntil: 9,
            isRevalidatable: false, generation: -3)
        try lab.insert([entry])
        let found = try #require(try lab.load(entry.key).first)
        #expect(found.key == entry.key && found.variant == "v" && found.metadata == entry.metadata)
        #expect(found.body.data == Data([7, 8]))
        #expect(found.storedAt == entry.storedAt && found.freshUntil == entry.freshUntil)
        #expect(!found.isRevalidatable && found.generation == -3)
        // "é" in two scalars is another key.
        #expect(try lab.load(EntryKey("e\u{301}", partition: "p\u{0}q")).isEmpty)
    }

    @Test func aBodyTooLargeForARowGetsAFile() throws {
        try lab.insert([
            makeEntry("row", body: .data(Data(count: TableLab.inlineBytes))),
            makeEntry("file", body: .data(Data(count: TableLab.inlineBytes + 1))),
        ])
        #expect(lab.ledger.adopted.count == 1 && lab.folder.bodies.count == 1)
        #expect(lab.folder.bodies.first?.hasSuffix(lab.ledger.adopted[0]) == true)
        let (row, file) = (try #require(try rows("row").first), try #require(try rows("file").first))
        #expect(row.file == nil && file.file == lab.ledger.adopted[0])
        // A file counts for whole blocks.
        #expect(file.cost == "file".utf8.count + 1 + Schema.overheadPerEntry + 4096)
        #expect(row.cost == "row".utf8.count + 1 + Schema.overheadPerEntry + TableLab.inlineBytes)
        let body = try #require(try lab.load(EntryKey("file")).first).body
        #expect(try body.load(limit: 1 << 20) == Data(count: TableLab.inlineBytes + 1))
    }

    @Test func removalGivesBackWhatInsertionTook() throws {
        try lab.insert([makeEntry("a"), makeEntry("b", body: .data(Data(count: 5000)))])
        let before = try lab.totals()
        #expect(before.entries == 2 && before.bytes == lab.ledger.bytes)
        let file = lab.ledger.adopted
        try lab.change { database, ledger in
            for name in ["a", "b"] {
                for row in try entries.rows(of: EntryKey(name), in: database) { try entries.delete(row, in: database, &ledger) }
            }
        }
        #expect(lab.ledger.unlinked == file && lab.ledger.bytes == -before.bytes && lab.ledger.entries == -2)
        #expect(try lab.totals() == StoreTotals())
        #expect(try lab.queue.read { try $0.integer("SELECT count(*) FROM body") } == 0)
        // The file itself goes once the transaction is committed, by another's hand.
        #expect(lab.folder.bodies.count == 1)
    }

    @Test func aPartitionGoesAlone() throws {
        try lab.insert([
            makeEntry("a", partition: "p"), makeEntry("b", partition: "p", body: .data(Data(count: 5000))), makeEntry("c", partition: "q"),
        ])
        try lab.change { database, ledger in try entries.deleteAll(of: "p", in: database, &ledger) }
        #expect(lab.ledger.entries == -2 && lab.ledger.unlinked.count == 1)
        #expect(try lab.names() == ["c"])
        #expect(try lab.queue.read { try StoreTotals(counting: $0) }.entries == 1)
    }

    @Test func everythingGoesAtOnce() throws {
        try lab.insert([makeEntry("a"), makeEntry("b", body: .data(Data(count: 5000)))])
        try lab.change { database, ledger in try entries.deleteAll(in: database, &ledger) }
        #expect(lab.ledger.unlinked.count == 1)
        #expect(try lab.queue.read { try StoreTotals(counting: $0) } == StoreTotals())
    }

    @Test func newMetadataLeaveTheBodyAlone() throws {
        try lab.insert([makeEntry("a", metadata: Data([1, 2]), body: .data(Data(count: 5000)), generation: 4)])
        let former = try lab.totals()
        let update = MetadataUpdate(
            variant: "", generation: 4, metadata: Data(count: 10), freshUntil: Date(milliseconds: 50), isRevalidatable: false)
        try lab.change { database, ledger in
            let row = try #require(try entries.rows(of: EntryKey("a"), in: database).first)
            try entries.update(row, of: EntryKey("a"), with: update, in: database, &ledger)
        }
        #expect(lab.ledger == TransactionLedger(bytes: 8))
        let entry = try #require(try lab.load(EntryKey("a")).first)
        #expect(entry.metadata == Data(count: 10) && entry.freshUntil == Date(milliseconds: 50) && !entry.isRevalidatable)
        #expect(try entry.body.load(limit: 5000) == Data(count: 5000))
        #expect(try lab.queue.read { try StoreTotals(counting: $0) }.bytes == former.bytes + 8)
    }

    @Test func aUseIsNoted() throws {
        try lab.insert([makeEntry("a"), makeEntry("b")], used: 10)
        try lab.change { database, _ in try entries.touch(EntryKey("a"), at: 99, in: database) }
        let used = try lab.queue.read { database in
            try ["a", "b"].map { try entries.load(EntryKey($0), in: database).lastUsed }
        }
        #expect(used == [99, 10])
    }

    @Test(arguments: [
        "partition = CAST('p' AS BLOB)", "metadata = x'00'", "variant = x'00'", "generation = 2", "stored_at = 2", "revalidatable = 0",
        "fresh_until = 1", "body_checksum = 0", "body_length = 2", "body_kind = 1", "body_kind = 7", "file = x'2e2e', body_kind = 1",
    ]) func aRowThatWasChangedIsDamage(change: String) throws {
        try lab.insert([makeEntry("a")])
        try lab.execute("UPDATE entry SET \(change)")
        if change.hasPrefix("partition") {
            // Under another key nobody finds it by the hash of that key; put there too, it is found out.
            let hash = EntryKey("a", partition: "p").hash(seed: 7)
            try lab.execute("UPDATE entry SET key_hash = \(hash)")
        }
        #expect(findsDamage { for partition in ["", "p"] { _ = try lab.load(EntryKey("a", partition: partition)) } })
    }
}

/// The listing of entries by pages.
@Suite(.leavesNothing) struct EntryListingTests {
    @Test(arguments: [UInt8?.none, 3]) func pagesFollowEachOther(key: UInt8?) throws {
        let sealing = key.map { SealingTests.MaskSealing(key: $0) }
        let lab = try TableLab(sealing: sealing)
        let all = (0..<10).map { makeEntry("key-\($0)", partition: "p\($0 % 2)", generation: Int64($0)) }
        try lab.insert(all.map { try lab.sealing.stored($0, settled: $0.body) })
        let listing = EntryListing(sealing: lab.sealing)
        func list(_ partition: String?, _ after: Int64, _ limit: Int) throws -> [EntrySummary] {
            try lab.queue.read { try listing.list(partition: partition, after: after, limit: limit, in: $0) }
        }
        let first = try list(nil, 0, 4)
        #expect(first.map(\.key) == all[..<4].map(\.key))
        let rest = try list(nil, try #require(first.last).id, 100)
        #expect(rest.map(\.key) == all[4...].map(\.key))
        #expect(try list("p1", 0, 100).map(\.key.name) == ["key-1", "key-3", "key-5", "key-7", "key-9"])
        #expect(try list("p2", 0, 100).isEmpty)
        let summary = try #require(first.first)
        #expect(summary.metadata == Data([1]) && !summary.isFile && summary.cost > Schema.overheadPerEntry)
    }
}

/// The way of a body to its place.
@Suite(.leavesNothing) struct BodyPlacementTests {
    private let lab: TableLab
    private var bodies: BodyPlacement { lab.entries.bodies }

    init() throws { lab = try TableLab() }

    private func file(_ count: Int) throws -> BodyFile {
        guard case .file(let file) = try bodies.settled(.data(Data(count: count))) else {
            throw StoreError(.system, "no file was made")
        }
        return file
    }

    @Test func bytesThatFitARowStay() throws {
        guard case .data(let data) = try bodies.settled(.data(Data(count: TableLab.inlineBytes))) else {
            Issue.record("it got a file")
            return
        }
        #expect(data.count == TableLab.inlineBytes && lab.folder.temporaries.isEmpty)
    }

    @Test func aFileHasOnePlaceAndOneRow() throws {
        let file = try file(TableLab.inlineBytes + 1)
        #expect(lab.folder.temporaries.count == 1 && lab.folder.bodies.isEmpty)
        var ledger = TransactionLedger()
        let name = try bodies.place(file, &ledger)
        #expect(ledger.adopted == [name])
        #expect(lab.folder.temporaries.isEmpty && lab.folder.bodies.count == 1)
        // Its bytes stay readable at the new place.
        #expect(try EntryBody(storage: .file(file)).load(limit: 1 << 20) == Data(count: TableLab.inlineBytes + 1))
        let second = #expect(throws: DatabaseFailure.self) { try bodies.place(file, &ledger) }
        #expect(second == .unavailable("a body that is stored already"))
        #expect(ledger.adopted == [name])
    }

    @Test func aFileThatIsGoneIsMissing() throws {
        let file = try file(5000)
        for name in lab.folder.temporaries { unlink("\(lab.folder.folder.temporary)/\(name)") }
        var ledger = TransactionLedger()
        let error = #expect(throws: StoreError.self) { try bodies.place(file, &ledger) }
        #expect(error?.code == .missing)
        #expect(ledger.adopted.isEmpty)
    }
}
