import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// What a caller wants above what HTTP says (REQ-2, YB-9).
@Suite(.leavesNothing) struct CachePolicyTests {
    private func table(
        _ lines: String..., after: Double = 0, change: (inout CachePolicy) -> Void = { _ in }
    ) -> CacheTable {
        var policy = CachePolicy.standard
        change(&policy)
        var table = CacheTable(policy)
        table.store(.init(200, HTTPFields(lines: lines), body: "stored"))
        table.wait(after)
        return table
    }

    @Test func nothingSaidIsAPrivateCache() {
        let policy = CachePolicy.standard
        #expect(policy == CachePolicy())
        #expect(policy.read == .validOrNetwork && policy.write == .both && policy.timeToLive == nil)
        #expect(policy.version.isEmpty && policy.partition.isEmpty && policy.sensitiveValue == nil)
        #expect(policy.customKey == nil && policy.additionalMethods.isEmpty && policy.maxVariants == 16)
        #expect(policy.usesHeuristics && policy.servesStaleWhenDisconnected && policy.coalescesRequests)
    }

    @Test func offIsNeitherReadNorWritten() {
        #expect(CachePolicy.off.read == .none && CachePolicy.off.write.isEmpty)
    }

    @Test func theModesOfWritingAreApart() {
        #expect(CachePolicy.WriteMode.memory.isDisjoint(with: .disk))
        #expect(CachePolicy.WriteMode.both == [.memory, .disk])
        #expect(CachePolicy.WriteMode.both != .memory && CachePolicy.WriteMode.both != .disk)
    }

    @Test func methodsAreKeptWithAKeyOfTheirOwnOnly() {
        var policy = CachePolicy()
        policy.additionalMethods = [.post]
        #expect(!policy.keeps(.post))
        policy.customKey = CachePolicy.CustomKey("body") { _, key in key + "#body" }
        #expect(policy.keeps(.post) && !policy.keeps(.put))
    }

    /// The function cannot be compared: its name stands for it.
    @Test func keysWithOneNameAreTheSame() {
        let key = CachePolicy.CustomKey("a") { _, key in key }
        let (same, other) = (CachePolicy.CustomKey("a") { _, key in key + "x" }, CachePolicy.CustomKey("b") { _, key in key })
        #expect(key == same && key != other)
        #expect(Set([key, other, same]).count == 2)
    }

    // YTK-15
    @Test func withoutReadingTheRequestGoesAsItIsAndItsResponseIsStored() {
        var table = table("Cache-Control: max-age=60", "ETag: \"a\"")
        table.policy.read = .none
        let given = table.send { _ in .init(200, HTTPFields(lines: ["Cache-Control: max-age=60"]), body: "new") }
        #expect(given.sent.first?.fields == [:])
        #expect(given.body == "new")
        #expect(given.cacheStatus.forward == .bypass)
        table.policy.read = .validOrNetwork
        #expect(table.ask().body == "new")
        #expect(table.entries().count == 1)
    }

    // YB-10
    @Test func cachedThenNetworkDeliversBoth() {
        for after in [0.0, 100] {
            var table = table("Cache-Control: max-age=60", "ETag: \"a\"", after: after) { $0.read = .thenNetwork }
            let given = table.send { _ in .init(200, HTTPFields(lines: ["Cache-Control: max-age=60"]), body: "new") }
            #expect(given.body == "stored")
            #expect(given.beside.map { $0.fields[.ifNoneMatch] } == ["\"a\""])
            #expect(table.ask().body == "new")
        }
        var empty = CacheTable()
        empty.policy.read = .thenNetwork
        #expect(empty.ask().body == "from the server")
    }

    /// The caller has the stored one already: errors are told as errors.
    @Test func theSecondDeliveryIsWhatTheServerSays() {
        for control in ["max-age=60", "max-age=1", "max-age=1, stale-while-revalidate=60", "max-age=1, stale-if-error=60"] {
            var table = table("Cache-Control: \(control)", "ETag: \"a\"", after: 5) { $0.read = .thenNetwork }
            let part = table.send(.get, "http://a.test/", HTTPFields(lines: ["Range: bytes=0-1"])) { _ in .init(206, body: "ne") }
            #expect(part.body == "st")
            #expect(part.beside.first?.fields[.range] == "bytes=0-1")
            #expect(part.second == .init(status: 206, body: "ne"))
            #expect(table.send { _ in nil }.second == .init(status: nil, body: ""))
            #expect(table.send { _ in .init(503, body: "error") }.second == .init(status: 503, body: "error"))
            #expect(table.send { _ in .init(304) }.second == .init(status: 200, body: "stored"))
        }
    }

    @Test(arguments: ["no-cache", "max-age=1, must-revalidate"])
    func cachedThenNetworkDoesNotShowWhatMustNotBeStale(_ control: String) {
        var table = table("Cache-Control: \(control)", "ETag: \"a\"", after: 5) { $0.read = .thenNetwork }
        let given = table.ask()
        #expect(given.body == "from the server")
        #expect(given.beside.isEmpty)
    }

    @Test func cachedThenNetworkKeepsToOnlyIfCached() {
        let fields = HTTPFields(lines: ["Cache-Control: only-if-cached"])
        var fresh = table("Cache-Control: max-age=60") { $0.read = .thenNetwork }
        #expect(fresh.ask(fields).beside.isEmpty)
        var stale = table("Cache-Control: max-age=1", after: 5) { $0.read = .thenNetwork }
        #expect(stale.ask(fields).status == 504)
    }

    /// RFC 8246.
    @Test func aReloadAsksTheServerUnlessTheResponseIsImmutable() {
        var table = table("Cache-Control: max-age=60", "ETag: \"a\"") { $0.read = .revalidate }
        let given = table.ask()
        #expect(given.sent.map { $0.fields[.cacheControl] } == ["max-age=0"])
        #expect(given.sent.map { $0.fields[.ifNoneMatch] } == ["\"a\""])
        #expect(given.cacheStatus.forward == .request)
        var immutable = self.table("Cache-Control: max-age=60, immutable") { $0.read = .revalidate }
        let hits = immutable.hits()
        #expect(hits)
        var stale = self.table("Cache-Control: max-age=1, immutable", after: 5) { $0.read = .revalidate }
        #expect(stale.ask(HTTPFields(lines: ["Cache-Control: max-stale"])).sent.count == 1)
        stale = self.table("Cache-Control: max-age=1, immutable", after: 5) { $0.read = .revalidate }
        #expect(stale.ask().sent.map { $0.fields[.cacheControl] } == ["max-age=0"])
    }

    @Test(arguments: ["max-age=3", "min-fresh=599", "no-cache"])
    func immutableWaivesTheReloadAndNoOtherWish(_ wish: String) {
        var table = table("Cache-Control: max-age=600, immutable", after: 74) { $0.read = .revalidate }
        let given = table.ask(HTTPFields(lines: ["Cache-Control: \(wish)"]))
        #expect(given.sent.count == 1)
    }

    @Test func aReloadLeavesTheCallersDirectivesAlone() {
        var table = table("Cache-Control: max-age=60") { $0.read = .revalidate }
        let given = table.ask(HTTPFields(lines: ["Cache-Control: max-age=30"]))
        #expect(given.sent.map { $0.fields[.cacheControl] } == ["max-age=30"])
    }

    @Test func cacheOnlyNeverAsks() {
        var fresh = table("Cache-Control: max-age=60") { $0.read = .only }
        #expect(fresh.ask().body == "from the server" || fresh.entries().isEmpty)
        var table = table("Cache-Control: max-age=1", after: 5)
        table.policy.read = .only
        let stale = table.ask()
        #expect(stale.sent.isEmpty)
        #expect(stale.body == "stored")
        table.policy.servesStaleWhenDisconnected = false
        #expect(table.ask().status == 504)
        table.policy.servesStaleWhenDisconnected = true
        #expect(table.ask(HTTPFields(lines: ["Cache-Control: no-cache"])).status == 504)
        #expect(table.ask([:], .get, "http://a.test/other").status == 504)
        var strict = self.table("Cache-Control: max-age=1, must-revalidate", after: 5)
        strict.policy.read = .only
        #expect(strict.ask().status == 504)
    }

    @Test func withoutWritingNothingIsStored() {
        var table = table("Cache-Control: max-age=60") { $0.write = .none }
        #expect(table.entries().isEmpty)
        let given = table.send { _ in .init(200, HTTPFields(lines: ["Cache-Control: max-age=60"])) }
        #expect(given.cacheStatus.detail == "the policy stores nothing")
    }

    @Test func withoutWritingA304ChangesNothing() {
        var table = table("Cache-Control: max-age=1", "ETag: \"a\"", after: 5)
        table.policy.write = .none
        let given = table.send { _ in .init(304, HTTPFields(lines: ["ETag: \"a\"", "Cache-Control: max-age=60"])) }
        #expect(given.body == "stored")
    }

    // YB-12
    @Test func aTimeToLiveMakesAnythingStorableAndFresh() {
        var table = table(after: 500) { $0.timeToLive = .seconds(600) }
        let hits = table.hits()
        #expect(hits)
        table.wait(100)
        let later = table.hits()
        #expect(!later)
    }

    // YTK-13
    @Test func aTimeToLiveIsJudgedByTheReader() {
        var table = table("Cache-Control: max-age=600", after: 60)
        table.policy.timeToLive = .seconds(30)
        let impatient = table.hits()
        #expect(!impatient)
        var zero = self.table("Cache-Control: max-age=600") { $0.timeToLive = .zero }
        let hits = zero.hits()
        #expect(!hits)
    }

    /// Defect 32: whoever said that it is zero, the response is stored as with any other lifetime, and the server is asked before it is used.
    @Test func aLifetimeOfZeroIsStoredAndAskedAbout() {
        let tables = [table("Cache-Control: max-age=0", "ETag: \"a\""), table("ETag: \"a\"") { $0.timeToLive = .zero }]
        for var table in tables {
            let count = table.entries().count
            let asked = table.ask().sent.map { $0.fields[.ifNoneMatch] ?? "-" }
            #expect(count == 1 && asked == ["\"a\""])
        }
    }

    @Test func aTimeToLiveCountsMoreThanNoCacheButNotMoreThanNoStore() {
        var table = table("Cache-Control: no-cache, must-revalidate, max-age=0", after: 5) { $0.timeToLive = .seconds(600) }
        let hits = table.hits()
        #expect(hits)
        table.wait(600)
        #expect(table.ask().sent.count == 1)
        let forbidden = self.table("Cache-Control: no-store") { $0.timeToLive = .seconds(600) }
        #expect(forbidden.entries().isEmpty)
    }

    @Test func aTimeToLiveIsForSuccessesOnly() {
        var table = CacheTable()
        table.policy.timeToLive = .seconds(600)
        table.store(.init(500))
        table.store(.init(404))
        #expect(table.entries().isEmpty)
    }

    // YTK-13
    @Test func anotherVersionOrSensitiveValueIsNotRead() {
        var table = table("Cache-Control: max-age=60") {
            $0.version = "1"
            $0.sensitiveValue = "alice"
        }
        var hits = table.hits()
        #expect(hits)
        for change: (inout CachePolicy) -> Void in [{ $0.version = "2" }, { $0.sensitiveValue = "bob" }, { $0.sensitiveValue = nil }] {
            var other = table
            change(&other.policy)
            hits = other.hits()
            #expect(!hits)
        }
        let text = String(describing: table.entries().map(\.response))
        #expect(!text.contains("alice"))
    }

    @Test func anotherVersionIsNotAskedAboutAndIsReplaced() {
        var table = table("Cache-Control: max-age=1", "ETag: \"a\"", after: 5)
        table.policy.version = "2"
        let given = table.send { _ in .init(200, HTTPFields(lines: ["Cache-Control: max-age=60"])) }
        #expect(given.sent.first?.fields[.ifNoneMatch] == nil)
        #expect(table.entries().map(\.response.version) == ["2"])
    }

    @Test func partitionsSeeNothingOfEachOther() {
        var table = table("Cache-Control: max-age=60") { $0.partition = "alice" }
        table.policy.partition = "bob"
        let hits = table.hits()
        #expect(!hits)
    }

    // YTK-16
    @Test func aCustomKeyMayTakeSeveralURLsForOne() {
        var table = CacheTable()
        table.policy.customKey = CachePolicy.CustomKey("without query") { _, uri in String(uri.prefix { $0 != "?" }) }
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60"])), "http://a.test/x?session=1")
        let hits = table.hits([:], .get, "http://a.test/x?session=2")
        #expect(hits)
    }

    @Test func postsThatReadAreKeptUnderKeysOfTheirOwn() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60"]), body: "get"))
        table.policy.additionalMethods = [.post]
        table.policy.timeToLive = .seconds(60)
        table.policy.customKey = CachePolicy.CustomKey("query 1") { method, uri in method == .post ? uri + " query 1" : uri }
        let first = table.send(.post) { _ in .init(200, body: "post") }
        #expect(first.body == "post")
        let second = table.ask([:], .post)
        #expect(second.sent.isEmpty)
        #expect(second.body == "post")
        #expect(table.ask().body == "get")
        table.policy.customKey = CachePolicy.CustomKey("query 2") { method, uri in method == .post ? uri + " query 2" : uri }
        let other = table.hits([:], .post)
        #expect(!other)
        let failed = table.send(.post) { _ in .init(500) }
        #expect(!failed.cacheStatus.isStored)
    }

    @Test func offReadsAndStoresNothing() {
        var table = CacheTable(.off)
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60"])))
        #expect(table.entries().isEmpty)
        #expect(table.ask().cacheStatus.forward == .bypass)
    }

    @Test func policiesAreComparedByWhatTheySay() {
        var policy = CachePolicy()
        #expect(policy == .standard)
        policy.timeToLive = .seconds(1)
        #expect(policy != .standard)
        #expect(CachePolicy.WriteMode.both == [.memory, .disk])
        #expect(CachePolicy.WriteMode.none.isEmpty)
    }
}
