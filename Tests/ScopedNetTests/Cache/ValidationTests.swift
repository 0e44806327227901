import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9111 sections 4.3.1, 4.3.3 and 4.3.4.
@Suite(.leavesNothing) struct ValidationTests {
    private static let modified = (CacheTable.start + -100_000).date.description

    private func table(_ lines: [String], after: Double = 5) -> CacheTable {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=1"] + lines), body: "stored"))
        table.wait(after)
        return table
    }

    @Test(
        arguments: [
            (["ETag: \"a\""], "\"a\"", nil), (["ETag: W/\"a\""], "W/\"a\"", nil), (["Last-Modified: \(modified)"], nil, modified),
            (["ETag: \"a\"", "Last-Modified: \(modified)"], "\"a\"", modified), (["ETag: a"], "a", nil), ([], nil, nil),
            (["Last-Modified: nonsense"], nil, nil), (["ETag: \"a\"", "ETag: \"b\""], nil, nil),
        ] as [([String], String?, String?)])
    func aStaleResponseIsAskedAbout(_ lines: [String], _ tag: String?, _ date: String?) {
        var table = table(lines)
        let given = table.ask()
        #expect(given.sent.map { $0.fields[.ifNoneMatch] } == [tag])
        #expect(given.sent.map { $0.fields[.ifModifiedSince] } == [date])
        #expect(given.cacheStatus.forward == .stale)
    }

    @Test func theFieldsOfTheRequestAreSentToo() {
        var table = table(["ETag: \"a\"", "Vary: Abc"])
        table.store(
            .init(200, HTTPFields(lines: ["Cache-Control: max-age=1", "ETag: \"a\"", "Vary: Abc"])), "http://a.test/",
            HTTPFields(lines: ["Abc: 123"]))
        table.wait(5)
        let given = table.ask(HTTPFields(lines: ["Abc: 123"]))
        #expect(given.sent.first?.fields["Abc"] == "123")
        #expect(given.sent.first?.fields[.ifNoneMatch] == "\"a\"")
    }

    @Test func tagsAreSentByteForByte() {
        var table = table(["ETag: \"\u{fc}\u{80}\""])
        let given = table.ask()
        let bytes = given.sent.first?.fields[fields: .ifNoneMatch].first?.withUnsafeBytesOfValue { Array($0) }
        #expect(bytes == [0x22, 0xFC, 0x80, 0x22])
    }

    /// Validators of the stored response, of the 304, and whether it is about it.
    @Test(
        arguments: [
            (["ETag: \"a\""], ["ETag: \"a\""], true), (["ETag: W/\"a\""], ["ETag: W/\"a\""], true), (["ETag: \"a\""], [], true),
            (["ETag: \"a\""], ["ETag: W/\"a\""], true), (["ETag: W/\"a\""], ["ETag: \"a\""], true),
            (["ETag: \"a\""], ["ETag: \"b\""], false),
            (["Last-Modified: \(modified)"], ["Last-Modified: \(modified)"], true), (["Last-Modified: \(modified)"], [], true),
            (["Last-Modified: \(modified)"], ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], false),
            (["Last-Modified: \(modified)"], ["Last-Modified: \(modified)", "ETag: \"a\""], true),
            (["ETag: \"a\"", "Last-Modified: \(modified)"], ["Last-Modified: \(modified)"], true),
            (["ETag: \"a\"", "Last-Modified: \(modified)"], ["Last-Modified: \(modified)", "ETag: \"b\""], false),
            (["ETag: a"], ["ETag: a"], true), (["ETag: a"], ["ETag: \"a\""], false), (["ETag: \"a\""], ["ETag: W/\"b\""], false),
            (["Last-Modified: \(modified)"], ["ETag: \"b\""], false),
        ] as [([String], [String], Bool)])
    func a304IsAboutWhatItNames(_ stored: [String], _ reply: [String], _ isAboutIt: Bool) {
        var table = table(stored)
        let given = table.send { request in
            request.fields.contains(.ifNoneMatch) || request.fields.contains(.ifModifiedSince)
                ? .init(304, HTTPFields(lines: reply + ["Cache-Control: max-age=60"])) : .init(200, body: "new")
        }
        #expect(given.sent.count == (isAboutIt ? 1 : 2))
        #expect(given.status == 200)
        #expect(given.body == (isAboutIt ? "stored" : "new"))
        let hits = table.hits()
        #expect(hits == isAboutIt)
    }

    @Test func aServerThatAnswers304ToEverythingEndsTheAsking() {
        var table = table(["ETag: \"a\""])
        let given = table.send { _ in .init(304, HTTPFields(lines: ["ETag: \"b\""])) }
        #expect(given.sent.count == 2)
        #expect(given.sent.last?.fields[.ifNoneMatch] == nil)
        #expect(given.status == 304)
    }

    /// Section 3.2.
    @Test(arguments: [
        "Test-Header", "X-Test-Header", "Content-Foo", "X-Content-Foo", "Content-MD5", "Content-Location", "Content-Security-Policy",
        "Set-Cookie",
        "Set-Cookie2", "Expires", "Clear-Site-Data", "X-Frame-Options", "Last-Modified", "Content-Language",
    ])
    func a304UpdatesWhatIsStoredAndGiven(_ name: String) {
        var table = table(["ETag: \"a\"", "\(name): old", "Other: 1"])
        let given = table.send { _ in .init(304, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"a\"", "\(name): new"])) }
        #expect(given.fields[name] == "new")
        #expect(given.fields["Other"] == "1")
        let again = table.ask()
        #expect(again.sent.isEmpty)
        #expect(again.fields[name] == "new")
        #expect(again.fields["Other"] == "1")
    }

    @Test(arguments: ["Content-Length", "Content-Encoding", "Content-Type", "Content-Range"])
    func whatDescribesTheStoredBodyStays(_ name: String) {
        var table = table(["ETag: \"a\"", name == "Content-Length" ? "Content-Length: 6" : "\(name): old"])
        let given = table.send { _ in .init(304, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"a\"", "\(name): 7"])) }
        #expect(given.fields[name] == (name == "Content-Length" ? "6" : "old"))
    }

    @Test(arguments: ["Connection", "Keep-Alive", "Upgrade", "TE", "Listed", "Proxy-Authenticate"])
    func fieldsOfTheConnectionAreNotTakenOver(_ name: String) {
        var table = table(["ETag: \"a\"", "Listed: old"])
        _ = table.send { _ in
            .init(304, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"a\"", "Connection: listed", "\(name): x"]))
        }
        #expect(table.ask().fields[name] == (name == "Listed" ? "old" : nil))
    }

    @Test func linesOfOneNameAreReplacedTogether() {
        var table = table(["ETag: \"a\"", "Link: 1", "Link: 2", "Link: 3"])
        let given = table.send { _ in .init(304, HTTPFields(lines: ["ETag: \"a\"", "Link: 8", "Link: 9"])) }
        let values = given.fields[fields: HTTPField.Name("Link") ?? .via].map(\.value)
        #expect(values == ["8", "9"])
    }

    @Test func theAgeBeginsAnew() {
        var table = table(["ETag: \"a\"", "Age: 5000"])
        let given = table.send { _ in .init(304, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"a\""])) }
        #expect(given.fields[.age] == "0")
        #expect(given.fields[.date] == table.date())
        table.wait(7)
        let again = table.ask()
        #expect(again.sent.isEmpty)
        #expect(again.fields[.age] == "7")
        table.wait(60)
        let withAge = table.send { _ in .init(304, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"a\"", "Age: 50"])) }
        #expect(withAge.fields[.age] == "50")
    }

    @Test func theStoredTagKeepsItsStrength() {
        var table = table(["ETag: W/\"a\""])
        let given = table.send { _ in .init(304, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"a\""])) }
        #expect(given.fields[.eTag] == "W/\"a\"")
    }

    @Test func fieldsThatNoCacheNamesReachTheCallerOfThe304Only() {
        var table = table(["ETag: \"a\"", "Cache-Control: no-cache=\"token\"", "token: 1"])
        let given = table.send { _ in
            .init(304, HTTPFields(lines: ["ETag: \"a\"", "Cache-Control: max-age=60, no-cache=\"token\"", "token: 2"]))
        }
        #expect(given.fields["token"] == "2")
        let again = table.ask()
        #expect(again.sent.isEmpty)
        #expect(again.fields["token"] == nil)
    }

    @Test func a304ThatForbidsStoringIsTheLastOne() {
        var table = table(["ETag: \"a\""])
        let given = table.send { _ in .init(304, HTTPFields(lines: ["ETag: \"a\"", "Cache-Control: no-store"])) }
        #expect(given.body == "stored")
        #expect(table.entries().isEmpty)
        #expect(!given.cacheStatus.isStored)
    }

    /// Names that come with each 304 would add up without end.
    @Test func fieldsDoNotAddUpWithoutEnd() {
        var table = table(["ETag: \"a\""])
        func more(_ prefix: String) -> [String] { (0..<700).map { "\(prefix)\($0): x" } }
        let first = table.send { _ in .init(304, HTTPFields(lines: ["ETag: \"a\""] + more("a"))) }
        #expect(first.body == "stored")
        #expect(table.entries().count == 1)
        table.wait(5)
        let second = table.send { _ in .init(304, HTTPFields(lines: ["ETag: \"a\""] + more("b"))) }
        #expect(second.body == "stored")
        #expect(table.entries().isEmpty)
        #expect(
            table.send { _ in .init(200, HTTPFields(lines: ["ETag: \"a\""] + more("a") + more("b"))) }.cacheStatus.detail
                == "there are too many fields")
    }

    @Test func a304WithVaryStarIsTheLastOne() {
        var table = table(["ETag: \"a\""])
        let given = table.send { _ in .init(304, HTTPFields(lines: ["ETag: \"a\"", "Vary: *"])) }
        #expect(given.body == "stored")
        #expect(table.entries().isEmpty)
    }

    @Test func anotherResponseTakesThePlaceOfTheStaleOne() {
        var table = table(["ETag: \"a\""])
        let given = table.send { _ in .init(200, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"b\""]), body: "new") }
        #expect(given.body == "new")
        #expect(given.cacheStatus.description == "ScopedNet; fwd=stale; fwd-status=200; stored")
        #expect(table.entries().count == 1)
        #expect(table.ask().body == "new")
    }

    @Test(arguments: [(200, true), (301, true), (404, true), (410, true), (403, false), (401, false), (500, false), (429, false)])
    func anotherResponseThatIsNotStoredShowsTheStaleOneWrong(_ status: Int, _ isGone: Bool) {
        var table = table(["ETag: \"a\""])
        table.policy.servesStaleWhenDisconnected = false
        _ = table.send { _ in .init(status, HTTPFields(lines: ["Cache-Control: no-store"])) }
        #expect(table.entries().isEmpty == isGone)
    }

    @Test func thatHoldsWhereNoConditionCouldBeSent() {
        var table = table([])
        _ = table.send { _ in .init(200, HTTPFields(lines: ["Cache-Control: no-store"])) }
        #expect(table.entries().isEmpty)
    }

    @Test func aBodyThatBreaksOffDoesNotCostWhatWasThere() {
        var table = table(["ETag: \"a\""])
        let reply = CacheTable.Reply(200, HTTPFields(lines: ["Cache-Control: max-age=60"]), body: "newer", brokenAfter: 2)
        let given = table.send { _ in reply }
        #expect(given.isBroken)
        #expect(table.entries().map { String(decoding: $0.body, as: UTF8.self) } == ["stored"])
    }

    @Test func rangesAreServedOutOfWhatA304Confirms() {
        var table = table(["ETag: \"a\""])
        let given = table.send(.get, "http://a.test/", HTTPFields(lines: ["Range: bytes=1-3"])) { _ in
            .init(304, HTTPFields(lines: ["ETag: \"a\"", "Cache-Control: max-age=60"]))
        }
        #expect(given.sent.first?.fields[.range] == "bytes=1-3")
        #expect(given.status == 206)
        #expect(given.body == "tor")
    }

    @Test func a304ForSeveralRangesSendsTheRequestAgain() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"a\"", "Vary: Foo"]), body: "stored"))
        let fields = HTTPFields(lines: ["Range: bytes=0-1,3-4", "Foo: 1"])
        let given = table.send(.get, "http://a.test/", fields) { _ in .init(206, body: "parts") }
        #expect(given.sent.count == 1)
        #expect(given.body == "parts")
        #expect(given.sent.first?.fields[.ifNoneMatch] == nil)
    }
}

/// RFC 9111 section 4.3.5.
@Suite(.leavesNothing) struct HeadFresheningTests {
    private func table(_ lines: String...) -> CacheTable {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=1", "A: 1"] + lines), body: "stored"))
        table.wait(5)
        return table
    }

    private func head(_ table: inout CacheTable, _ status: Int, _ lines: String...) -> CacheTable.Given {
        table.send(.head) { _ in .init(status, HTTPFields(lines: lines)) }
    }

    @Test func aHeadRefreshesWhatItCouldBeOf() {
        var table = table()
        let given = head(&table, 200, "Cache-Control: max-age=60", "A: 2")
        #expect(given.sent.map(\.method) == [.head])
        #expect(given.status == 200)
        #expect(given.fields["A"] == "2")
        let get = table.ask()
        #expect(get.sent.isEmpty)
        #expect(get.body == "stored")
        #expect(get.fields["A"] == "2")
    }

    @Test func theCallerGetsStoredFieldsThatTheServerLeftOut() {
        var table = table()
        let given = head(&table, 200)
        #expect(given.fields["A"] == "1")
        #expect(given.body.isEmpty)
    }

    @Test func noConditionsAreSentWithAHead() {
        var table = table("ETag: \"a\"")
        let given = head(&table, 200)
        #expect(given.sent.first?.fields[.ifNoneMatch] == nil)
    }

    @Test(
        arguments: [
            ("ETag: \"a\"", true), ("ETag: \"b\"", false), ("Content-Length: 6", true), ("Content-Length: 7", false),
            ("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", true), ("Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT", false), ("A: 2", true),
        ] as [(String, Bool)])
    func aHeadThatContradictsMakesStale(_ line: String, _ isSame: Bool) {
        var table = table("ETag: \"a\"", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT")
        let given = head(&table, 200, "Cache-Control: max-age=60", line)
        let hits = table.hits(HTTPFields(lines: ["Cache-Control: max-stale"]))
        #expect(hits == isSame)
        #expect((given.fields["A"] != nil) == isSame)
    }

    @Test func whatAHeadContradictedIsValidated() {
        var table = table("ETag: \"a\"")
        _ = head(&table, 200, "ETag: \"b\"")
        let given = table.send { _ in .init(304, HTTPFields(lines: ["ETag: \"a\"", "Cache-Control: max-age=60"])) }
        #expect(given.sent.first?.fields[.ifNoneMatch] == "\"a\"")
        #expect(given.body == "stored")
        let hits = table.hits()
        #expect(hits)
    }

    /// The newer one would be the answer, and is not what the server has.
    @Test func anOlderResponseThatAHeadConfirmsIsNotTheAnswer() {
        let table = CacheTable()
        func stored(_ tag: String, _ date: Double) -> StoredResponse {
            StoredResponse(
                head: CacheHead(status: 200, fields: HTTPFields(lines: ["ETag: \(tag)", "Date: \(table.date(date))"])), method: .get,
                requestTime: table.now, responseTime: table.now, vary: VaryRule(names: [], selections: [[]]), content: .complete(length: 1))
        }
        let request = CacheRequest(method: .head, url: "http://a.test/")
        let candidates = [stored("\"old\"", -20), stored("\"new\"", -10)]
        guard case .forward(let forward) = table.strategy.decide(request, candidates: candidates, now: table.now) else {
            Issue.record("not forwarded")
            return
        }
        let head = CacheHead(status: 200, fields: HTTPFields(lines: ["ETag: \"old\"", "Cache-Control: max-age=60"]))
        let outcome = forward.received(head, requestTime: table.now, responseTime: table.now)
        guard case .received = outcome.answer else {
            Issue.record("answered by what is not the newest")
            return
        }
        #expect(outcome.updates.map(\.candidate) == [1, 0])
        #expect(outcome.updates.map(\.response.isInvalidated) == [true, false])
    }

    @Test(arguments: [204, 404, 410, 500])
    func otherStatusesSayNothing(_ status: Int) {
        var table = table()
        table.policy.servesStaleWhenDisconnected = false
        let given = head(&table, status, "Cache-Control: max-age=60", "A: 2")
        #expect(given.status == status)
        let hits = table.hits()
        #expect(!hits)
        #expect(table.entries().first?.response.head.fields["A"] != "2")
    }

    @Test func errorsThatAreStoredAreNotRefreshedByASuccess() {
        var table = CacheTable()
        table.store(.init(404, HTTPFields(lines: ["Cache-Control: max-age=1"])))
        table.wait(5)
        _ = head(&table, 200, "Cache-Control: max-age=60")
        let hits = table.hits()
        #expect(!hits)
    }

    @Test func aHeadOfNothingStoredIsNotStored() {
        var table = CacheTable()
        let given = head(&table, 200, "Cache-Control: max-age=60", "ETag: \"a\"")
        #expect(given.status == 200)
        #expect(table.entries().isEmpty)
    }
}

/// RFC 9111 section 4.4.
@Suite(.leavesNothing) struct InvalidationTests {
    private func table() -> CacheTable {
        var table = CacheTable()
        for path in ["/x", "/y", "/z"] {
            table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=600"]), body: path), "http://a.test" + path)
        }
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=600"])), "http://b.test/y")
        return table
    }

    private func gone(_ table: CacheTable) -> [String] {
        ["http://a.test/x", "http://a.test/y", "http://a.test/z", "http://b.test/y"].filter { table.entries($0).isEmpty }
    }

    @Test(
        arguments: [
            ("POST", 200, true), ("PUT", 204, true), ("DELETE", 200, true), ("PATCH", 201, true), ("M-SEARCH", 200, true),
            ("POST", 303, true), ("PUT", 304, true),
            ("POST", 400, false), ("POST", 500, false), ("DELETE", 404, false), ("OPTIONS", 200, false), ("TRACE", 200, false),
        ] as [(String, Int, Bool)])
    func unsafeAndUnknownMethodsInvalidateTheTargetWhenTheySucceed(_ method: String, _ status: Int, _ isGone: Bool) throws {
        var table = table()
        let method = try #require(HTTPRequest.Method(method))
        _ = table.send(method, "http://a.test/x") { _ in .init(status) }
        #expect(gone(table) == (isGone ? ["http://a.test/x"] : []))
    }

    @Test(
        arguments: [
            ("Location: /y", ["http://a.test/x", "http://a.test/y"]), ("Content-Location: y", ["http://a.test/x", "http://a.test/y"]),
            ("Location: http://a.test:80/y#f", ["http://a.test/x", "http://a.test/y"]), ("Location: http://b.test/y", ["http://a.test/x"]),
            ("Content-Location: //b.test/y", ["http://a.test/x"]), ("Location: https://a.test/y", ["http://a.test/x"]),
            ("Location: nonsense nonsense", ["http://a.test/x"]), ("Location: /x", ["http://a.test/x"]),
        ] as [(String, [String])])
    func urlsOfTheSameOriginGoToo(_ line: String, _ urls: [String]) {
        var table = table()
        _ = table.send(.post, "http://a.test/x") { _ in .init(201, HTTPFields(lines: [line])) }
        #expect(gone(table) == urls)
    }

    @Test func allVariantsGo() {
        var table = CacheTable()
        for value in ["1", "2"] {
            let reply = CacheTable.Reply(200, HTTPFields(lines: ["Cache-Control: max-age=60", "Vary: Foo"]))
            table.store(reply, "http://a.test/", HTTPFields(lines: ["Foo: \(value)"]))
        }
        _ = table.send(.delete) { _ in .init(200) }
        #expect(table.entries().isEmpty)
    }

    @Test func theAccountInTheURLIsTheSame() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60"])), "http://u:p@a.test/y")
        _ = table.send(.post, "http://u:p@a.test/x") { _ in .init(200, HTTPFields(lines: ["Location: /y"])) }
        #expect(table.entries("http://u:p@a.test/y").isEmpty)
    }
}
