import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9111 section 3: what is stored.
@Suite(.leavesNothing) struct StorageTests {
    private func storage(
        _ status: Int, _ response: [String], request: [String] = [], method: HTTPRequest.Method = .get, url: String = "http://a.test/",
        policy: CachePolicy = .standard
    ) -> StorageDecision? {
        let table = CacheTable(policy)
        let request = CacheRequest(method: method, url: url, fields: HTTPFields(lines: request))
        guard case .forward(let forward) = table.strategy.decide(request, candidates: [], now: table.now) else { return nil }
        let head = CacheHead(status: status, fields: HTTPFields(lines: response))
        return forward.received(head, requestTime: table.now, responseTime: table.now).storage
    }

    private func isStored(_ storage: StorageDecision?) -> Bool {
        if case .store = storage { true } else { false }
    }

    // Defect 32
    @Test(
        arguments: [
            (200, ["Cache-Control: max-age=5"]), (200, ["Cache-Control: max-age=0"]), (200, ["Expires: 0"]), (200, ["ETag: \"a\""]),
            (200, ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"]), (200, ["Cache-Control: no-cache", "ETag: \"a\""]),
            (200, ["Cache-Control: private, max-age=5"]), (200, ["Cache-Control: max-age=5", "Authentication-Info: x"]),
            (204, ["ETag: \"a\""]), (599, ["Cache-Control: max-age=5"]), (500, ["Cache-Control: max-age=5"]),
            (302, ["Cache-Control: max-age=5"]),
            (599, ["Cache-Control: public", "ETag: \"a\""]), (403, ["Cache-Control: private", "ETag: \"a\""]), (404, ["ETag: \"a\""]),
            (200, ["Cache-Control: no-store, must-understand, max-age=5"]), (200, ["Cache-Control: max-age=5", "Vary: A, B"]),
            (200, ["Cache-Control: max-age=5", "Vary:"]), (200, ["Cache-Control: private=\"a\", max-age=5"]),
        ] as [(Int, [String])])
    func isStored(_ status: Int, _ fields: [String]) {
        let storage = storage(status, fields)
        #expect(isStored(storage))
    }

    @Test(
        arguments: [
            (200, [], .notCacheable), (200, ["Cache-Control: s-maxage=5"], .notCacheable), (403, ["ETag: \"a\""], .notCacheable),
            (201, ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], .notCacheable), (200, ["Cache-Control: public"], .notCacheable),
            (200, ["Cache-Control: no-store, max-age=5"], .noStore), (200, ["Cache-Control: nO-StOrE", "Expires: 0"], .noStore),
            (599, ["Cache-Control: must-understand, max-age=5"], .notUnderstood),
            (599, ["Cache-Control: no-store, must-understand, max-age=5"], .notUnderstood), (206, ["Cache-Control: max-age=5"], .partial),
            (416, ["Cache-Control: max-age=5"], .partial), (412, ["Cache-Control: max-age=5"], .partial),
            (103, ["Cache-Control: max-age=5"], .notFinal), (304, ["Cache-Control: max-age=5"], .notModified),
            (200, ["Cache-Control: max-age=5", "Vary: *"], .varyStar), (200, ["Cache-Control: max-age=5", "Vary: A, *"], .varyStar),
            (200, ["Cache-Control: max-age=5", "Vary: a b"], .varyStar),
            (200, ["Cache-Control: max-age=5", "Vary: A", "Vary: *"], .varyStar),
        ] as [(Int, [String], StorageDecision.Reason)])
    func isNotStored(_ status: Int, _ fields: [String], _ reason: StorageDecision.Reason) {
        let storage = storage(status, fields)
        #expect(storage?.reason == reason)
    }

    /// RFC 9110 section 15, written as its headings have them; 306 and 418 are unused.
    @Test func theStatusesOfTheStandardAreUnderstood() {
        let standard = Set(200...206).union(300...303).union([305, 307, 308]).union(400...417).union([421, 422, 426]).union(500...505)
        #expect(StorageDecision.understoodStatuses == standard)
        for status in 200...599 where status != 304 {
            let reason = storage(status, ["Cache-Control: must-understand, max-age=5"])?.reason
            #expect((reason == .notUnderstood) == !standard.contains(status), "\(status)")
        }
    }

    @Test(arguments: [(199, false), (200, true), (299, true), (300, false), (305, false)])
    func aLifetimeOfOnesOwnIsForSuccesses(_ status: Int, _ isKept: Bool) {
        var policy = CachePolicy.standard
        policy.timeToLive = .seconds(60)
        let head = CacheHead(status: status, fields: [:])
        #expect(StorageDecision.isWorthStoring(head.status, StoredFacts(head, responseTime: CacheTable().now), policy) == isKept)
    }

    @Test func thereIsALimitOnFields() {
        let fields = ["Cache-Control: max-age=5"] + (1..<1_000).map { "X-\($0): 1" }
        let most = storage(200, fields)
        #expect(isStored(most))
        #expect(storage(200, fields + ["X-0: 1"])?.reason == .tooManyFields)
    }

    @Test func requestsHaveAWordInIt() {
        let fresh = ["Cache-Control: max-age=5"]
        #expect(storage(200, fresh, request: ["Cache-Control: no-store"])?.reason == .requestNoStore)
        let authorised = storage(200, fresh, request: ["Authorization: Basic x"])
        #expect(isStored(authorised))
        #expect(storage(200, fresh, method: .put)?.reason == .method)
        #expect(storage(200, fresh, method: .options)?.reason == .method)
        #expect(storage(200, fresh, url: "nonsense")?.reason == .url)
    }

    /// RFC 9110 section 9.3.3.
    @Test(
        arguments: [
            (["Content-Location: /x", "Cache-Control: max-age=5"], 200, true),
            (["Content-Location: http://a.test/x", "Expires: 0"], 200, true),
            (["Content-Location:", "Cache-Control: max-age=5"], 200, true), (["Content-Location: /x", "ETag: \"a\""], 200, false),
            (["Content-Location: /y", "Cache-Control: max-age=5"], 200, false), (["Cache-Control: max-age=5"], 200, false),
            (["Content-Location: /x", "Cache-Control: max-age=5"], 201, false),
            (["Content-Location: http://b.test/x", "Cache-Control: max-age=5"], 200, false),
        ] as [([String], Int, Bool)])
    func thePostOfARepresentationAnswersLaterGets(_ fields: [String], _ status: Int, _ isStored: Bool) {
        let storage = storage(status, fields, method: .post, url: "http://a.test/x")
        #expect(self.isStored(storage) == isStored)
    }

    @Test func aPostInvalidatesFirstAndThenStores() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60"]), body: "old"))
        let reply = CacheTable.Reply(200, HTTPFields(lines: ["Cache-Control: max-age=60", "Content-Location: /"]), body: "new")
        _ = table.send(.post) { _ in reply }
        let given = table.ask()
        #expect(given.sent.isEmpty)
        #expect(given.body == "new")
        #expect(table.entries().count == 1)
    }

    /// RFC 9111 section 3.1.
    @Test func fieldsOfTheConnectionAreNotStored() {
        var table = CacheTable()
        let perConnection = [
            "Connection: a, B", "Keep-Alive: x", "Proxy-Authenticate: x", "Proxy-Authentication-Info: x", "Proxy-Authorization: x",
            "Proxy-Connection: x", "TE: x", "Transfer-Encoding: x", "Upgrade: x", "a: 1", "b: 2",
        ]
        let kept = [
            "Cache-Control: max-age=60", "c: 3", "Set-Cookie: a=b", "Set-Cookie: c=d", "X-\u{7E}: \u{fc}", "Content-Type: text/plain",
        ]
        table.store(.init(200, HTTPFields(lines: perConnection + kept)))
        let given = table.ask()
        #expect(given.sent.isEmpty)
        let names = Set(given.fields.map(\.name.canonicalName))
        #expect(names == ["cache-control", "c", "set-cookie", "x-~", "content-type", "date", "age"])
        #expect(given.fields[values: .setCookie] == ["a=b", "c=d"])
        let bytes = given.fields[fields: HTTPField.Name("X-~") ?? .via].first?.withUnsafeBytesOfValue { Array($0) }
        #expect(bytes == [0xFC])
    }

    @Test(arguments: ["Connection: close, Vary, Cache-Control, ETag", "Cache-Control: no-cache=\"vary, cache-control\""])
    func aResponseCannotTakeItsOwnRulesAway(_ line: String) {
        var table = CacheTable()
        let fields = ["Cache-Control: max-age=1, must-revalidate", "Vary: Foo", "ETag: \"a\"", line]
        table.store(.init(200, HTTPFields(lines: fields), body: "stored"), "http://a.test/", HTTPFields(lines: ["Foo: 1"]))
        table.wait(5)
        _ = table.send(.get, "http://a.test/", HTTPFields(lines: ["Foo: 1"])) { _ in
            .init(304, HTTPFields(lines: ["ETag: \"a\"", "Cache-Control: max-age=60, must-revalidate"]))
        }
        let other = table.hits(HTTPFields(lines: ["Foo: 2"]))
        #expect(!other)
        table.wait(100)
        #expect(table.send(.get, "http://a.test/", HTTPFields(lines: ["Foo: 1"])) { _ in nil }.status == 504)
    }

    @Test func aGetWithABodyIsNotAnsweredByItsURL() {
        let table = CacheTable()
        let request = CacheRequest(url: "http://a.test/", hasBody: true)
        let head = CacheHead(status: 200, fields: HTTPFields(lines: ["Cache-Control: max-age=60"]))
        guard case .forward(let forward) = table.strategy.decide(request, candidates: [], now: table.now) else {
            Issue.record("not forwarded")
            return
        }
        #expect(forward.reason == .bypass)
        #expect(forward.received(head, requestTime: table.now, responseTime: table.now).storage.reason == .requestBody)
    }

    @Test func aDateIsAddedWhereThereIsNone() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60"])))
        let arrival = table.date()
        table.wait(5)
        #expect(table.ask().fields[.date] == arrival)
    }

    /// RFC 9111 section 5.2.2.4.
    @Test func fieldsThatNoCacheNamesAreGivenOnlyAsTheyCome() {
        var table = CacheTable()
        let fields = HTTPFields(lines: ["Cache-Control: max-age=60, no-cache=\"a, b\"", "a: 1", "B: 2", "c: 3"])
        let first = table.send { _ in .init(200, fields) }
        #expect(first.fields["a"] == "1")
        let second = table.ask()
        #expect(second.sent.isEmpty)
        #expect(second.fields["a"] == nil)
        #expect(second.fields["b"] == nil)
        #expect(second.fields["c"] == "3")
    }

    @Test(arguments: [(5, "hello", true), (9, "hello", false), (2, "hello", false), (0, "", true)])
    func aBodyOfAnotherLengthThanAnnouncedIsDropped(_ length: Int, _ body: String, _ isStored: Bool) {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60", "Content-Length: \(length)"]), body: body))
        let hits = table.hits()
        #expect(hits == isStored)
    }

    @Test func aLengthThatIsNoneIsNotStored() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60", "Content-Length: abc"]), body: "x"))
        let given = table.ask()
        #expect(given.sent.isEmpty)
        #expect(given.fields[.contentLength] == nil)
    }

    @Test func whatIsAlreadyCompleteDoesNotEndAgain() throws {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60"]), body: "x"))
        let stored = try #require(table.entries().first?.response)
        #expect(stored.content == .complete(length: 1))
        #expect(stored.completed(bodyLength: 1) == nil)
        #expect(stored.interrupted(after: 1) == nil)
        #expect(stored.content.length == 1)
    }

    @Test func everyReasonSaysSomethingElse() {
        let texts = Set(StorageDecision.Reason.allCases.map(\.description))
        #expect(texts.count == StorageDecision.Reason.allCases.count)
    }

    @Test func theStatusSaysWhyNothingWasStored() {
        var table = CacheTable()
        let given = table.send { _ in .init(200, HTTPFields(lines: ["Cache-Control: no-store"])) }
        #expect(given.cacheStatus.description == "ScopedNet; fwd=uri-miss; fwd-status=200; detail=\"the response says no-store\"")
        let stored = table.send { _ in .init(200, HTTPFields(lines: ["Cache-Control: max-age=1"])) }
        #expect(stored.cacheStatus.description == "ScopedNet; fwd=uri-miss; fwd-status=200; stored")
    }
}
