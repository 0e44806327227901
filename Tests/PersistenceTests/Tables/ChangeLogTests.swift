import CleanSlate
import GRDB
import Testing

@testable import Persistence

/// The log by which processes that share a store learn of each other's changes.
@Suite(.leavesNothing) struct ChangeLogTests {
    private let lab: TableLab
    private let mine = ChangeLog(origin: 1, hidesNames: false)
    private let other = ChangeLog(origin: 2, hidesNames: false)

    init() throws { lab = try TableLab() }

    private func note(_ log: ChangeLog, _ partition: String?, _ name: String?, isInvalidation: Bool = true) throws {
        try lab.queue.write { try log.note(partition: partition, name: name, isInvalidation: isInvalidation, in: $0) }
    }

    private func isInvalidated(_ name: String, _ partition: String, since position: Int64) throws -> Bool {
        try lab.queue.read { try mine.isInvalidated(EntryKey(name, partition: partition), since: position, in: $0) }
    }

    @Test func othersChangesAreToldInTheirOrder() throws {
        try note(other, "p", "a", isInvalidation: false)
        try note(mine, "p", "b")
        try note(other, "p", nil)
        try note(other, nil, nil)
        let news = try lab.queue.read { try mine.changes(after: 0, in: $0) }
        let changes = try #require(news.changes)
        #expect(news.position == 4)
        #expect(changes.map(\.partition) == ["p", "p", nil])
        #expect(changes.map(\.name) == ["a", nil, nil])
        #expect(changes.map(\.isInvalidation) == [false, true, true])
        let rest = try lab.queue.read { try mine.changes(after: 3, in: $0) }
        #expect(rest.changes?.count == 1)
        let none = try lab.queue.read { try mine.changes(after: 4, in: $0) }
        #expect(none.changes?.isEmpty == true && none.position == 4)
    }

    @Test func aLogThatDoesNotReachBackTellsNothing() throws {
        for _ in 0..<5 { try note(other, "p", "a") }
        try lab.execute("DELETE FROM change WHERE position <= 2")
        let news = try lab.queue.read { try mine.changes(after: 0, in: $0) }
        #expect(news.changes == nil && news.position == 5)
        let known = try lab.queue.read { try mine.changes(after: 2, in: $0) }
        #expect(known.changes?.count == 3)
    }

    /// Sealed names cannot be told back.
    @Test(arguments: [false, true]) func hiddenNamesConcernEverything(isInvalidation: Bool) throws {
        let hiding = ChangeLog(origin: 1, hidesNames: true)
        try note(other, "p", "a", isInvalidation: isInvalidation)
        try note(other, "q", "b", isInvalidation: false)
        let changes = try #require(try lab.queue.read { try hiding.changes(after: 0, in: $0).changes })
        #expect(changes.count == 1)
        #expect(changes.first?.partition == nil && changes.first?.isInvalidation == isInvalidation)
    }

    @Test func othersInvalidationsRefuseOlderTickets() throws {
        try note(other, "p", "a")
        #expect(try isInvalidated("a", "p", since: 0))
        #expect(try !isInvalidated("a", "p", since: 1))
        #expect(try !isInvalidated("b", "p", since: 0))
        #expect(try !isInvalidated("a", "q", since: 0))
        try note(other, "q", nil)
        #expect(try isInvalidated("a", "q", since: 1))
        #expect(try !isInvalidated("b", "p", since: 1))
        try note(other, nil, nil)
        #expect(try isInvalidated("b", "p", since: 2))
    }

    @Test func ownChangesAndMereUpdatesRefuseNothing() throws {
        try note(mine, "p", "a")
        try note(other, "p", "a", isInvalidation: false)
        #expect(try !isInvalidated("a", "p", since: 0))
    }

    /// It cannot be told any more whether the key was among what was forgotten.
    @Test func ticketsFromBeforeTheLogAreRefused() throws {
        for _ in 0..<3 { try note(mine, "p", "b") }
        try lab.execute("DELETE FROM change WHERE position <= 2")
        #expect(try isInvalidated("a", "p", since: 1))
        #expect(try !isInvalidated("a", "p", since: 2))
    }

    @Test func theOldestAreForgottenOnceThereAreTwiceTooMany() throws {
        let kept = ChangeLog.kept
        try lab.queue.write { database in
            for _ in 0...2 * kept { try mine.note(partition: nil, name: nil, isInvalidation: false, in: database) }
            try mine.trim(in: database)
        }
        #expect(try lab.queue.read { try $0.integer("SELECT min(position) FROM change") } == 1)
        try lab.queue.write { database in
            try mine.note(partition: nil, name: nil, isInvalidation: false, in: database)
            try mine.trim(in: database)
        }
        #expect(try lab.queue.read { try $0.integer("SELECT count(*) FROM change") } == kept)
        #expect(try lab.queue.read { try ChangeLog.position(in: $0) } == 2 * kept + 2)
    }

    @Test func aLogWithoutChangesStandsAtZero() throws {
        #expect(try lab.queue.read { try ChangeLog.position(in: $0) } == 0)
    }
}
