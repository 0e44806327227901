import CleanSlate
import FoundationEssentials
import GRDB
import Testing

@testable import Persistence

/// The statements on the table of records.
@Suite(.leavesNothing) struct RecordTableTests {
    private let lab: TableLab
    private let table = RecordTable(seed: 7, sealing: RowSealing(sealing: nil))

    init() throws { lab = try TableLab() }

    private func record(_ name: String, _ byte: UInt8 = 1, expires: Int64? = nil) -> StoreRecord {
        StoreRecord(name: name, data: Data([byte]), expires: expires.map { Date(milliseconds: $0) })
    }

    private func apply(_ change: RecordChange, to namespace: String = "n") throws {
        try lab.queue.write { try table.apply(change, to: namespace, in: $0) }
    }

    private func records(_ name: String? = nil, of namespace: String = "n", now: Int64 = 0) throws -> [StoreRecord] {
        try lab.queue.read { try table.records(of: namespace, name: name, now: now, in: $0) }
    }

    @Test func aChangeReplacesRemovesAndKeeps() throws {
        try apply(RecordChange(kept: [record("b"), record("a")]))
        try apply(RecordChange(kept: [record("a")]), to: "other")
        #expect(try records().map(\.name) == ["a", "b"])
        #expect(try records("b") == [record("b")])
        try apply(RecordChange(kept: [record("a", 2)], gone: ["b", "never"]))
        #expect(try records() == [record("a", 2)])
        try apply(RecordChange(replacesAll: true, kept: [record("c")]))
        #expect(try records() == [record("c")])
        #expect(try records(of: "other") == [record("a")])
        try apply(RecordChange(replacesAll: true))
        #expect(try records().isEmpty)
    }

    @Test func expiredRecordsAreNeitherReadNorKept() throws {
        try apply(RecordChange(kept: [record("a", expires: 100), record("b", expires: 200), record("c")]))
        #expect(try records(now: 99).map(\.name) == ["a", "b", "c"])
        #expect(try records(now: 100).map(\.name) == ["b", "c"])
        #expect(try records("a", now: 100).isEmpty)
        try lab.queue.write { try table.remove(expiredBefore: 150, in: $0) }
        #expect(try records(now: 0).map(\.name) == ["b", "c"])
    }

    @Test(arguments: ["data = x'09'", "expires = 5000", "namespace = CAST('m' AS BLOB)", "name = CAST('z' AS BLOB)"])
    func aRecordThatWasChangedIsDamage(change: String) throws {
        try apply(RecordChange(kept: [record("a", expires: 4000)]))
        try lab.execute("UPDATE record SET \(change)")
        #expect(findsDamage { for namespace in ["n", "m"] { _ = try records(of: namespace) } })
    }

    /// A record that is salvaged of a damaged store does not take the place of what was stored since.
    @Test func aRowThatIsTakenOverReplacesNone() throws {
        try apply(RecordChange(kept: [record("a", 1)]))
        for (name, byte) in [("a", UInt8(2)), ("b", 3)] {
            let old = record(name, byte)
            let row = RecordRow(namespace: "n", record: old, checksum: old.checksum(in: "n", seed: 7))
            try lab.queue.write { try table.insert(row, orElse: .ignore, in: $0) }
        }
        #expect(try records() == [record("a", 1), record("b", 3)])
    }

    @Test func sealedRecordsShowTheirNamesAlone() throws {
        let sealed = RecordTable(seed: 7, sealing: RowSealing(sealing: SealingTests.MaskSealing(key: 9)))
        let secret = StoreRecord(name: "a", data: Data("secret".utf8))
        try lab.queue.write { try sealed.apply(RecordChange(kept: [secret]), to: "n", in: $0) }
        #expect(try records().first?.name == "a")
        #expect(try records().first?.data != secret.data)
        #expect(try lab.queue.read { try sealed.records(of: "n", name: nil, now: 0, in: $0) } == [secret])
        let wrong = RecordTable(seed: 7, sealing: RowSealing(sealing: SealingTests.MaskSealing(key: 8)))
        #expect(findsDamage { _ = try lab.queue.read { try wrong.records(of: "n", name: nil, now: 0, in: $0) } })
    }
}
