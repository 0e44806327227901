import FoundationEssentials
import GRDB
import Glibc
import Testing

@testable import Persistence

/// Files and folders that others remove, leave behind or have open.
extension DamageTests {
    @Test func aFolderThatCannotBeMeansMemoryOnly() async throws {
        try folder.overwrite(folder.path + "/file", [1])
        let store = Store(StoreConfiguration(directory: folder.path + "/file/store"))
        guard case .memoryOnly = await store.opened() else {
            Issue.record("\(store.condition)")
            return
        }
        let key = EntryKey("a")
        store.put(NewStoreEntry(key: key, metadata: Data([1])))
        let found = await store.lookup(key)
        let none = await store.lookup(EntryKey("b"))
        #expect(found.entries.count == 1 && none.entries.isEmpty)
        let writer = store.makeBodyWriter()
        let error = #expect(throws: StoreError.self) { try writer.write(Data(count: 200_000)) }
        #expect(error?.code == .unavailable)
        await store.close()
    }

    @Test func aFolderThatSomebodyRemovesIsMadeAgain() async throws {
        let store = Store(folder.configuration())
        try await store.putAndFlush(NewStoreEntry(key: EntryKey("before"), metadata: Data([1])))
        // In one step: the writer may be making new files while a folder is removed piece by piece.
        try FileManager.default.moveItem(atPath: folder.folder.path, toPath: folder.path + "/removed")
        let writer = store.makeBodyWriter()
        try writer.write(Data(count: 200_000))
        try await store.putAndFlush(NewStoreEntry(key: EntryKey("after"), metadata: Data([2]), body: writer.finish()))
        #expect(store.condition == .open)
        await store.relieveMemory()
        let after = await store.lookup(EntryKey("after"))
        #expect(after.entries.count == 1 && after.bodies == [Data(count: 200_000)])
        await store.close()
        let again = Store(folder.configuration())
        let found = await again.lookup(EntryKey("after"))
        #expect(found.entries.count == 1)
        await again.close()
    }

    @Test func whoOnlyReadsNoticesThatTheFilesAreOthers() async throws {
        let clock = ManualClocks()
        let reader = Store(folder.configuration(.shared), clocks: clock.clocks)
        let writer = Store(folder.configuration(.shared))
        try await writer.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
        let before = await reader.lookup(EntryKey("a"))
        #expect(before.entries.map(\.metadata) == [Data([1])])
        // In one step: the writer may be making new files while a folder is removed piece by piece.
        try FileManager.default.moveItem(atPath: folder.folder.path, toPath: folder.path + "/removed")
        try await writer.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([2])))
        clock.advance(by: 2)
        // The first look finds out, and the next one has the new files.
        _ = await reader.lookup(EntryKey("a"))
        await reader.opened()
        let after = await reader.lookup(EntryKey("a"))
        #expect(after.entries.map(\.metadata) == [Data([2])])
        await reader.close()
        await writer.close()
    }

    @Test func aBodyWhoseFileWasRemovedCostsOnlyItsEntry() async throws {
        let store = Store(folder.configuration { $0.limits.dirtyAge = .seconds(3600) })
        for index in [8, 9] { try await put(index, in: store) }
        for name in folder.temporaries { unlink("\(folder.folder.temporary)/\(name)") }
        try await store.flush()
        let lost = await store.lookup(EntryKey("key-8"))
        let kept = await store.lookup(EntryKey("key-9"))
        #expect(lost.entries.isEmpty && kept.entries.count == 1)
        #expect(store.condition == .open)
        await store.close()
    }

    /// Files that others have open are not replaced under them: who meets the damage works in memory until it is alone.
    @Test func damageInUseIsReplacedOnceTheOthersAreGone() async throws {
        let clock = ManualClocks()
        let log = EventLog()
        let other = Store(folder.configuration(.shared))
        let key = EntryKey("a")
        try await other.putAndFlush(NewStoreEntry(key: key, metadata: Data([1])))
        let store = Store(folder.configuration(.shared) { $0.onEvent = log.sink }, clocks: clock.clocks)
        await store.opened()
        let queue = try DatabaseQueue(path: folder.folder.database)
        try await queue.write { try $0.execute(sql: "UPDATE entry SET metadata = x'00'") }
        try queue.close()
        let damaged = await store.lookup(key)
        #expect(damaged.entries.isEmpty)
        guard case .memoryOnly(let reason) = await store.opened() else {
            Issue.record("\(log.all)")
            return
        }
        #expect(reason.hasPrefix("the store is damaged, and others still use it"))
        store.put(NewStoreEntry(key: key, metadata: Data([2])))
        let memory = await store.lookup(key)
        #expect(memory.entries.map(\.metadata) == [Data([2])])
        await other.close()
        // Opened again, it meets the damage again, now alone with it.
        for _ in 0..<3 {
            clock.advance(by: 120)
            _ = await store.lookup(EntryKey("another"))
            await store.opened()
            await store.relieveMemory()
            _ = await store.lookup(key)
        }
        #expect(await store.opened() == .open)
        try await store.putAndFlush(NewStoreEntry(key: key, metadata: Data([3])))
        let report = try await store.verify()
        #expect(report.isClean, "\(report) \(log.all)")
        await store.close()
    }

    /// SQLite gives the id of a removed row to the next one.
    @Test func whatTookThePlaceOfAnOrphanStays() async throws {
        let files = folder.folder
        try files.prepare()
        let options = StoreDatabase.Options(
            isShared: true, contentVersion: 0, secureDelete: false, variantsPerKey: 4, inlineBodyBytes: 1000)
        let database = try StoreDatabase(files, options)
        var batch = WriteBackQueue.Batch()
        for (name, count) in [("row", 10), ("file", 5000)] {
            let entry = StoreEntry(
                key: EntryKey(name), variant: "", metadata: Data(), body: EntryBody(storage: .data(Data(count: count))),
                storedAt: Date(milliseconds: 1),
                freshUntil: nil, isRevalidatable: true, generation: 1)
            batch.writes.append((entry.key, WriteBackQueue.Write(puts: [.init(entry: entry)])))
        }
        let written = try database.write(batch, now: 1)
        let stale = [Int64(1), 2, 99].map { EntryRowSummary(id: $0, cost: 123_456, file: "former") }
        try database.orphans.remove(stale)
        let kept = try database.checkTotals()
        #expect(kept.entries == 2 && kept.bytes == written.totals.bytes)
        for path in folder.bodies { unlink(path) }
        try database.orphans.remove(stale)
        let rest = try database.checkTotals()
        #expect(rest.entries == 1 && rest.bytes < written.totals.bytes)
        database.close()
    }

    @Test(arguments: ["", "relative/path", "/tmp/nul\0inside"])
    func aFolderThatIsNoAbsolutePathMeansMemoryOnly(path: String) async throws {
        let store = Store(StoreConfiguration(directory: path))
        #expect(await store.opened() == .memoryOnly(reason: "the folder of a store is an absolute path"))
        await store.close()
    }

    // Defect 30
    @Test func leftoversOfADeadProcessAreSweptAway() async throws {
        do {
            let store = Store(folder.configuration())
            for index in [0, 8, 16] { try await put(index, in: store) }
            await store.close()
        }
        let bodies = folder.bodies.sorted()
        unlink(bodies[0])
        let orphan = bodies[1].dropLast(32) + String(repeating: "0", count: 32)
        let young = bodies[2].dropLast(32) + String(repeating: "1", count: 32)
        let temporary = folder.folder.temporary + "/half"
        for path in [String(orphan), String(young), temporary] { try folder.overwrite(path, [1]) }
        for path in [String(orphan), temporary] {
            var times = [timeval(tv_sec: 1_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000, tv_usec: 0)]
            utimes(path, &times)
        }
        let store = Store(folder.configuration())
        // Opened, the sweep is the next thing the store does.
        await store.opened()
        let report = try await store.verify()
        #expect(report.isClean && report.entries == 2, "\(report)")
        #expect(Set(folder.bodies) == [bodies[1], bodies[2], String(young)])
        #expect(folder.temporaries.isEmpty)
        await store.close()
    }
}
