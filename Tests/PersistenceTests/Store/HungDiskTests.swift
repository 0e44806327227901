import CleanSlate
import Dispatch
import FoundationEssentials
import Testing

@testable import Persistence

/// A disk that does not answer costs the users of its store a miss or a typed error after a while, and nobody else anything.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct HungDiskTests {
    let folder = TestFolder()

    private func hungStore(_ mode: StoreConfiguration.Mode = .private, memory: Int = 0) async throws -> (Store, HungSealing) {
        let sealing = HungSealing()
        let store = Store(
            folder.configuration(mode) {
                $0.sealing = sealing
                $0.limits.readTimeout = .milliseconds(50)
                $0.limits.memoryBytes = memory
            })
        try await store.putAndFlush(NewStoreEntry(key: EntryKey("kept"), metadata: Data([1]), body: .data(pattern(200_000, seed: 1))))
        return (store, sealing)
    }

    @Test(arguments: [StoreConfiguration.Mode.private, .shared])
    func lookupsAreMissesAndFindItAgain(mode: StoreConfiguration.Mode) async throws {
        let (store, sealing) = try await hungStore(mode)
        sealing.hang()
        // More than there are threads to be held.
        for _ in 0..<3 {
            let found = await store.lookup(EntryKey("kept"))
            #expect(found.entries.isEmpty && !found.isComplete)
        }
        #expect(store.lookupBlocking(EntryKey("kept")).entries.isEmpty)
        sealing.goOn()
        while await store.lookup(EntryKey("kept")).entries.isEmpty { await Task.yield() }
        await store.close()
    }

    @Test func memoryAnswersMeanwhileAndAnotherStoreIsAsFastAsEver() async throws {
        let (store, sealing) = try await hungStore(memory: 8 << 20)
        let other = TestFolder()
        let second = Store(other.configuration())
        try await second.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
        await second.relieveMemory()
        store.put(NewStoreEntry(key: EntryKey("memory"), metadata: Data([2])))
        sealing.hang()
        for _ in 0..<3 { _ = await store.lookup(EntryKey("nowhere")) }
        #expect(store.put(NewStoreEntry(key: EntryKey("new"), metadata: Data([3]))) == .accepted)
        #expect(store.cached(EntryKey("memory"))?.entries.count == 1)
        #expect(store.cached(EntryKey("new"))?.entries.count == 1)
        let found = await second.lookup(EntryKey("a"))
        #expect(found.entries.count == 1)
        sealing.goOn()
        await second.close()
        await store.close()
    }

    @Test func bodiesAreATypedError() async throws {
        let (store, sealing) = try await hungStore()
        let entry = try #require(await store.lookup(EntryKey("kept")).entries.first)
        #expect(entry.body.data == nil)
        let reader = try entry.body.makeBoundedReader()
        #expect(try reader.read(at: 0, upTo: 10).count == 10)
        sealing.hang()
        let error = #expect(throws: StoreError.self) { try reader.read(at: 0, upTo: 10) }
        #expect(error?.code == .unavailable)
        sealing.goOn()
        while (try? reader.read(at: 0, upTo: 10)) == nil { await Task.yield() }
        await store.close()
    }

    /// Holds the threads that may wait for the disk, so that whatever needs one does not come back.
    private func holdReaders(of store: Store, during test: () async throws -> Void) async rethrows {
        let (held, letGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        for _ in 0..<2 {
            store.engine.threads.readers.enqueue {
                held.signal()
                letGo.wait()
            }
        }
        defer { for _ in 0..<2 { letGo.signal() } }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                for _ in 0..<2 { held.wait() }
                continuation.resume()
            }
        }
        try await test()
    }

    /// No call of the database happens on the thread that asks: another process's lock on it can hold nobody up. Nor does a hit need another
    /// thread, as long as nobody has committed anything since the last look.
    @Test(.timeLimit(.minutes(5))) func inSharedModeMemoryTellsUntilSomebodyCommits() async throws {
        // Its clock stands still: once a second it looks whether its files are in their place, and that takes another thread.
        let (store, other) = (Store(folder.configuration(.shared), clocks: ManualClocks().clocks), Store(folder.configuration(.shared)))
        try await store.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
        // Its own commit came after its last look.
        #expect(store.cached(EntryKey("a")) == nil)
        for version in [UInt8(1), 2, 3] {
            // A lookup remembers the state that it saw. Now and then one of the two stores has something to tidy up and commits after it:
            // then once more.
            var answered: Data?
            while answered == nil {
                let found = await store.lookup(EntryKey("a"))
                #expect(found.entries.first?.metadata == Data([version]) && found.isComplete)
                await holdReaders(of: store) { answered = store.cached(EntryKey("a"))?.entries.first?.metadata }
            }
            #expect(answered == Data([version]))
            try await other.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([version + 1])))
            #expect(store.cached(EntryKey("a")) == nil)
        }
        // A mapping that is gone is not looked at.
        await store.close()
        #expect(store.cached(EntryKey("a")) == nil)
        await other.close()
    }

    /// `verify()` and `list()` may take minutes. As many as there are threads for lookups leave these their threads.
    @Test func whatReadsEverythingHoldsUpNoLookup() async throws {
        let (store, _) = try await hungStore()
        let (held, letGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let first = store.reading { _ in
            held.signal()
            letGo.wait()
        }
        async let second = store.reading { _ in letGo.wait() }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                held.wait()
                continuation.resume()
            }
        }
        // More than there are threads to be held.
        for _ in 0..<3 {
            let found = await store.lookup(EntryKey("kept"))
            #expect(found.entries.count == 1)
        }
        for _ in 0..<2 { letGo.signal() }
        _ = try await (first, second)
        #expect(try await store.verify().problems.isEmpty)
        await store.close()
    }

    /// A process that only takes tickets and puts hears of what others invalidate all the same.
    @Test func ticketsOfASharedStoreDoNotGrowOld() async throws {
        let (one, other) = (Store(folder.configuration(.shared)), Store(folder.configuration(.shared)))
        for store in [one, other] { await store.opened() }
        let first = one.ticket()
        other.remove(EntryKey("a"))
        try await other.flush()
        while one.ticket().shared == first.shared { await Task.yield() }
        #expect(one.put(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])), ticket: one.ticket()) == .accepted)
        try await one.flush()
        let found = await one.lookup(EntryKey("a"))
        #expect(found.entries.count == 1)
        for store in [one, other] { await store.close() }
    }

    @Test func stalledThreadsAdmitNobody() {
        var stall = DiskStall(threads: 2)
        stall.giveUp()
        #expect(stall.admits)
        stall.giveUp()
        #expect(!stall.admits)
        stall.comeBack()
        #expect(stall.admits)
        stall.comeBack()
        // The word of the one before came late.
        stall.comeBack()
        stall.giveUp()
        #expect(stall.admits)
    }

    /// The file of a body that is not stored after all is removed by the writer thread, not by whoever removed the entry.
    @Test func bodiesOfDroppedPutsAreHandedOn() throws {
        var queue = WriteBackQueue()
        let key = EntryKey("a")
        let file = BodyFile(stored: "/nowhere", layout: FrameLayout(length: 10), checksum: 0)
        let entry = StoreEntry(
            key: key, variant: "", metadata: Data(), body: EntryBody(storage: .file(file)), storedAt: Date(milliseconds: 0),
            freshUntil: nil,
            isRevalidatable: true, generation: 1, placement: .disk)
        for drop in [
            { $0.remove(key, isInvalidation: true, at: .zero) }, { $0.clear(partition: "", at: .zero) }, { $0.clearAll(at: .zero) },
        ]
            as [(inout WriteBackQueue) -> Void]
        {
            queue.put(WriteBackQueue.Put(entry: entry), at: .zero)
            #expect(queue.takeDropped().isEmpty)
            drop(&queue)
            #expect(queue.takeDropped().count == 1)
            queue = WriteBackQueue()
        }
    }
}
