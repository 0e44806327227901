import CleanSlate
import FoundationEssentials
import GRDB
import Glibc
import Testing

@testable import Persistence

/// Files that are not as they were written: whatever is done to them, a store opens, gives out nothing but what was put, and goes on (YY-2).
@Suite(.leavesNothing) struct DamageTests {
    static let rounds = ProcessTests.isSoak ? 1000 : 50
    let folder = TestFolder()

    /// The files of a store with 24 entries, three of them large; the log is not yet part of the database.
    private func makeOriginal() async throws -> [String: [UInt8]] {
        let store = Store(folder.configuration())
        for index in 0..<24 { try await put(index, in: store) }
        try await store.flush()
        store.put(NewStoreEntry(key: EntryKey("late"), metadata: Data([1])))
        try await store.flush()
        // Nothing writes now, so that what is copied fits together.
        var files: [String: [UInt8]] = [:]
        for path in [folder.folder.database, folder.folder.database + "-wal"] + folder.bodies { files[path] = folder.contents(path) }
        await store.close()
        return files
    }

    func put(_ index: Int, in store: Store) async throws {
        let writer = store.makeBodyWriter()
        try writer.write(body(index))
        store.put(NewStoreEntry(key: EntryKey("key-\(index)"), metadata: metadata(index), body: try writer.finish()))
    }

    func body(_ index: Int) -> Data { pattern(index % 8 == 0 ? 200_000 : index * 500, seed: UInt64(index + 1)) }
    func metadata(_ index: Int) -> Data { pattern(100 + index, seed: UInt64(index + 100)) }

    private func restore(_ files: [String: [UInt8]]) throws {
        try? FileManager.default.removeItem(atPath: folder.folder.path)
        try folder.folder.prepare()
        for (path, bytes) in files {
            mkdir(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), 0o700)
            try folder.overwrite(path, bytes)
        }
    }

    /// Opens the store, reads everything, and puts something new.
    /// - Returns: how many entries were still there.
    private func useStore(_ comment: String, mode: StoreConfiguration.Mode = .private) async throws -> Int {
        let log = EventLog()
        let store = Store(folder.configuration(mode) { $0.onEvent = log.sink })
        var found = 0
        for index in 0..<24 {
            for entry in await store.lookup(EntryKey("key-\(index)")).entries {
                let isWhole = entry.metadata == metadata(index) && entry.body.length == body(index).count
                #expect(isWhole, "\(comment): key \(index)")
                do throws(StoreError) {
                    let bytes = try entry.body.load(limit: 1 << 20)
                    #expect(bytes == body(index), "\(comment): key \(index)")
                    found += 1
                } catch {
                    #expect([.damaged, .missing].contains(error.code), "\(comment): \(error)")
                }
            }
        }
        let new = await store.lookup(EntryKey("new"))
        store.put(NewStoreEntry(key: EntryKey("new"), metadata: Data([9])), ticket: new.ticket)
        // Damage found only now leads to a new file, and the entry goes there.
        for _ in 0..<2 { try? await store.flush() }
        #expect(store.condition == .open, "\(comment): \(log.all)")
        await store.relieveMemory()
        let again = await store.lookup(EntryKey("new"))
        #expect(again.entries.map(\.metadata) == [Data([9])], "\(comment): \(log.all)")
        await store.close()
        return found
    }

    @Test func flippedBits() async throws {
        let files = try await makeOriginal()
        let paths = files.keys.sorted()
        var survivors = 0
        for round in 0..<Self.rounds {
            var generator = Generator(UInt64(round + 1))
            var damaged = files
            let path = paths[generator.below(paths.count)]
            for _ in 0..<(1 + generator.below(8)) {
                let place = generator.below(files[path]?.count ?? 1)
                damaged[path]?[place] ^= 1 << UInt8(generator.below(8))
            }
            try restore(damaged)
            survivors += try await useStore("round \(round), \(path)")
        }
        print("flipped bits: \(survivors) of \(Self.rounds * 24) entries survived")
        #expect(survivors > 0)
    }

    @Test func cutAndOverwrittenFiles() async throws {
        let files = try await makeOriginal()
        let paths = files.keys.sorted()
        var survivors = 0
        for round in 0..<Self.rounds {
            var generator = Generator(UInt64(round + 5000))
            var damaged = files
            let path = paths[generator.below(paths.count)]
            let count = files[path]?.count ?? 0
            switch generator.below(4) {
            case 0: damaged[path] = Array((files[path] ?? []).prefix(generator.below(count)))
            case 1: damaged[path] = nil
            case 2:
                let start = generator.below(count)
                for place in start..<min(count, start + 8192) { damaged[path]?[place] = 0 }
            default:
                let start = generator.below(count)
                for place in start..<min(count, start + 3000) { damaged[path]?[place] = UInt8(truncatingIfNeeded: generator.next() >> 20) }
            }
            try restore(damaged)
            survivors += try await useStore("round \(round), \(path)", mode: round % 2 == 0 ? .private : .shared)
        }
        print("cut and overwritten files: \(survivors) of \(Self.rounds * 24) entries survived")
        #expect(survivors > 0)
    }

    /// A file SQLite finds nothing wrong with, but whose rows lie.
    @Test func rowsThatLie() async throws {
        let files = try await makeOriginal()
        let columns = [
            "partition", "key_hash", "key", "variant", "metadata", "fresh_until", "revalidatable", "stored_at", "generation", "body_kind",
            "body_length", "body_checksum", "file", "checksum", "cost", "last_used",
        ]
        var survivors = 0
        for round in 0..<Self.rounds {
            var generator = Generator(UInt64(round + 9000))
            try restore(files)
            let queue = try DatabaseQueue(path: folder.folder.database)
            try await queue.write { [generator] database in
                var generator = generator
                let column = columns[generator.below(columns.count)]
                let values: [any DatabaseValueConvertible] = [
                    Int64(bitPattern: generator.next()), Int64(-1), Int64.max, Data(),
                    Data((0..<generator.below(400)).map { UInt8(truncatingIfNeeded: $0) }),
                    "text", 1.5e300, "../../../etc/passwd", String(repeating: "a", count: 32),
                ]
                let value = values[generator.below(values.count)]
                let table = generator.below(6) == 0 ? ("body", "data") : generator.below(8) == 0 ? ("total", "bytes") : ("entry", column)
                try database.execute(sql: "UPDATE \(table.0) SET \(table.1) = ? WHERE id % 5 = \(generator.below(5))", arguments: [value])
            }
            try queue.close()
            _ = generator.next()
            survivors += try await useStore("round \(round)")
        }
        print("rows that lie: \(survivors) of \(Self.rounds * 24) entries survived")
        #expect(survivors > 0)
    }

    @Test func filesOfOthersAreReplaced() async throws {
        func openOver(_ prepare: (DatabaseQueue) throws -> Void) async throws -> [StoreEvent] {
            try? FileManager.default.removeItem(atPath: folder.folder.path)
            try folder.folder.prepare()
            let queue = try DatabaseQueue(path: folder.folder.database)
            try prepare(queue)
            try queue.close()
            let log = EventLog()
            let store = Store(folder.configuration { $0.onEvent = log.sink })
            try await store.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
            await store.close()
            return log.all
        }
        let foreign = try await openOver { try $0.write { try $0.execute(sql: "CREATE TABLE somebody(elses INTEGER)") } }
        let newer = try await openOver {
            try $0.write { try $0.execute(sql: "PRAGMA application_id = \(Schema.applicationID); PRAGMA user_version = \(99 << 20)") }
        }
        let empty = try await openOver { _ in }
        let replaced = [foreign, newer].map { $0.contains { if case .replaced = $0 { true } else { false } } }
        #expect(replaced == [true, true])
        #expect(empty.first == .opened)
        try restore([folder.folder.database: Array("This is no database, and never was. ".utf8) + [UInt8](repeating: 65, count: 9000)])
        let log = EventLog()
        let store = Store(folder.configuration { $0.onEvent = log.sink })
        #expect(await store.opened() == .open)
        await store.close()
        let first = try #require(log.all.first)
        guard case .replaced = first else {
            Issue.record("\(log.all)")
            return
        }
    }

    @Test func anotherContentVersionIsReplaced() async throws {
        for (version, count) in [(1, 0), (1, 1), (2, 0)] {
            let store = Store(folder.configuration { $0.contentVersion = version })
            let found = await store.lookup(EntryKey("a"))
            #expect(found.entries.count == count)
            try await store.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
            await store.close()
        }
    }

    @Test func damagedBodiesGiveNoneOfTheirBytes() async throws {
        let store = Store(folder.configuration())
        try await put(8, in: store)
        try await store.flush()
        let path = try #require(folder.bodies.first)
        let original = folder.contents(path)
        let entry = try #require(await store.lookup(EntryKey("key-8")).entries.first)
        // In the third frame: the others are still good.
        var damaged = original
        damaged[150_000] ^= 1
        try folder.overwrite(path, damaged)
        let reader = try entry.body.makeReader()
        #expect(try reader.read(at: 0, upTo: 131_072) == body(8).prefix(131_072))
        let error = #expect(throws: StoreError.self) { try reader.read(at: 140_000, upTo: 10) }
        #expect(error?.code == .damaged)
        // A frame in the place of another.
        var swapped = original
        swapped.replaceSubrange(0..<65_536, with: original[65_536..<131_072])
        try folder.overwrite(path, swapped)
        let second = try entry.body.makeReader()
        let swap = #expect(throws: StoreError.self) { try second.read(at: 0, upTo: 10) }
        #expect(swap?.code == .damaged)
        try folder.overwrite(path, Array(original.dropLast()))
        let short = #expect(throws: StoreError.self) { try entry.body.makeReader() }
        #expect(short?.code == .damaged)
        let report = try await store.verify()
        #expect(report.problems.count == 1)
        await store.close()
    }
}
