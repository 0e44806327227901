import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9111 sections 4 and 5.2.1: when a stored response is the answer, and what it looks like.
@Suite(.leavesNothing) struct ReuseTests {
    private func table(_ lines: String..., body: String = "stored", after: Double = 0, policy: CachePolicy = .standard) -> CacheTable {
        var table = CacheTable(policy)
        table.store(.init(200, HTTPFields(lines: lines), body: body))
        table.wait(after)
        return table
    }

    /// Fields of the stored response, its age, fields of the request, and whether the server is asked.
    @Test(
        arguments: [
            ("max-age=60", 5, [], false), ("max-age=60", 60, [], true), ("max-age=60", 5, ["Cache-Control: max-age=0"], true),
            ("max-age=60", 5, ["Cache-Control: max-age=4"], true), ("max-age=60", 5, ["Cache-Control: max-age=5"], false),
            ("max-age=60", 0, ["Cache-Control: max-age=0"], true), ("max-age=60", 5, ["Cache-Control: max-age=x"], true),
            ("max-age=60", 5, ["Cache-Control: min-fresh=55"], false), ("max-age=60", 5, ["Cache-Control: min-fresh=56"], true),
            ("max-age=60", 5, ["Cache-Control: min-fresh=x"], true), ("max-age=60", 5, ["Cache-Control: no-cache"], true),
            ("max-age=60", 5, ["Cache-Control: no-store"], true), ("max-age=60", 5, ["Pragma: no-cache"], true),
            ("max-age=60", 5, ["Pragma: no-cache", "Cache-Control: max-age=9"], false), ("max-age=60", 5, ["If-Match: \"a\""], true),
            ("max-age=60", 5, ["If-Unmodified-Since: x"], true), ("max-age=1", 5, ["Cache-Control: max-stale"], false),
            ("max-age=1", 5, ["Cache-Control: max-stale=4"], false), ("max-age=1", 5, ["Cache-Control: max-stale=3"], true),
            ("max-age=1", 5, ["Cache-Control: max-stale=x"], true), ("max-age=1, must-revalidate", 5, ["Cache-Control: max-stale"], true),
            ("max-age=9, must-revalidate", 5, [], false), ("max-age=60, no-cache", 5, [], true),
            ("no-cache", 5, ["Cache-Control: max-stale"], true),
            ("max-age=60, immutable", 5, ["Cache-Control: max-age=0"], false),
            ("max-age=60, immutable", 5, ["Cache-Control: no-cache"], true),
            ("max-age=1, immutable", 5, ["Cache-Control: max-age=0"], true),
            ("max-age=1, proxy-revalidate", 5, ["Cache-Control: max-stale"], false),
            ("max-age=1, s-maxage=1", 5, ["Cache-Control: max-stale"], false),
            ("max-age=9", 5, ["Cache-Control: max-stale=9, max-age=4"], true),
        ] as [(String, Double, [String], Bool)])
    func theServerIsAskedWhereItMustBe(_ stored: String, _ age: Double, _ request: [String], _ isAsked: Bool) {
        var table = table("Cache-Control: \(stored)", after: age)
        let given = table.ask(HTTPFields(lines: request))
        #expect(!given.sent.isEmpty == isAsked)
        #expect(given.body == (isAsked ? "from the server" : "stored"))
    }

    @Test func aServedResponseHasItsAgeAndTheServersDate() {
        var table = table("Cache-Control: max-age=600", "Age: 30", "Date: \(CacheTable.start.date)")
        table.wait(3.7)
        let given = table.ask()
        #expect(given.status == 200)
        #expect(given.fields[.age] == "33")
        #expect(given.fields[values: .age].count == 1)
        #expect(given.fields[.date] == CacheTable.start.date.description)
        #expect(given.cacheStatus.description == "ScopedNet; hit; ttl=566")
    }

    @Test func staleHitsSayForHowLongTheyAreOver() {
        var table = table("Cache-Control: max-age=1", after: 5)
        let given = table.ask(HTTPFields(lines: ["Cache-Control: max-stale"]))
        #expect(given.cacheStatus.description == "ScopedNet; hit; ttl=-4")
    }

    @Test func headIsAnsweredFromGetWithoutABody() {
        var table = table("Cache-Control: max-age=60", "Content-Length: 6")
        let given = table.ask([:], .head)
        #expect(given.sent.isEmpty)
        #expect(given.status == 200)
        #expect(given.body.isEmpty)
        #expect(given.fields[.contentLength] == "6")
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .options, .trace, HTTPRequest.Method("M-SEARCH") ?? .post])
    func otherMethodsGoToTheServer(_ method: HTTPRequest.Method) {
        var table = table("Cache-Control: max-age=60")
        let given = table.ask([:], method)
        #expect(given.sent.count == 1)
        #expect(given.cacheStatus.forward == .method)
    }

    @Test(arguments: [[], ["Cache-Control: no-cache"], ["Cache-Control: no-store"], ["If-Match: \"a\""]])
    func onlyIfCachedNeverAsks(_ more: [String]) {
        var table = table("Cache-Control: max-age=1", after: 5)
        let given = table.ask(HTTPFields(lines: more + ["Cache-Control: only-if-cached"]))
        #expect(given.sent.isEmpty)
        #expect(given.status == 504)
        #expect(given.fields[.contentLength] == "0")
    }

    @Test func onlyIfCachedIsAnsweredByWhatIsFresh() {
        var table = table("Cache-Control: max-age=60")
        let given = table.ask(HTTPFields(lines: ["Cache-Control: only-if-cached"]))
        #expect(given.body == "stored")
        let missing = table.ask(HTTPFields(lines: ["Cache-Control: only-if-cached"]), .get, "http://a.test/other")
        #expect(missing.status == 504)
    }

    @Test func theNewestByDateIsTheAnswer() {
        let table = CacheTable()
        func stored(_ date: Double, _ arrival: Double) -> StoredResponse {
            let head = CacheHead(status: 200, fields: HTTPFields(lines: ["Cache-Control: max-age=900", "Date: \(table.date(date))"]))
            return StoredResponse(
                head: head, method: .get, requestTime: table.now + arrival, responseTime: table.now + arrival,
                vary: VaryRule(names: [], selections: [[]]), content: .complete(length: 0))
        }
        func chosen(_ candidates: StoredResponse...) -> Int? {
            let request = CacheRequest(url: "http://a.test/")
            guard case .serve(let answer) = table.strategy.decide(request, candidates: candidates, now: table.now) else { return nil }
            return answer.candidate
        }
        #expect(chosen(stored(-10, -1), stored(-20, 0)) == 0)
        #expect(chosen(stored(-20, 0), stored(-10, -1)) == 1)
        #expect(chosen(stored(-10, -2), stored(-10, -1)) == 1)
    }

    @Test func aBodyThatIsStillComingIsNotServed() {
        let table = CacheTable()
        let stored = StoredResponse(
            head: CacheHead(status: 200, fields: HTTPFields(lines: ["Cache-Control: max-age=900"])), method: .get, requestTime: table.now,
            responseTime: table.now, vary: VaryRule(names: [], selections: [[]]), content: .pending(.whole(length: nil)))
        #expect(stored.content.length == nil)
        guard case .forward = table.strategy.decide(CacheRequest(url: "http://a.test/"), candidates: [stored], now: table.now) else {
            Issue.record("served what is not there")
            return
        }
    }

    @Test func aURLThatMakesNoKeyGoesThrough() {
        var table = CacheTable()
        let given = table.ask([:], .get, "nonsense")
        #expect(given.sent.count == 1)
        #expect(given.cacheStatus.forward == .bypass)
        #expect(table.shelf.isEmpty)
    }
}

/// RFC 9111 section 4.3.2: conditions of the caller's own.
@Suite(.leavesNothing) struct CallersConditionTests {
    private func table(_ lines: String..., after: Double = 0) -> CacheTable {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: lines), body: "stored"))
        table.wait(after)
        return table
    }

    private static let modified = (CacheTable.start + -3000).date.description

    @Test(
        arguments: [
            ("\"a\"", "\"a\"", true), ("W/\"a\"", "W/\"a\"", true), ("\"a\"", "W/\"a\"", true), ("W/\"a\"", "\"a\"", true),
            ("\"a\"", "\"a\", \"b\", \"c\"", true), ("\"a\"", "\"b\", \"a\", \"c\"", true), ("\"a\"", "\"b\", \"c\", \"a\"", true),
            ("\"a\"", "\"b\"", false), ("\"a\"", "*", true), ("\"a\"", "a", false), ("a", "a", false), ("a", "\"a\"", false),
            ("W\"a\"", "W\"a\"", false), ("\"\u{fc}\"", "\"\u{fc}\"", true), ("\"\u{fc}\"", "\"\u{fd}\"", false),
            ("\"a,b\"", "\"a,b\"", true),
        ] as [(String, String, Bool)])
    func ifNoneMatchIsAnsweredByWhatIsFresh(_ stored: String, _ asked: String, _ isMet: Bool) {
        var table = table("Cache-Control: max-age=60", "ETag: \(stored)", "Content-Type: text/plain", "Vary: A", "Content-Length: 6")
        let given = table.ask(HTTPFields(lines: ["If-None-Match: \(asked)"]))
        #expect(given.sent.isEmpty)
        #expect(given.status == (isMet ? 304 : 200))
        #expect(given.body == (isMet ? "" : "stored"))
        if isMet {
            #expect(given.fields[fields: .eTag] == [FieldText.field(.eTag, stored)])
            #expect(given.fields[.vary] == "A")
            #expect(given.fields[.contentType] == nil)
            #expect(given.fields[.contentLength] == nil)
        }
    }

    @Test(
        arguments: [
            (-3000, true), (-2000, true), (-3001, false), (0, true),
        ] as [(Double, Bool)])
    func ifModifiedSinceComparesDates(_ since: Double, _ isMet: Bool) {
        var table = table("Cache-Control: max-age=60", "Last-Modified: \(Self.modified)")
        let date = (CacheTable.start + since).date.description
        let given = table.ask(HTTPFields(lines: ["If-Modified-Since: \(date)"]))
        #expect(given.sent.isEmpty)
        #expect(given.status == (isMet ? 304 : 200))
    }

    @Test func withoutLastModifiedTheDateCounts() {
        var table = table("Cache-Control: max-age=60", "Date: \(CacheTable.start.date)")
        #expect(table.ask(HTTPFields(lines: ["If-Modified-Since: \(Self.modified)"])).status == 200)
        #expect(table.ask(HTTPFields(lines: ["If-Modified-Since: \(CacheTable.start.date)"])).status == 304)
        #expect(table.ask(HTTPFields(lines: ["If-Modified-Since: nonsense"])).status == 200)
    }

    @Test func tagsCountMoreThanDates() {
        var table = table("Cache-Control: max-age=60", "ETag: \"a\"", "Last-Modified: \(Self.modified)")
        let later = CacheTable.start.date.description
        #expect(table.ask(HTTPFields(lines: ["If-None-Match: \"b\"", "If-Modified-Since: \(later)"])).status == 200)
        #expect(table.ask(HTTPFields(lines: ["If-None-Match: \"a\"", "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"])).status == 304)
    }

    @Test func errorsAreNotNotModified() {
        var table = CacheTable()
        table.store(.init(404, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"a\""]), body: "no"))
        #expect(table.ask(HTTPFields(lines: ["If-None-Match: \"a\""])).status == 404)
    }

    @Test func withoutAnythingStoredTheyAreForwardedAsTheyCame() {
        var table = CacheTable()
        let given = table.send(.get, "http://a.test/", HTTPFields(lines: ["If-None-Match: a"])) { _ in .init(304) }
        #expect(given.sent.first?.fields[.ifNoneMatch] == "a")
        #expect(given.status == 304)
        #expect(given.cacheStatus.forward == .uriMiss)
        #expect(table.entries().isEmpty)
    }

    /// The server is asked about both; whose the 304 is decides what the caller gets.
    @Test func aStaleResponseIsValidatedTogetherWithTheCallersOwn() {
        var table = table("Cache-Control: max-age=1", "ETag: \"ours\"", after: 5)
        let theirs = table.send(.get, "http://a.test/", HTTPFields(lines: ["If-None-Match: \"theirs\""])) { _ in
            .init(304, HTTPFields(lines: ["ETag: \"theirs\""]))
        }
        #expect(theirs.sent.map { $0.fields[.ifNoneMatch] } == ["\"theirs\", \"ours\""])
        #expect(theirs.status == 304)
        #expect(theirs.fields[.eTag] == "\"theirs\"")
        let ours = table.send(.get, "http://a.test/", HTTPFields(lines: ["If-None-Match: \"theirs\""])) { _ in
            .init(304, HTTPFields(lines: ["ETag: \"ours\"", "Cache-Control: max-age=60"]))
        }
        #expect(ours.status == 200)
        #expect(ours.body == "stored")
        let hits = table.hits()
        #expect(hits)
    }

    @Test func aStaleResponseWithTheCallersDateIsValidatedByIt() {
        var table = table("Cache-Control: max-age=1", "Last-Modified: \(Self.modified)", after: 5)
        let given = table.send(.get, "http://a.test/", HTTPFields(lines: ["If-Modified-Since: \(Self.modified)"])) { _ in
            .init(304, HTTPFields(lines: ["Cache-Control: max-age=60"]))
        }
        #expect(given.sent.first?.fields[values: .ifModifiedSince] == [Self.modified])
        #expect(given.status == 304)
        let hits = table.hits()
        #expect(hits)
    }

    @Test func aBare304ToAnotherDateThanOursSaysNothingOfOurs() {
        var table = table("Cache-Control: max-age=1", "Last-Modified: \(Self.modified)", after: 5)
        let later = CacheTable.start.date.description
        let given = table.send(.get, "http://a.test/", HTTPFields(lines: ["If-Modified-Since: \(later)"])) { _ in
            .init(304, HTTPFields(lines: ["Cache-Control: max-age=60"]))
        }
        #expect(given.sent.count == 1)
        #expect(given.status == 304)
        let hits = table.hits()
        #expect(!hits)
    }

    @Test func theCallersOwnConditionsAreNotOverwritten() {
        var table = table("Cache-Control: max-age=1", "ETag: \"ours\"", "Last-Modified: \(Self.modified)", after: 5)
        let later = CacheTable.start.date.description
        let dated = table.ask(HTTPFields(lines: ["If-Modified-Since: \(later)"]))
        #expect(dated.sent.first?.fields[values: .ifModifiedSince] == [later])
        #expect(dated.sent.first?.fields[values: .ifNoneMatch] == ["\"ours\""])
        table = self.table("Cache-Control: max-age=1", "ETag: \"ours\"", "Last-Modified: \(Self.modified)", after: 5)
        let tagged = table.ask(HTTPFields(lines: ["If-None-Match: \"x\", \"ours\""]))
        #expect(tagged.sent.first?.fields[values: .ifNoneMatch] == ["\"x\", \"ours\""])
        #expect(tagged.sent.first?.fields[.ifModifiedSince] == nil)
    }

    @Test func aStarIsLeftAlone() {
        var table = table("Cache-Control: max-age=1", "ETag: \"ours\"", after: 5)
        let given = table.send(.get, "http://a.test/", HTTPFields(lines: ["If-None-Match: *"])) { _ in .init(304) }
        #expect(given.sent.first?.fields[values: .ifNoneMatch] == ["*"])
        #expect(given.status == 304)
    }

    @Test func tagsOfTheCallerAreNotMixedWithADateOfOurs() {
        var table = table("Cache-Control: max-age=1", "Last-Modified: \(Self.modified)", after: 5)
        let given = table.send(.get, "http://a.test/", HTTPFields(lines: ["If-None-Match: \"x\""])) { _ in .init(200, body: "new") }
        #expect(given.sent.first?.fields[.ifModifiedSince] == nil)
        #expect(given.body == "new")
    }
}
