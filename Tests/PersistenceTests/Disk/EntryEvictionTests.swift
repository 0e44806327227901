import CleanSlate
import FoundationEssentials
import GRDB
import Testing

@testable import Persistence

/// The choice of entries that have to go.
@Suite(.leavesNothing) struct EntryEvictionTests {
    private let lab: TableLab

    init() throws { lab = try TableLab() }

    private func evict(_ bytes: Int, now: Int64 = 1000) throws {
        try lab.change { database, ledger in
            try EntryEviction(entries: lab.entries).evict(bytes: bytes, now: now, in: database, &ledger)
        }
    }

    @Test func whatIsOfNoUseGoesFirst() throws {
        try lab.insert([makeEntry("old")], used: 1)
        try lab.insert([makeEntry("good for longer", freshUntil: 2000, isRevalidatable: false)], used: 2)
        try lab.insert([makeEntry("stale later", freshUntil: 900, isRevalidatable: false)], used: 3)
        try lab.insert([makeEntry("stale first", freshUntil: 800, isRevalidatable: false)], used: 4)
        try lab.insert([makeEntry("can be asked for", freshUntil: 100)], used: 5)
        let order = ["stale first", "stale later", "old", "good for longer", "can be asked for"]
        for count in 1...order.count {
            try evict(1)
            #expect(try Set(lab.names()) == Set(order[count...]))
        }
    }

    @Test func itStopsWhenEnoughIsFree() throws {
        try lab.insert((0..<5).map { makeEntry("\($0)") })
        let cost = try lab.totals().bytes / 5
        try evict(2 * cost - 1)
        #expect(try lab.totals() == StoreTotals(bytes: 3 * cost, entries: 3))
        try evict(cost + 1)
        #expect(try lab.totals().entries == 1)
    }

    @Test func aBatchIsTheMostAtOnce() throws {
        try lab.insert((0..<EvictionPolicy.batch + 5).map { makeEntry("\($0)") })
        try evict(.max)
        #expect(try lab.totals().entries == 5)
        #expect(lab.ledger.entries == -EvictionPolicy.batch)
        try evict(.max)
        #expect(try lab.totals() == StoreTotals())
    }

    /// They were noted before the clock was set back, and would never be the oldest.
    @Test func usesInTheFutureCountAsOfNow() throws {
        try lab.insert([makeEntry("future")], used: 1_000_000)
        try lab.insert([makeEntry("a moment ahead")], used: 50_000)
        try evict(1)
        #expect(try lab.names() == ["a moment ahead"])
    }

    @Test func filesAreNamedForRemoval() throws {
        try lab.insert([makeEntry("a", body: .data(Data(count: 5000)))])
        let file = lab.ledger.adopted
        try evict(.max)
        #expect(!file.isEmpty && lab.ledger.unlinked == file)
    }
}
