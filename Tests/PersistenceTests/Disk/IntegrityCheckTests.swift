import CleanSlate
import FoundationEssentials
import GRDB
import Glibc
import Testing

@testable import Persistence

/// The check of everything in a store.
@Suite(.leavesNothing) struct IntegrityCheckTests {
    private let folder = TestFolder()
    private let database: StoreDatabase

    init() throws {
        database = try folder.database()
        // More than are read at once, every tenth with a body in a file.
        let entries = (0..<100).map { makeEntry("\($0)", body: .data(Data(count: $0 % 10 == 0 ? 5000 : 5)), generation: Int64($0)) }
        _ = try database.write(makeBatch(entries), now: 1)
    }

    private func problems(after change: String) throws -> [String] {
        defer { database.close() }
        try database.connections.writer.writeWithoutTransaction { try $0.execute(sql: change) }
        return try database.verify().problems
    }

    @Test func everythingIsCounted() throws {
        let report = try database.verify()
        #expect(report.isClean && report.entries == 100)
        #expect(try report.bytes == database.readTotals().bytes)
        database.close()
    }

    @Test func totalsThatLieAreAProblem() throws {
        let found = try problems(after: "UPDATE total SET entries = 7")
        #expect(found.count == 1 && found[0].hasPrefix("the totals say 7 entries"))
    }

    @Test func aDamagedRowIsAProblem() throws {
        #expect(try problems(after: "UPDATE entry SET metadata = x'00' WHERE id = 90") == ["a row is damaged"])
    }

    @Test func aTableThatIsMissingIsAProblem() throws {
        let found = try problems(after: "DROP TABLE body")
        #expect(found.count == 1 && found[0].contains("body"))
    }

    @Test func everyBodyInAFileIsRead() throws {
        defer { database.close() }
        let files = folder.bodies
        unlink(files[0])
        var bytes = folder.contents(files[1])
        bytes[3] ^= 1
        try folder.overwrite(files[1], bytes)
        let report = try database.verify()
        #expect(report.entries == 100)
        #expect(report.problems.count == 2 && report.problems.allSatisfy { $0.hasPrefix("the body of ") })
    }
}

/// The removal of what earlier processes left behind.
@Suite(.leavesNothing) struct OrphanSweepTests {
    private let folder = TestFolder()

    @Test func rowsAndFilesAreBroughtInLine() throws {
        let database = try folder.database()
        defer { database.close() }
        _ = try database.write(makeBatch((0..<3).map { makeEntry("\($0)", body: .data(Data(count: 5000))) }), now: 1)
        let bodies = folder.bodies.sorted()
        unlink(bodies[0])
        let stray = String(bodies[1].dropLast(32)) + String(repeating: "0", count: 32)
        let half = folder.folder.temporary + "/half"
        for path in [stray, half] { try folder.overwrite(path, [1]) }
        let now = Int64(time(nil)) * 1000
        try database.sweep(olderThan: 3600, temporaryOlderThan: 3600, now: now)
        // Files that are young may be those of a process at work; rows without a file are nobody's.
        #expect(Set(folder.bodies) == [bodies[1], bodies[2], stray] && folder.temporaries == ["half"])
        #expect(try database.checkTotals().entries == 2)
        try database.sweep(olderThan: 3600, temporaryOlderThan: 3600, now: now + 7_200_000)
        #expect(folder.bodies.sorted() == Array(bodies[1...]) && folder.temporaries.isEmpty)
        #expect(try database.checkTotals().entries == 2)
    }
}
