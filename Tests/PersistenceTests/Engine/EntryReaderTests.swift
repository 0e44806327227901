import CleanSlate
import FoundationEssentials
import GRDB
import Testing

@testable import Persistence

/// The lookup of entries: in memory, then on disk.
@Suite(.leavesNothing) struct EntryReaderTests {
    private let key = EntryKey("a")

    private func isAbsent(_ lookup: StoreLookup?) -> Bool { lookup?.entries.isEmpty ?? false }

    @Test func beforeTheDatabaseIsOpenOnlyWhatWasPutIsKnown() async {
        let lab = EngineLab()
        #expect(lab.reader.cached(key) == nil && lab.reader.known(key) == nil)
        #expect(isAbsent(lab.reader.missed(key)))
        lab.put(makeEntry("a"))
        #expect(lab.reader.cached(key) == nil)
        for found in [lab.reader.known(key), lab.reader.missed(key)] {
            #expect(found?.entries.count == 1 && found?.isComplete == false)
        }
        await lab.close()
    }

    @Test func theDiskIsAskedOnceForAKey() async throws {
        let lab = EngineLab()
        let database = try lab.folder.database()
        _ = try database.write(makeBatch([makeEntry("a")]), now: 1)
        database.close()
        await lab.open()
        #expect(lab.reader.cached(key) == nil)
        #expect(lab.reader.lookup(key).entries.count == 1)
        #expect(lab.reader.cached(key)?.entries.count == 1)
        #expect(lab.memory.withLock { $0.statistics.diskHits } == 1)
        await lab.close()
    }

    /// Once the keys of a private store are read, what is not among them is known to be nowhere.
    @Test func whatTheDiskNeverHadIsKnownToBeAbsent() async {
        let lab = EngineLab()
        await lab.open()
        await lab.writerIsIdle()
        #expect(isAbsent(lab.reader.cached(key)))
        lab.put(makeEntry("a"))
        #expect(lab.writeBack.drain())
        _ = lab.memory.withLock { $0.slots.removeAll() }
        #expect(lab.reader.cached(key) == nil)
        await lab.close()
    }

    @Test func withoutADiskMemoryAnswersForGood() async {
        let lab = EngineLab(directory: "relative")
        await lab.open()
        #expect(isAbsent(lab.reader.cached(key)))
        #expect(isAbsent(lab.reader.lookup(key)))
        lab.put(makeEntry("a"))
        #expect(lab.reader.lookup(key).entries.count == 1)
        await lab.close()
    }

    @Test func aDamagedRowIsAMissAndReplacesTheFiles() async throws {
        let lab = EngineLab()
        await lab.open()
        lab.put(makeEntry("a"))
        #expect(lab.writeBack.drain())
        try await lab.handle.current?.connections.writer.writeWithoutTransaction {
            try $0.execute(sql: "UPDATE entry SET metadata = x'99'")
        }
        _ = lab.memory.withLock { $0.slots.removeAll() }
        #expect(isAbsent(lab.reader.lookup(key)))
        await lab.writerIsIdle()
        #expect(lab.isReplaced)
        await lab.close()
    }
}

/// Learning what other processes did to a shared store.
@Suite(.leavesNothing) struct CatchUpTests {
    private let key = EntryKey("a")

    private func removal(of key: EntryKey) -> WriteBackQueue.Batch {
        WriteBackQueue.Batch(writes: [(key: key, write: WriteBackQueue.Write(deletesKey: true, isInvalidation: true))])
    }

    @Test func whatCannotBeToldIsNotAnswered() async throws {
        let lab = EngineLab(.shared)
        let catchUp = try #require(lab.catchUp)
        #expect(!catchUp.run())
        lab.supervisor.lose("gone")
        #expect(catchUp.run())
        await lab.close()
        #expect(!catchUp.run())
        #expect(lab.reader.cached(key) == nil)
    }

    @Test func filesThatWereRemovedAreNoticedWithinASecond() async throws {
        let lab = EngineLab(.shared)
        await lab.open()
        let catchUp = try #require(lab.catchUp)
        #expect(catchUp.run())
        let former = try #require(lab.handle.current)
        try FileManager.default.removeItem(atPath: lab.folder.folder.path)
        #expect(catchUp.run())
        lab.clock.advance(by: 1)
        #expect(!catchUp.isUnchanged(former))
        #expect(!catchUp.run())
        await lab.writerIsIdle()
        #expect(lab.handle.current.map { $0 !== former } == true)
        #expect(catchUp.run())
        await lab.close()
    }

    @Test(.timeLimit(.minutes(5))) func itRunsSoonOnAThreadOfTheStore() async throws {
        let lab = EngineLab(.shared)
        await lab.open()
        let other = try lab.folder.database(isShared: true)
        _ = try other.write(removal(of: key), now: 1)
        other.close()
        lab.catchUp?.runSoon()
        while lab.memory.withLock({ $0.ticket.shared }) != 1 { await Task.yield() }
        await lab.close()
    }
}
