import CleanSlate
import FoundationEssentials
import GRDB
import SystemSupport
import Testing

@testable import Persistence
@testable import StoreCrasher

@Suite(.leavesNothing) struct StoreConcurrencyTests {
    let folder = TestFolder()

    /// Defect 54: a writer elsewhere holds the database: nothing is written until it lets go, and everything is answered.
    @Test func hitsNeverWaitForAWriter() async throws {
        let store = Store(folder.configuration(.shared))
        for index in 0..<10 { store.put(NewStoreEntry(key: EntryKey("\(index)"), metadata: Data([UInt8(index)]))) }
        try await store.flush()
        await store.relieveMemory()
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.folder.database, configuration: configuration)
        func control(_ body: (Database) throws -> Void) throws { try other.unsafeReentrantWrite(body) }
        try control { try $0.beginTransaction(.immediate) }
        store.put(NewStoreEntry(key: EntryKey("waiting"), metadata: Data([1])))
        for index in 0..<10 {
            let found = await store.lookup(EntryKey("\(index)"))
            #expect(found.entries.count == 1)
        }
        let waiting = await store.lookup(EntryKey("waiting"))
        #expect(waiting.entries.count == 1)
        #expect(store.condition == .open)
        try control { try $0.rollback() }
        try other.close()
        try await store.flush()
        await store.relieveMemory()
        let written = await store.lookup(EntryKey("waiting"))
        #expect(written.entries.count == 1)
        await store.close()
    }

    /// Everything at once, from several threads, in both modes; small memory, so that the disk answers, too.
    @Test(arguments: [StoreConfiguration.Mode.private, .shared])
    func everythingAtOnce(mode: StoreConfiguration.Mode) async throws {
        let store = Store(
            folder.configuration(mode) {
                $0.limits.memoryBytes = 300_000
                $0.limits.diskBytes = 3 << 20
                $0.limits.dirtyAge = .milliseconds(2)
            })
        let versions = Counter()
        let puts = await withTaskGroup(of: Int.self) { group in
            for task in 0..<4 {
                group.addTask {
                    var generator = Generator(UInt64(task + 1))
                    var puts = 0
                    for step in 0..<250 {
                        let key = generator.below(12)
                        let name = EntryKey("key-\(key)", partition: "p\(key % 3)")
                        let found = generator.below(2) == 0 ? await store.lookup(name) : store.lookupBlocking(name)
                        for entry in found.entries where entry.body.data != nil {
                            let version = Content.version(of: entry, key: key)
                            #expect(version != nil)
                        }
                        switch generator.below(12) {
                        case 0: store.remove(name)
                        case 1 where step % 7 == 0: store.removeAll(in: "p\(key % 3)")
                        case 2 where step % 11 == 0: await store.relieveMemory()
                        case 3: try? await store.flush()
                        case 4..<9:
                            let version = versions.next()
                            let writer = store.makeBodyWriter()
                            try? writer.write(Content.body(key, version))
                            guard let body = try? writer.finish() else { break }
                            if store.put(Content.entry(key, version: version, body: body), ticket: found.ticket) == .accepted { puts += 1 }
                        case 9:
                            if let entry = found.entries.first { store.update(entry, metadata: entry.metadata) }
                        default: _ = store.statistics()
                        }
                    }
                    return puts
                }
            }
            return await group.reduce(0, +)
        }
        #expect(puts > 100)
        let report = try await store.verify()
        #expect(report.isClean, "\(report.problems)")
        #expect(store.condition == .open)
        let statistics = store.statistics()
        #expect(statistics.entries == report.entries && statistics.bytes == report.bytes)
        await store.close()
    }

    /// YY-3, defect 55: threads, connections and descriptors go with the store.
    @Test func nothingIsLeftOfAClosedStore() async throws {
        func use() async throws {
            let store = Store(folder.configuration(.shared))
            try await store.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
            await store.relieveMemory()
            _ = await store.lookup(EntryKey("a"))
            await store.close()
        }
        func isOurs(_ descriptor: String) -> Bool {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)"))?.hasPrefix(folder.path) ?? false
        }
        for _ in 0..<5 { try await use() }
        let open = Files.names(in: "/proc/self/fd").filter { isOurs($0) }.count
        #expect(open == 0)
    }
}

private final class Counter: Sendable {
    private let value = Lock(0)

    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
