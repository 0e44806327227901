import CleanSlate
import FoundationEssentials
import GRDB
import Testing

@testable import Persistence

/// What a private store knows not to be on its disk.
@Suite(.leavesNothing) struct AbsentKeysTests {
    let folder = TestFolder()

    private func entry(_ name: String) -> NewStoreEntry { NewStoreEntry(key: EntryKey(name), metadata: Data(name.utf8)) }

    /// Nil: the disk has to be asked.
    private func names(_ store: Store, _ name: String) -> [String]? {
        store.cached(EntryKey(name))?.entries.map { String(decoding: $0.metadata, as: UTF8.self) }
    }

    @Test func whatNobodyHasPutNeedsNoDisk() async throws {
        for round in 0..<2 {
            let store = Store(folder.configuration())
            // Before it is open nothing is known.
            try await store.flush()
            try await store.flush()
            #expect(names(store, "never") == [])
            // What is on disk has to be read once.
            #expect(names(store, "there") == (round == 0 ? [] : nil))
            if round == 0 {
                store.put(entry("there"))
                // All that there is of it is in memory.
                #expect(names(store, "there") == ["there"])
                try await store.flush()
                #expect(names(store, "there") == ["there"])
                await store.relieveMemory()
            }
            #expect(names(store, "there") == nil)
            let found = await store.lookup(EntryKey("there"))
            #expect(found.entries.count == 1)
            #expect(names(store, "there") == ["there"])
            #expect(names(store, "never") == [])
            await store.close()
        }
    }

    /// Before the keys of the disk are read, some wait to be written already.
    @Test func whatWasPutBeforeTheStoreWasOpenIsFound() async throws {
        let store = Store(folder.configuration { $0.limits.memoryBytes = 0 })
        for index in 0..<100 { store.put(entry("\(index)")) }
        try await store.flush()
        for index in 0..<100 {
            let found = await store.lookup(EntryKey("\(index)"))
            #expect(found.entries.count == 1)
        }
        await store.close()
    }

    /// Reading the keys only spares questions: that it fails costs nothing but them.
    @Test func keysThatCannotBeReadDoNotCostTheDisk() async throws {
        let events = EventLog()
        let store = Store(folder.configuration { $0.onEvent = events.sink })
        for _ in 0..<2 { try await store.flush() }
        let database = try #require(store.engine.handle.current)
        database.connections.readers.close()
        await learnKeys(store, database)
        #expect(store.engine.handle.current === database)
        #expect(events.all == [.opened])
        await store.close()
    }

    @Test func keysThatAreDamagedAreADamagedStore() async throws {
        let events = EventLog()
        let store = Store(folder.configuration { $0.onEvent = events.sink })
        for _ in 0..<2 { try await store.flush() }
        let database = try #require(store.engine.handle.current)
        try await database.connections.writer.writeWithoutTransaction { try $0.execute(sql: "ALTER TABLE entry RENAME TO other") }
        await learnKeys(store, database)
        let isReplaced = events.all.contains { if case .replaced = $0 { true } else { false } }
        #expect(isReplaced)
        await store.close()
    }

    private func learnKeys(_ store: Store, _ database: StoreDatabase) async {
        let engine = store.engine
        await withCheckedContinuation { continuation in
            let isQueued = engine.threads.writer.enqueue {
                engine.writeBack.learnKeys(database)
                continuation.resume()
            }
            if !isQueued { continuation.resume() }
        }
    }

    @Test func othersMayHavePutItIntoASharedStore() async throws {
        let (one, other) = (Store(folder.configuration(.shared)), Store(folder.configuration(.shared)))
        for store in [one, other] { try await store.flush() }
        #expect(names(one, "a") == nil)
        other.put(entry("a"))
        try await other.flush()
        let found = await one.lookup(EntryKey("a"))
        #expect(found.entries.count == 1)
        for store in [one, other] { await store.close() }
    }

    /// The files are removed, and other ones with entries put in their place: what was known of the former says nothing of them.
    @Test func otherFilesAreOtherKeys() async throws {
        let (old, new) = (TestFolder(), folder)
        let first = Store(old.configuration())
        first.put(entry("moved"))
        try await first.flush()
        await first.close()
        let store = Store(new.configuration())
        try await store.flush()
        try await store.flush()
        #expect(names(store, "moved") == [])
        try FileManager.default.removeItem(atPath: new.path + "/store")
        try FileManager.default.moveItem(atPath: old.path + "/store", toPath: new.path + "/store")
        // The next write notices.
        store.put(entry("new"))
        for _ in 0..<3 { try? await store.flush() }
        let found = await store.lookup(EntryKey("moved"))
        #expect(found.entries.count == 1)
        await store.close()
    }
}
