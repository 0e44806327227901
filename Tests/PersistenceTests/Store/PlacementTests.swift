import CleanSlate
import FoundationEssentials
import Testing

@testable import Persistence

/// Entries that are in memory alone, or on disk alone (YB-9).
@Suite(.leavesNothing) struct PlacementTests {
    let folder = TestFolder()

    private func entry(_ variant: String, _ placement: EntryPlacement) -> NewStoreEntry {
        NewStoreEntry(
            key: EntryKey("k"), variant: variant, metadata: Data(variant.utf8), body: .data(Data(count: 10)), placement: placement)
    }

    @Test func memoryAloneIsFoundAndNeverWritten() async throws {
        let store = Store(folder.configuration())
        let ticket = await store.lookup(EntryKey("k")).ticket
        let outcome = store.put(entry("a", .memory), ticket: ticket)
        #expect(outcome == .accepted)
        let found = await store.lookup(EntryKey("k")).entries.map(\.variant)
        #expect(found == ["a"])
        // The look-ups may leave something to write, such as a removal of an entry that was never there.
        try await store.flush()
        let listed = try await store.list().count
        #expect(listed == 0 && store.statistics().pendingKeys == 0)
        await store.close()
        let again = Store(folder.configuration())
        let later = await again.lookup(EntryKey("k")).entries.count
        #expect(later == 0)
        await again.close()
    }

    @Test func memoryAloneTakesThePlaceOfWhatTheDiskHas() async throws {
        let store = Store(folder.configuration())
        store.put(entry("a", .memoryAndDisk))
        try await store.flush()
        store.put(entry("a", .memory))
        try await store.flush()
        let listed = try await store.list().count
        #expect(listed == 0)
        let found = await store.lookup(EntryKey("k")).entries.map(\.placement)
        #expect(found == [.memory])
        await store.close()
    }

    @Test func memoryAloneIsFoundBesideWhatIsOnDisk() async throws {
        let first = Store(folder.configuration())
        first.put(entry("a", .memoryAndDisk))
        await first.close()
        let store = Store(folder.configuration())
        // Before anybody has asked the disk about the key.
        store.put(entry("b", .memory))
        let found = await store.lookup(EntryKey("k")).entries.map(\.variant).sorted()
        #expect(found == ["a", "b"])
        await store.close()
    }

    @Test func newMetadataOfAMemoryEntryStaysInMemory() async throws {
        let store = Store(folder.configuration())
        store.put(entry("a", .memory))
        let held = try #require(await store.lookup(EntryKey("k")).entries.first)
        let outcome = store.update(held, metadata: Data("new".utf8))
        let found = await store.lookup(EntryKey("k")).entries.map(\.metadata)
        #expect(outcome == .accepted && found == [Data("new".utf8)])
        store.remove(EntryKey("k"), variant: "a")
        let after = await store.lookup(EntryKey("k")).entries.count
        #expect(after == 0)
        await store.close()
    }

    @Test func aBodyInAFileIsNotForMemoryAlone() async throws {
        let store = Store(folder.configuration())
        let writer = store.makeBodyWriter()
        try writer.write(Data(count: 300_000))
        var large = entry("a", .memory)
        large.body = try writer.finish()
        let outcome = store.put(large)
        #expect(outcome == .tooLarge)
        await store.close()
    }

    // YB-10
    @Test func diskAloneIsInMemoryOnceItHasBeenRead() async throws {
        let store = Store(folder.configuration())
        store.put(entry("a", .disk))
        #expect(store.statistics().memoryKeys == 0)
        let waiting = await store.lookup(EntryKey("k")).entries.count
        #expect(waiting == 1)
        try await store.flush()
        let listed = try await store.list().count
        #expect(listed == 1 && store.statistics().memoryKeys == 1)
        await store.close()
    }
}
