import CleanSlate
import FoundationEssentials
import GRDB
import Glibc
import Testing

@testable import Persistence

/// What damage to a store costs the records (cookies, credentials) that share it with entries.
@Suite(.leavesNothing, .timeLimit(.minutes(15))) struct RecordSalvageTests {
    let folder = TestFolder()

    private func name(_ index: Int) -> String { "record-\(index)" }
    private func data(_ index: Int) -> Data { pattern(index * 7, seed: UInt64(index)) }

    private func fill(_ configuration: StoreConfiguration) async throws {
        let store = Store(configuration)
        for index in 0..<60 {
            store.put(NewStoreEntry(key: EntryKey("\(index)"), metadata: Data([1]), body: .data(pattern(3000, seed: 2))))
        }
        try await store.flush()
        try await store.setRecords((0..<200).map { StoreRecord(name: name($0), data: data($0)) }, in: "n")
        await store.close()
    }

    /// - Returns: how many records are there, each as it was written.
    private func records(_ configuration: StoreConfiguration) async throws -> Int {
        let store = Store(configuration)
        for index in 0..<60 { _ = await store.lookup(EntryKey("\(index)")) }
        // The first to read a damaged one is told so.
        if (try? await store.records(in: "n")) == nil { _ = await store.opened() }
        let found = try await store.records(in: "n")
        for record in found {
            let index = try #require(Int(record.name.split(separator: "-").last ?? ""))
            #expect(record.data == data(index))
        }
        await store.close()
        return found.count
    }

    private func change(_ statement: String) throws {
        let queue = try DatabaseQueue(path: folder.folder.database)
        try queue.write { try $0.execute(sql: statement) }
        try queue.close()
    }

    @Test func damagedEntriesCostNoRecord() async throws {
        try await fill(folder.configuration())
        try change("UPDATE entry SET checksum = checksum + 1")
        let log = EventLog()
        #expect(try await records(folder.configuration { $0.onEvent = log.sink }) == 200)
        #expect(log.all.contains { if case .replaced = $0 { true } else { false } })
    }

    @Test func aMissingTableCostsNoRecord() async throws {
        try await fill(folder.configuration())
        try change("DROP TABLE body")
        #expect(try await records(folder.configuration()) == 200)
    }

    @Test func aDamagedRecordCostsItselfAlone() async throws {
        try await fill(folder.configuration())
        try change("UPDATE record SET data = x'00' WHERE name = CAST('record-7' AS BLOB)")
        #expect(try await records(folder.configuration()) == 199)
    }

    @Test func anotherContentVersionKeepsRecords() async throws {
        try await fill(folder.configuration())
        let store = Store(folder.configuration { $0.contentVersion = 3 })
        let found = await store.lookup(EntryKey("1"))
        #expect(found.entries.isEmpty)
        await store.close()
        #expect(try await records(folder.configuration { $0.contentVersion = 3 }) == 200)
    }

    @Test func sealedRecordsAreKeptUnderTheirKeyAlone() async throws {
        let sealing = HungSealing()
        try await fill(folder.configuration { $0.sealing = sealing })
        try change("UPDATE entry SET checksum = checksum + 1")
        #expect(try await records(folder.configuration { $0.sealing = sealing }) == 200)
        #expect(try await records(folder.configuration()) == 0)
    }

    /// Any damage at all: what is still there is as it was written, and most of it is.
    @Test func flippedBitsCostTheRecordsTheyMeet() async throws {
        let rounds = ProcessTests.isSoak ? 400 : 20
        try await fill(folder.configuration())
        let original = folder.contents(folder.folder.database)
        var survivors = 0
        for round in 0..<rounds {
            var generator = Generator(UInt64(round + 1))
            var damaged = original
            for _ in 0..<4 { damaged[8192 + generator.below(original.count - 8192)] ^= 1 << UInt8(generator.below(8)) }
            for suffix in ["-wal", "-shm"] { unlink(folder.folder.database + suffix) }
            try folder.overwrite(folder.folder.database, damaged)
            survivors += (try? await records(folder.configuration())) ?? 0
        }
        print("flipped bits: \(survivors) of \(rounds * 200) records survived")
        #expect(survivors > rounds * 100)
    }

    /// SQLITE_IOERR_READ and SQLITE_IOERR_SHORT_READ: the disk could not be read, once.
    @Test(arguments: [Int32(1), 2]) func anErrorWhileReadingIsNoDamage(detail: Int32) {
        let failure = DatabaseFailure(code: 10 | detail << 8, message: "disk I/O error")
        #expect(failure == .unavailable("disk I/O error"))
    }

    @Test func recordsAreReplacedInOneTransaction() async throws {
        let store = Store(folder.configuration())
        try await store.setRecords((0..<3).map { StoreRecord(name: name($0), data: data($0)) }, in: "n")
        // One that is longer than SQLite takes: the transaction fails, and nothing of it is there.
        let change = RecordChange(replacesAll: true, kept: [StoreRecord(name: "new", data: Data([1]))])
        let database = try #require(store.engine.handle.current)
        try await database.connections.writer.writeWithoutTransaction {
            try $0.execute(
                sql: "CREATE TEMP TRIGGER fails BEFORE INSERT ON record BEGIN SELECT RAISE(ABORT, 'no'); END")
        }
        let error = await withCheckedContinuation { continuation in
            store.engine.threads.writer.enqueue {
                do throws(DatabaseFailure) {
                    try database.write(change, in: "n")
                    continuation.resume(returning: DatabaseFailure?.none)
                } catch { continuation.resume(returning: error) }
            }
        }
        #expect(error != nil)
        #expect(try await store.records(in: "n").count == 3)
        await store.close()
    }
}
