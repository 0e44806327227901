import CleanSlate
import GRDB
import Testing

@testable import Persistence

/// The counters of bytes and entries beside the rows.
@Suite(.leavesNothing) struct StoreTotalsTests {
    private let lab: TableLab

    init() throws { lab = try TableLab() }

    private func settle(_ bytes: Int, _ entries: Int) throws -> StoreTotals {
        try lab.queue.write { try StoreTotals.settle(TransactionLedger(bytes: bytes, entries: entries), in: $0) }
    }

    @Test func theyFollowTheLedger() throws {
        #expect(try lab.totals() == StoreTotals())
        #expect(try settle(500, 3) == StoreTotals(bytes: 500, entries: 3))
        #expect(try settle(-100, -1) == StoreTotals(bytes: 400, entries: 2))
        #expect(try settle(0, 0) == StoreTotals(bytes: 400, entries: 2))
        #expect(try lab.totals() == StoreTotals(bytes: 400, entries: 2))
        try lab.queue.write { try StoreTotals.clear(in: $0) }
        #expect(try lab.totals() == StoreTotals())
    }

    @Test func countingAgreesWithThem() throws {
        try lab.insert([makeEntry("a"), makeEntry("b")])
        let counted = try lab.queue.read { try StoreTotals(counting: $0) }
        #expect(try counted == lab.totals() && counted.entries == 2)
    }

    @Test(arguments: ["bytes = bytes + 1", "entries = 3"]) func countersThatLieAreDamage(change: String) throws {
        try lab.insert([makeEntry("a")])
        try lab.execute("UPDATE total SET \(change)")
        #expect(findsDamage { try lab.queue.read { _ = try StoreTotals(counting: $0) } })
    }

    @Test(arguments: ["DELETE FROM total", "UPDATE total SET bytes = -1", "UPDATE total SET entries = 1 << 50"])
    func countersThatCannotBeAreDamage(statement: String) throws {
        try lab.execute(statement)
        #expect(findsDamage { _ = try lab.totals() })
    }
}
