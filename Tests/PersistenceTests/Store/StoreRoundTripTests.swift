import CleanSlate
import FoundationEssentials
import Testing

@testable import Persistence

@Suite(.leavesNothing) struct StoreRoundTripTests {
    let folder = TestFolder()

    // Defect 56
    @Test func whatWasPutIsThereAtOnceAndInTheNextProcess() async throws {
        let key = EntryKey("https://example.test/a", partition: "alice")
        let until = Date(timeIntervalSince1970: 1_900_000_000)
        do {
            let store = Store(folder.configuration())
            let before = await store.lookup(key)
            #expect(before.entries.isEmpty)
            let outcome = store.put(
                NewStoreEntry(
                    key: key, variant: "gzip", metadata: Data("head".utf8), body: .data(pattern(5000, seed: 1)), freshUntil: until,
                    isRevalidatable: false),
                ticket: before.ticket)
            #expect(outcome == .accepted)
            let memory = try #require(store.cached(key))
            #expect(memory.entries.map(\.variant) == ["gzip"])
            await store.close()
        }
        let store = Store(folder.configuration())
        let entry = try #require(await store.lookup(key).entry(variant: "gzip"))
        #expect(entry.metadata == Data("head".utf8))
        #expect(entry.body.data == pattern(5000, seed: 1))
        #expect(entry.freshUntil == until)
        #expect(!entry.isRevalidatable)
        let other = await store.lookup(EntryKey("https://example.test/a", partition: "bob"))
        #expect(other.entries.isEmpty)
        let statistics = store.statistics()
        #expect(statistics.diskHits == 1 && statistics.misses == 1 && statistics.entries == 1)
        await store.close()
    }

    @Test func variantsStandBesideEachOtherAndTheOldestGo() async throws {
        let store = Store(folder.configuration { $0.limits.variantsPerKey = 3 })
        let key = EntryKey("a")
        for index in 0..<5 {
            store.put(NewStoreEntry(key: key, variant: "v\(index)", metadata: Data([UInt8(index)])))
            try await store.flush()
        }
        let memory = await store.lookup(key)
        #expect(memory.entries.map(\.variant) == ["v2", "v3", "v4"])
        await store.relieveMemory()
        let disk = await store.lookup(key)
        #expect(disk.entries.map(\.variant).sorted() == ["v2", "v3", "v4"])
        store.remove(key, variant: "v3")
        await store.relieveMemory()
        let rest = await store.lookup(key)
        #expect(rest.entries.map(\.variant).sorted() == ["v2", "v4"])
        let report = try await store.verify()
        #expect(report.isClean && report.entries == 2)
        await store.close()
    }

    @Test func newMetadataRewritesTheRowOfExactlyThatEntry() async throws {
        let store = Store(folder.configuration())
        let key = EntryKey("a")
        store.put(NewStoreEntry(key: key, metadata: Data("old".utf8), body: .data(pattern(100, seed: 1))))
        let entry = try #require(await store.lookup(key).entries.first)
        store.update(entry, metadata: Data("newer".utf8))
        try await store.flush()
        store.update(entry, metadata: Data("newest".utf8))
        await store.relieveMemory()
        let updated = try #require(await store.lookup(key).entries.first)
        #expect(updated.metadata == Data("newest".utf8) && updated.body.data == pattern(100, seed: 1))
        store.put(NewStoreEntry(key: key, metadata: Data("other".utf8)))
        let late = store.update(entry, metadata: Data("late".utf8))
        #expect(late == .invalidated)
        await store.relieveMemory()
        let report = try await store.verify()
        let kept = await store.lookup(key)
        #expect(report.isClean)
        #expect(kept.entries.map(\.metadata) == [Data("other".utf8)])
        await store.close()
    }

    @Test func aFetchBegunBeforeAnInvalidationDoesNotStoreAfterIt() async throws {
        let store = Store(folder.configuration())
        let key = EntryKey("a", partition: "p")
        let ticket = await store.lookup(key).ticket
        store.remove(key)
        let late = store.put(NewStoreEntry(key: key, metadata: Data([1])), ticket: ticket)
        #expect(late == .invalidated)
        let second = await store.lookup(key).ticket
        store.removeAll(in: "p")
        #expect(store.put(NewStoreEntry(key: key, metadata: Data([2])), ticket: second) == .invalidated)
        let third = store.ticket()
        store.removeAll()
        #expect(store.put(NewStoreEntry(key: key, metadata: Data([3])), ticket: third) == .invalidated)
        let fresh = await store.lookup(key).ticket
        #expect(store.put(NewStoreEntry(key: key, metadata: Data([4])), ticket: fresh) == .accepted)
        await store.close()
    }

    @Test func partitionsAreClearedByThemselves() async throws {
        let store = Store(folder.configuration())
        for partition in ["a", "b", "\u{e9}", "e\u{301}"] {
            for index in 0..<20 { store.put(NewStoreEntry(key: EntryKey("\(index)", partition: partition), metadata: Data([1]))) }
        }
        try await store.flush()
        store.removeAll(in: "a")
        store.removeAll(in: "\u{e9}")
        store.put(NewStoreEntry(key: EntryKey("new", partition: "a"), metadata: Data([2])))
        await store.relieveMemory()
        let gone = await store.lookup(EntryKey("1", partition: "a"))
        let kept = await store.lookup(EntryKey("1", partition: "e\u{301}"))
        let new = await store.lookup(EntryKey("new", partition: "a"))
        #expect(gone.entries.isEmpty)
        #expect(kept.entries.count == 1)
        #expect(new.entries.count == 1)
        let report = try await store.verify()
        #expect(report.isClean && report.entries == 41)
        await store.close()
    }

    @Test func keysAreBytesAndNothingElse() async throws {
        let store = Store(folder.configuration())
        let names = ["a\0b", "a\0c", "a", "\u{e9}", "e\u{301}", "", "日本"]
        for (index, name) in names.enumerated() { store.put(NewStoreEntry(key: EntryKey(name), metadata: Data([UInt8(index)]))) }
        await store.relieveMemory()
        for (index, name) in names.enumerated() {
            let found = await store.lookup(EntryKey(name))
            #expect(found.entries.map(\.metadata) == [Data([UInt8(index)])], "\(name.debugDescription)")
        }
        await store.close()
    }

    @Test func largeBodiesAreFilesAndReadInParts() async throws {
        let store = Store(folder.configuration())
        let key = EntryKey("large")
        let body = pattern(1_000_000, seed: 7)
        let writer = store.makeBodyWriter()
        for start in stride(from: 0, to: body.count, by: 10_000) { try writer.write(body.subdata(in: start..<start + 10_000)) }
        store.put(NewStoreEntry(key: key, metadata: Data(), body: try writer.finish()))
        // Before it is at its place, too.
        let early = try #require(await store.lookup(key).entries.first)
        let earlyReader = try early.body.makeReader()
        try await store.flush()
        #expect(try earlyReader.read(at: 0, upTo: body.count) == body)
        await store.relieveMemory()
        let entry = try #require(await store.lookup(key).entries.first)
        #expect(entry.body.data == nil && entry.body.length == body.count)
        let reader = try entry.body.makeReader()
        #expect(try reader.read(at: 999_990, upTo: 100) == body.suffix(10))
        #expect(try reader.read(at: 65_000, upTo: 70_000) == body.subdata(in: 65_000..<135_000))
        #expect(try reader.read(at: 2_000_000, upTo: 10).isEmpty)
        // The reader keeps the file, whatever becomes of its name.
        store.remove(key)
        try await store.flush()
        #expect(folder.bodies.isEmpty && folder.temporaries.isEmpty)
        #expect(try reader.read(at: 0, upTo: body.count) == body)
        #expect(throws: StoreError.self) { try entry.body.makeReader() }
        await store.close()
    }

    @Test func anEntryOfNoUseIsRemovedButNotItsSuccessor() async throws {
        let store = Store(folder.configuration())
        let key = EntryKey("a")
        store.put(NewStoreEntry(key: key, metadata: Data([1])))
        let first = try #require(await store.lookup(key).entries.first)
        store.put(NewStoreEntry(key: key, metadata: Data([2])))
        store.remove(first)
        let second = try #require(await store.lookup(key).entries.first)
        #expect(second.metadata == Data([2]))
        store.remove(second)
        await store.relieveMemory()
        let gone = await store.lookup(key)
        #expect(gone.entries.isEmpty)
        await store.close()
    }

    // YY-2
    @Test func aLargeBodyInOnePieceIsAFileToo() async throws {
        let store = Store(folder.configuration())
        let body = pattern(500_000, seed: 3)
        try await store.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data(), body: .data(body)))
        #expect(folder.bodies.count == 1 && folder.temporaries.isEmpty)
        await store.relieveMemory()
        let found = await store.lookup(EntryKey("a"))
        #expect(found.bodies == [body])
        let report = try await store.verify()
        #expect(report.isClean)
        await store.close()
    }

    // YTK-16
    @Test func filesAndFoldersAreForTheOwnerAlone() async throws {
        let store = Store(folder.configuration())
        let writer = store.makeBodyWriter()
        try writer.write(pattern(300_000, seed: 1))
        try await store.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data(), body: try writer.finish()))
        let paths = [folder.folder.path, folder.folder.bodies, folder.folder.temporary] + folder.bodies
        let files = Files.names(in: folder.folder.path).map { "\(folder.folder.path)/\($0)" }
        #expect(files.count == 6)
        for path in paths + files {
            let mode = try #require(Files.mode(of: path))
            #expect(mode & 0o077 == 0, "\(path) has \(String(mode, radix: 8))")
        }
        await store.close()
    }

    // YY-3
    @Test func recordsStayUntilTheyExpire() async throws {
        let clock = ManualClocks()
        let store = Store(folder.configuration(), clocks: clock.clocks)
        let now = Date(milliseconds: clock.clocks.wall())
        try await store.setRecords(
            [StoreRecord(name: "sid", data: Data("1".utf8)), StoreRecord(name: "short", data: Data("2".utf8), expires: now + 10)],
            in: "cookies")
        store.removeAll()
        try await store.flush()
        #expect(try await store.records(in: "cookies").map(\.name) == ["short", "sid"])
        clock.advance(by: 10)
        #expect(try await store.records(in: "cookies").map(\.name) == ["sid"])
        #expect(try await store.record("short", in: "cookies") == nil)
        try await store.removeExpiredRecords()
        try await store.removeRecords(["sid"], in: "cookies")
        clock.setWall(by: -100)
        #expect(try await store.records(in: "cookies").isEmpty)
        await store.close()
        await #expect(throws: StoreError.self) { try await store.setRecords([], in: "cookies") }
    }

    @Test func aStoreNobodyHoldsWritesWhatWaits() async throws {
        let log = EventLog()
        do {
            let store = Store(folder.configuration { $0.onEvent = log.sink })
            store.put(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
        }
        _ = await log.first { if case .wrote = $0 { true } else { false } }
        var found = 0
        while found == 0 {
            // The former store lets go of its lock a moment after it wrote.
            let store = Store(folder.configuration())
            if await store.opened() == .open { found = await store.lookup(EntryKey("a")).entries.count }
            await store.close()
        }
        #expect(found == 1)
    }
}
