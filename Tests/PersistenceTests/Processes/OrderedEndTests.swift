import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import Persistence
@testable import StoreCrasher

/// What is on disk when a program ends in order: with exit(3), or by returning from `main`.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5))) struct OrderedEndTests {
    let folder = TestFolder()

    @Test(arguments: ["exit", "return", "task", "thread", "closing", "scope", "event", "reader"])
    func everyOrderedEndWritesWhatWaits(how: String) async throws {
        let child = try ChildProcess(["end", folder.folder.path, how])
        #expect(child.wait() == 0)
        #expect(try stored() == 8, "\(how)")
    }

    /// The disk never answers, and the end is not held up for longer than the limit.
    @Test func aHungDiskHoldsTheEndUpForTheLimitAtMost() async throws {
        let began = ContinuousClock.now
        let child = try ChildProcess(["end", folder.folder.path, "hung"])
        #expect(child.wait() == 0)
        let taken = began.duration(to: .now)
        #expect(taken >= OpenStores.exitLimit)
        #expect(taken < OpenStores.exitLimit + .seconds(15))
    }

    private func stored() throws -> Int {
        let inspector = try StoreInspector(directory: folder.folder.path, sealing: nil)
        let names = (0..<8).map { EntryKey("key-\($0)", partition: "p\($0 % 3)") }
        if try !inspector.isSealed() { return try names.filter { try !inspector.entries($0).isEmpty }.count }
        // One was there before.
        return try inspector.totals().entries - 1
    }

    /// `Store.cached` finds what was just put, also while the store is still being opened.
    @Test func whatWasJustPutIsCached() async throws {
        for index in 0..<50 {
            let folder = TestFolder()
            let store = Store(folder.configuration())
            let key = EntryKey("key-\(index)")
            store.put(NewStoreEntry(key: key, metadata: Data([1])))
            #expect(store.cached(key)?.entries.count == 1, "store \(index)")
            await store.close()
        }
    }

    /// Other variants may be on disk, and the answer says so.
    @Test func whatIsCachedBeforeTheDiskIsKnownIsNotComplete() async throws {
        let key = EntryKey("a")
        let first = Store(folder.configuration())
        try await first.putAndFlush(NewStoreEntry(key: key, variant: "old", metadata: Data([1])))
        await first.close()
        let store = Store(folder.configuration())
        store.put(NewStoreEntry(key: key, variant: "new", metadata: Data([2])))
        let cached = try #require(store.cached(key))
        #expect(cached.entries.map(\.variant) == ["new"])
        #expect(!cached.isComplete)
        let found = await store.lookup(key)
        #expect(found.entries.map(\.variant) == ["old", "new"])
        #expect(found.isComplete)
        await store.close()
    }

    /// The next store of a folder takes over from one that still writes.
    @Test func aStoreWaitsForItsPredecessor() async throws {
        for round in 0..<20 {
            do {
                let store = Store(folder.configuration { $0.limits.dirtyAge = .seconds(3600) })
                for index in 0..<50 {
                    store.put(
                        NewStoreEntry(key: EntryKey("\(index)"), metadata: Data([UInt8(round)]), body: .data(pattern(20_000, seed: 1))))
                }
            }
            // Not opened yet where the first has not been either, and still the later of both.
            let next = Store(folder.configuration())
            #expect(await next.opened() == .open, "round \(round)")
            let found = await next.lookup(EntryKey("49"))
            #expect(found.entries.map(\.metadata) == [Data([UInt8(round)])], "round \(round)")
            await next.close()
        }
    }

    /// Two at once are as before: the second works in memory.
    @Test func aStoreDoesNotWaitForOneThatIsInUse() async throws {
        let first = Store(folder.configuration())
        await first.opened()
        let second = Store(folder.configuration())
        #expect(await second.opened() == .memoryOnly(reason: "another process uses the store"))
        await first.close()
        await second.close()
    }

    @Test func aFlushWithALimitEndsWithATypedErrorWhereTheDiskDoesNotAnswer() async throws {
        let sealing = HungSealing()
        let store = Store(folder.configuration { $0.sealing = sealing })
        #expect(await store.opened() == .open)
        sealing.hang()
        store.put(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
        let error = await #expect(throws: StoreError.self) { try await store.flush(atMost: .milliseconds(50)) }
        #expect(error?.code == .unavailable)
        sealing.goOn()
        try await store.flush(atMost: .seconds(60))
        await store.close()
    }
}
