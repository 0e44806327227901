import CleanSlate
import Testing

@testable import Persistence

/// The connection by which a store learns of others' commits.
@Suite(.leavesNothing) struct CommitWatcherTests {
    private let folder = TestFolder()

    /// The news of a catch-up.
    private struct News {
        var names: [String?]? = []
        var position: Int64 = 0
    }

    private func catchUp(_ database: StoreDatabase, from position: Int64) throws -> News? {
        var news: News?
        try database.catchUp(from: { position }, apply: { news = News(names: $0?.map(\.name), position: $1) })
        return news
    }

    @Test func aCommitOfAnotherIsToldOnce() throws {
        let (mine, other) = (try folder.database(isShared: true), try folder.database(isShared: true))
        defer { for database in [mine, other] { database.close() } }
        #expect(!mine.isUnchanged)
        // The first look finds the memory to watch, the second what it says.
        for _ in 0..<2 { _ = try catchUp(mine, from: 0) }
        #expect(mine.isUnchanged)
        _ = try other.write(makeBatch([makeEntry("a")]), now: 1)
        #expect(!mine.isUnchanged)
        let news = try #require(try catchUp(mine, from: 0))
        #expect(news.names == ["a"] && news.position == 1)
        // A look that saw the commit, and one that knows it has.
        #expect(try catchUp(mine, from: 1) == nil)
        #expect(mine.isUnchanged)
    }

    @Test func anOwnCommitIsNoNews() throws {
        let mine = try folder.database(isShared: true)
        defer { mine.close() }
        for _ in 0..<2 { _ = try catchUp(mine, from: 0) }
        _ = try mine.write(makeBatch([makeEntry("a")]), now: 1)
        #expect(!mine.isUnchanged)
        let news = try #require(try catchUp(mine, from: 0))
        #expect(news.names == [] && news.position == 1)
    }

    @Test func aLogThatDoesNotReachBackTellsSo() throws {
        let (mine, other) = (try folder.database(isShared: true), try folder.database(isShared: true))
        defer { for database in [mine, other] { database.close() } }
        _ = try catchUp(mine, from: 0)
        for name in ["a", "b"] { _ = try other.write(makeBatch([makeEntry(name)]), now: 1) }
        try other.connections.write { try $0.run("DELETE FROM change WHERE position = 1") }
        let news = try #require(try catchUp(mine, from: 0))
        #expect(news.names == nil && news.position == 2)
    }

    /// The memory behind the index goes with the last connection.
    @Test func onceClosedNothingIsUnchanged() throws {
        let mine = try folder.database(isShared: true)
        for _ in 0..<2 { _ = try catchUp(mine, from: 0) }
        #expect(mine.isUnchanged)
        mine.close()
        #expect(!mine.isUnchanged)
        #expect(throws: DatabaseFailure.self) { try catchUp(mine, from: 0) }
    }

    @Test func aPrivateStoreWatchesNobody() throws {
        let mine = try folder.database()
        defer { mine.close() }
        _ = try mine.write(makeBatch([makeEntry("a")]), now: 1)
        #expect(try catchUp(mine, from: 0) == nil)
        #expect(!mine.isUnchanged)
    }
}
