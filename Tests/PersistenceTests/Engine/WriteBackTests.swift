import CleanSlate
import FoundationEssentials
import GRDB
import Testing

@testable import Persistence

/// Writing back, and what failures there lead to.
@Suite(.leavesNothing) struct WriteBackTests {
    @Test func whatWaitsIsWrittenAndCounted() async throws {
        let lab = EngineLab()
        await lab.open()
        for name in ["a", "b"] { lab.put(makeEntry(name)) }
        #expect(lab.writeBack.drain())
        #expect(lab.log.all == [.opened, .wrote(keys: 2)])
        #expect(lab.memory.withLock { $0.queue.isEmpty })
        let database = try #require(lab.handle.current)
        #expect(try database.load(EntryKey("a")).entries.count == 1)
        #expect(try lab.handle.totals == database.checkTotals() && lab.handle.totals.entries == 2)
        await lab.close()
    }

    @Test func changesFromBeforeTheDatabaseWasOpenAreWrittenWhenItIs() async {
        let lab = EngineLab()
        lab.put(makeEntry("a"))
        #expect(!lab.writeBack.drain())
        #expect(lab.memory.withLock { $0.queue.count } == 1)
        await lab.open()
        #expect(lab.handle.totals.entries == 1 && lab.memory.withLock { $0.queue.isEmpty })
        await lab.close()
    }

    @Test func damageThatIsMetWhileWritingCostsNothingThatWaits() async throws {
        let lab = EngineLab()
        await lab.open()
        try await lab.handle.current?.connections.writer.writeWithoutTransaction { try $0.execute(sql: "DROP TABLE body") }
        lab.put(makeEntry("a"))
        #expect(lab.writeBack.drain())
        #expect(lab.isReplaced)
        let database = try #require(lab.handle.current)
        #expect(try database.load(EntryKey("a")).entries.count == 1)
        await lab.close()
    }

    @Test func filesThatWereRemovedAreMadeAnewBeforeWriting() async throws {
        let lab = EngineLab()
        await lab.open()
        try FileManager.default.removeItem(atPath: lab.folder.folder.path)
        lab.put(makeEntry("a"))
        #expect(lab.writeBack.drain())
        let database = try #require(lab.handle.current)
        #expect(try database.isInPlace && database.load(EntryKey("a")).entries.count == 1)
        await lab.close()
    }

    @Test func theDiskIsKeptWithinItsLimit() async throws {
        let lab = EngineLab { $0.limits.diskBytes = 100_000 }
        await lab.open()
        for index in 0..<50 { lab.put(makeEntry("\(index)", body: .data(Data(count: 3000)))) }
        #expect(lab.writeBack.drain())
        let evictions = lab.log.all.compactMap { event -> Int? in
            if case .evicted(let entries, _) = event { entries } else { nil }
        }
        let totals = lab.handle.totals
        #expect(evictions.reduce(0, +) == 50 - totals.entries)
        #expect(totals.bytes <= 90_000 && totals.bytes > 80_000)
        #expect(try lab.handle.current?.checkTotals() == totals)
        await lab.close()
    }

    @Test func aDatabaseThatWasLostIsOpenedAgainWhenThatIsDue() async {
        let lab = EngineLab()
        await lab.open()
        lab.supervisor.lose("gone")
        lab.writeBack.retryIfDue()
        await lab.writerIsIdle()
        #expect(lab.handle.storeCondition == .memoryOnly(reason: "gone"))
        lab.clock.advance(by: 1)
        lab.writeBack.retryIfDue()
        await lab.writerIsIdle()
        #expect(lab.handle.storeCondition == .open)
        await lab.close()
    }

    @Test func onlyDamageIsReported() async throws {
        let lab = EngineLab()
        await lab.open()
        let database = try #require(lab.handle.current)
        for failure in [DatabaseFailure.busy, .full, .unavailable("once")] { lab.writeBack.report(failure, of: database) }
        await lab.writerIsIdle()
        #expect(lab.handle.current === database)
        lab.writeBack.report(.corrupt("damage"), of: database)
        // By a reader that had the same database, and met the same.
        lab.writeBack.report(.corrupt("damage"), of: database)
        await lab.writerIsIdle()
        #expect(lab.log.all == [.opened, .replaced(reason: "damage"), .opened])
        await lab.close()
    }
}
