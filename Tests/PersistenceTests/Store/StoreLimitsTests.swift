import CleanSlate
import FoundationEssentials
import Testing

@testable import Persistence

@Suite(.leavesNothing) struct StoreLimitsTests {
    let folder = TestFolder()

    // YY-2
    @Test func whatIsTooMuchGoesAndTheCountStaysExact() async throws {
        let log = EventLog()
        let store = Store(
            folder.configuration {
                $0.limits.diskBytes = 2 << 20
                $0.limits.bodyBytes = 1 << 20
                $0.onEvent = log.sink
            })
        for index in 0..<600 {
            let writer = store.makeBodyWriter()
            try writer.write(pattern(index % 50 == 0 ? 150_000 : 8000, seed: UInt64(index)))
            store.put(NewStoreEntry(key: EntryKey("\(index)"), metadata: Data(count: 100), body: try writer.finish()))
            if index % 100 == 99 { try await store.flush() }
        }
        try await store.flush()
        let statistics = store.statistics()
        #expect(statistics.bytes <= 2 << 20 && statistics.bytes > 1 << 20, "\(statistics.bytes)")
        let report = try await store.verify()
        #expect(report.isClean && report.bytes == statistics.bytes && report.entries == statistics.entries, "\(report)")
        let wasEvicted = log.all.contains { if case .evicted = $0 { true } else { false } }
        #expect(wasEvicted)
        // The newest are the ones that stayed.
        await store.relieveMemory()
        let newest = await store.lookup(EntryKey("599"))
        let oldest = await store.lookup(EntryKey("1"))
        #expect(newest.entries.count == 1 && oldest.entries.isEmpty)
        let files = folder.bodies.count
        let listed = try await store.list(limit: 1000)
        #expect(files == listed.filter(\.isFile).count)
        await store.close()
    }

    @Test func whatIsOfNoUseGoesFirstThenWhatWasUsedLongestAgo() async throws {
        let clock = ManualClocks()
        let store = Store(folder.configuration { $0.limits.diskBytes = 100_000 }, clocks: clock.clocks)
        let soon = Date(milliseconds: clock.clocks.wall()) + 5
        func put(_ name: String, isRevalidatable: Bool = true) async throws {
            let entry = NewStoreEntry(
                key: EntryKey(name), metadata: Data(count: 100), body: .data(Data(count: 8000)), freshUntil: soon,
                isRevalidatable: isRevalidatable)
            try await store.putAndFlush(entry)
            clock.advance(by: 1)
        }
        for index in 0..<5 { try await put("old \(index)") }
        for index in 0..<3 { try await put("useless \(index)", isRevalidatable: false) }
        clock.advance(by: 100)
        // Used again, the first is the newest of the old.
        _ = await store.lookup(EntryKey("old 0"))
        try await store.flush()
        // What goes, in the order in which it goes.
        var gone: [String] = []
        var before = Set(try await store.list().map(\.key.name))
        var index = 0
        while gone.count < 5 {
            try #require(index < 20)
            try await put("new \(index)")
            index += 1
            let now = Set(try await store.list().map(\.key.name))
            let batch = before.subtracting(now).sorted()
            gone += batch.filter { $0.hasPrefix("useless") } + batch.filter { !$0.hasPrefix("useless") }
            before = now
        }
        #expect(Set(gone.prefix(3)) == ["useless 0", "useless 1", "useless 2"], "\(gone)")
        #expect(Array(gone[3..<5]) == ["old 1", "old 2"], "\(gone)")
        await store.close()
    }

    // YTK-13
    @Test func aClockThatIsSetBackMakesNothingImmortal() async throws {
        let clock = ManualClocks()
        let store = Store(folder.configuration { $0.limits.diskBytes = 100_000 }, clocks: clock.clocks)
        clock.setWall(by: 86_400)
        for index in 0..<6 {
            try await store.putAndFlush(NewStoreEntry(key: EntryKey("future \(index)"), metadata: Data(), body: .data(Data(count: 8000))))
        }
        clock.setWall(by: -2 * 86_400)
        for index in 0..<20 {
            try await store.putAndFlush(NewStoreEntry(key: EntryKey("now \(index)"), metadata: Data(), body: .data(Data(count: 8000))))
            clock.advance(by: 1)
        }
        let names = try await store.list().map(\.key.name)
        #expect(!names.contains { $0.hasPrefix("future") }, "\(names)")
        #expect(names.contains("now 19"))
        // A hit is noted although its last one lies in the future.
        let found = await store.lookup(EntryKey("now 19"))
        #expect(found.entries.count == 1)
        let report = try await store.verify()
        #expect(report.isClean)
        await store.close()
    }

    // S0-1
    @Test func changesAreWrittenWithinTheirAgeWithoutBeingAsked() async throws {
        let log = EventLog()
        let store = Store(
            folder.configuration {
                $0.limits.dirtyAge = .milliseconds(30)
                $0.onEvent = log.sink
            })
        await store.opened()
        for index in 0..<5 { store.put(NewStoreEntry(key: EntryKey("\(index)"), metadata: Data([1]))) }
        // In as many batches as the machine has made of them.
        var written = 0
        while written < 5, case .wrote(let keys) = await log.first(where: { if case .wrote = $0 { true } else { false } }) {
            written += keys
        }
        #expect(written == 5)
        #expect(store.statistics().pendingKeys == 0)
        await store.close()
    }

    @Test func writingThroughWaitsForNothing() async throws {
        let log = EventLog()
        let store = Store(
            folder.configuration {
                $0.limits.dirtyAge = .seconds(3600)
                $0.writesThrough = true
                $0.onEvent = log.sink
            })
        store.put(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
        let event = await log.first { if case .wrote = $0 { true } else { false } }
        #expect(event == .wrote(keys: 1))
        await store.close()
    }

    // YY-1
    @Test func memoryKeepsToItsBytesAndTheDiskAnswersForTheRest() async throws {
        let store = Store(folder.configuration { $0.limits.memoryBytes = 64 << 10 })
        for index in 0..<200 {
            store.put(NewStoreEntry(key: EntryKey("\(index)"), metadata: Data([UInt8(index)]), body: .data(Data(count: 2000))))
        }
        let memory = store.statistics()
        #expect(memory.memoryBytes <= 64 << 10)
        for index in 0..<200 {
            let found = await store.lookup(EntryKey("\(index)"))
            #expect(found.entries.map(\.metadata) == [Data([UInt8(index)])])
        }
        #expect(store.statistics().memoryBytes <= 64 << 10)
        await store.close()
    }

    @Test func aDiskThatDoesNotKeepUpRefusesInsteadOfFillingMemory() async throws {
        let store = Store(folder.configuration { $0.limits.pendingBytes = 100_000 })
        var outcomes: Set<PutOutcome> = []
        for index in 0..<2000 { outcomes.insert(store.put(NewStoreEntry(key: EntryKey("\(index)"), metadata: Data(count: 50_000)))) }
        #expect(outcomes == [.accepted, .overloaded])
        #expect(store.statistics().pendingBytes <= 200_000)
        let tooLarge = store.put(NewStoreEntry(key: EntryKey("a"), metadata: Data(), body: .data(Data(count: 33 << 20))))
        #expect(tooLarge == .tooLarge)
        await store.close()
        let closed = store.put(NewStoreEntry(key: EntryKey("a"), metadata: Data()))
        #expect(closed == .closed)
    }

    @Test func manyEntries() async throws {
        let count = ProcessTests.isSoak ? 100_000 : 5_000
        let store = Store(folder.configuration { $0.limits.pendingBytes = .max })
        for index in 0..<count {
            store.put(
                NewStoreEntry(key: EntryKey("https://example.test/\(index)"), metadata: Data(count: 64), body: .data(Data(count: 200))))
        }
        try await store.flush()
        let statistics = store.statistics()
        #expect(statistics.entries == count)
        await store.relieveMemory()
        for index in stride(from: 0, to: count, by: 97) {
            let found = await store.lookup(EntryKey("https://example.test/\(index)"))
            #expect(found.entries.count == 1)
        }
        let report = try await store.verify()
        #expect(report.isClean && report.entries == count)
        var listed = 0
        var last: Int64 = 0
        while true {
            let page = try await store.list(after: last, limit: 777)
            guard let end = page.last else { break }
            listed += page.count
            last = end.id
        }
        #expect(listed == count)
        print("a store of \(count) entries")
        store.removeAll()
        try await store.flush()
        #expect(store.statistics().entries == 0 && store.statistics().bytes == 0)
        await store.close()
    }

    @Test(arguments: [Int.min, -1, 0, 1, .max])
    func limitsWithoutSenseDoNoHarm(number: Int) async throws {
        let store = Store(
            folder.configuration {
                $0.contentVersion = number
                $0.limits.memoryBytes = number
                $0.limits.diskBytes = number
                $0.limits.bodyBytes = number
                $0.limits.inlineBodyBytes = number
                $0.limits.variantsPerKey = number
                $0.limits.pendingBytes = number
                $0.limits.dirtyAge = .seconds(Int64(number))
            })
        await store.opened()
        for index in 0..<20 {
            let key = EntryKey("\(index % 7)")
            let ticket = await store.lookup(key).ticket
            let writer = store.makeBodyWriter()
            try? writer.write(Data(count: 1000))
            if let body = try? writer.finish() {
                store.put(NewStoreEntry(key: key, variant: "\(index)", metadata: Data(count: 10), body: body), ticket: ticket)
            }
            store.put(NewStoreEntry(key: key, metadata: Data(count: 10), body: .data(Data(count: 1000))))
        }
        try await store.flush()
        #expect(store.condition == .open)
        let report = try await store.verify()
        #expect(report.isClean, "\(report)")
        let most = number == .max ? 20 : 0
        let listed = try await store.list()
        #expect(listed.count >= most)
        await store.close()
    }
}
