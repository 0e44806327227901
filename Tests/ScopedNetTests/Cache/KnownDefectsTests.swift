import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// What other caches have got wrong, and their users have found. Each test names where.
@Suite(.leavesNothing) struct KnownDefectsTests {
    private func fields(_ lines: String...) -> HTTPFields { HTTPFields(lines: lines) }

    /// nodejs/undici#5094.
    @Test func anExpiredVariantDoesNotHideAValidOne() {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=1", "Vary: Foo"), body: "short"), "http://a.test/", fields("Foo: 1"))
        table.store(.init(200, fields("Cache-Control: max-age=600", "Vary: Foo"), body: "long"), "http://a.test/", fields("Foo: 2"))
        table.wait(5)
        #expect(table.ask(fields("Foo: 2")).body == "long")
        table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=600", "Vary: Foo"), body: "long"), "http://a.test/", fields("Foo: 2"))
        table.store(.init(200, fields("Cache-Control: max-age=1", "Vary: Foo"), body: "short"), "http://a.test/", fields("Foo: 1"))
        table.wait(5)
        #expect(table.ask(fields("Foo: 2")).body == "long")
    }

    /// nodejs/undici#5108: an update lost which requests the response was for, and everybody got it.
    @Test func anUpdateKeepsWhichRequestsAResponseIsFor() {
        var table = CacheTable()
        table.store(
            .init(200, fields("Cache-Control: max-age=1", "Vary: Foo", "ETag: \"1\""), body: "one"), "http://a.test/", fields("Foo: 1"))
        table.wait(5)
        _ = table.send(.get, "http://a.test/", fields("Foo: 1")) { _ in .init(304, self.fields("ETag: \"1\"", "Cache-Control: max-age=600"))
        }
        #expect(table.ask(fields("Foo: 1")).body == "one")
        #expect(table.ask(fields("Foo: 2")).body == "from the server")
        let withoutFoo = table.ask()
        #expect(withoutFoo.body == "from the server")
    }

    /// nodejs/undici#4208: memory grew with each refresh beside an answer.
    @Test func refreshesDoNotPileUp() {
        var table = CacheTable()
        for round in 0..<50 {
            table.wait(5)
            let reply = CacheTable.Reply(
                200, fields("Cache-Control: max-age=1, stale-while-revalidate=60", "ETag: \"\(round)\""), body: "\(round)")
            _ = table.send { _ in reply }
        }
        #expect(table.entries().count == 1)
        #expect(table.entries().first?.response.vary.selections.count == 1)
        #expect(table.entries().first.map { String(decoding: $0.body, as: UTF8.self) } == "49")
    }

    /// nodejs/undici#4596 beside an answer, and nodejs/undici#5505 before one.
    @Test(arguments: ["max-age=1, stale-while-revalidate=3600", "max-age=1"])
    func a304RefreshesWhatIsStored(_ control: String) {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: \(control)", "ETag: \"1\""), body: "stored"))
        table.wait(5)
        let given = table.send { _ in .init(304, self.fields("Cache-Control: max-age=5")) }
        #expect(given.body == "stored")
        let hits = table.hits()
        #expect(hits)
        #expect(table.ask().beside.isEmpty)
    }

    /// nodejs/undici#5511.
    @Test func mustRevalidateCountsMoreThanMaxStaleAndStaleIfError() {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=1, must-revalidate, stale-if-error=600", "ETag: \"1\""), body: "stored"))
        table.wait(5)
        #expect(table.ask(fields("Cache-Control: max-stale=600")).sent.count == 1)
        table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=1, must-revalidate, stale-if-error=600"), body: "stored"))
        table.wait(5)
        #expect(table.send { _ in .init(503) }.status == 503)
    }

    /// nodejs/undici#5507 and meziantou/Meziantou.Framework#3024: only if an error came as a response, or only if there was a validator.
    @Test(arguments: [0, 500, 502, 503, 504])
    func staleIfErrorCoversAllErrorsAndNeedsNoValidator(_ status: Int) {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=1, stale-if-error=60"), body: "stored"))
        table.wait(5)
        #expect(table.send { _ in status == 0 ? nil : .init(status) }.body == "stored")
    }

    /// meziantou/Meziantou.Framework#2824: what was deleted or forbidden went on being served.
    @Test(arguments: [301, 401, 403, 404, 410, 429])
    func otherStatusesAreTheServersAnswer(_ status: Int) {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=1, stale-if-error=60", "ETag: \"1\""), body: "stored"))
        table.wait(5)
        #expect(table.send { _ in .init(status) }.status == status)
    }

    /// nodejs/undici#5732: a 304 brought another `Vary`, and the response went to requests it was not for.
    @Test func a304MayBringAnotherVary() {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=1", "ETag: \"1\""), body: "stored"), "http://a.test/", fields("Foo: 1"))
        table.wait(5)
        let reply = CacheTable.Reply(304, fields("ETag: \"1\"", "Cache-Control: max-age=600", "Vary: Foo"))
        #expect(table.send(.get, "http://a.test/", fields("Foo: 1")) { _ in reply }.body == "stored")
        let same = table.hits(fields("Foo: 1"))
        #expect(same)
        let other = table.hits(fields("Foo: 2"))
        #expect(!other)
    }

    /// nodejs/undici#5582: a second line of `Vary` was taken for one name.
    @Test func varyMayHaveSeveralLines() {
        var table = CacheTable()
        let reply = CacheTable.Reply(200, fields("Cache-Control: max-age=600", "Vary: Accept-Encoding, A", "Vary: B"), body: "alice")
        table.store(reply, "http://a.test/", fields("A: alice"))
        #expect(table.ask(fields("A: bob")).sent.count == 1)
    }

    /// nodejs/undici#3959 and platformatic/undici-cache-redis#53.
    @Test func aFieldThatIsNeverSentIsNoObstacle() {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=600", "Vary: Accept-Encoding")))
        let hits = table.hits()
        #expect(hits)
    }

    /// nodejs/undici#4334: parts were given for wholes and for other parts, and temporary redirects kept without a word about it.
    @Test func partsAreNoWholesAndRedirectsAreNotKeptUnasked() {
        var table = CacheTable()
        let part = CacheTable.Reply(206, fields("Cache-Control: max-age=600", "Content-Range: bytes 0-1/9"), body: "01")
        _ = table.send(.get, "http://a.test/", fields("Range: bytes=0-1")) { _ in part }
        #expect(table.ask().sent.count == 1)
        #expect(table.ask(fields("Range: bytes=2-3")).sent.count == 1)
        _ = table.send(.get, "http://b.test/") { _ in .init(307, self.fields("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT")) }
        #expect(table.entries("http://b.test/").isEmpty)
    }

    /// CVE-2026-13697: lists of fields that are empty, or beside the directive without one.
    @Test(arguments: [
        "no-cache=\"\"", "no-cache=", "no-cache, no-cache=\"a\"", "no-cache=\"a\", no-cache", "no-cache=\"\", no-cache=\"a\"",
    ])
    func aListThatProtectsNothingProtectsAll(_ directive: String) {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=600, \(directive)", "a: 1")))
        let hits = table.hits()
        #expect(!hits)
    }

    /// darkweak/souin#794: the 304 to the cache's own condition reached callers who had none.
    @Test(arguments: ["", "max-stale=6", "no-cache", "max-age=0"])
    func a304NeverReachesWhoHadNoCondition(_ control: String) {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=1, must-revalidate", "ETag: \"1\""), body: "stored"))
        table.wait(5)
        let request = control.isEmpty ? HTTPFields() : fields("Cache-Control: \(control)")
        let given = table.send(.get, "http://a.test/", request) { _ in .init(304, self.fields("ETag: \"1\"")) }
        #expect(given.status == 200)
        #expect(given.body == "stored")
    }

    /// Several caches read dates by a lenient parser, and took as fresh what has expired.
    @Test(arguments: [
        "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 AEST", "Thu, 18 Aug 50 02:01:18 GMT", "Thu 18 Aug 2050 02:01:18 GMT",
    ])
    func aDateThatIsNoneHasPassed(_ date: String) {
        var table = CacheTable()
        table.store(.init(200, fields("Expires: \(date)")))
        let hits = table.hits()
        #expect(!hits)
    }

    /// One cache replaced the age it was told by the time in its own hands, another took odd values for stale.
    @Test func theReceivedAgeCountsWhereItIsOne() {
        var table = CacheTable()
        table.store(.init(200, fields("Cache-Control: max-age=10", "Age: 15")))
        let old = table.hits()
        #expect(!old)
        table.store(.init(200, fields("Cache-Control: max-age=3600", "Age: abc")))
        table.wait(2)
        #expect(table.ask().fields[.age] == "2")
    }

    /// A byte that is no UTF-8 made two different values the same.
    @Test func tagsAndVaryingValuesAreComparedByteForByte() {
        var table = CacheTable()
        let stored = fields("Cache-Control: max-age=600", "ETag: \"\u{e4}\"", "Vary: Foo")
        table.store(.init(200, stored, body: "stored"), "http://a.test/", fields("Foo: \u{e4}"))
        #expect(table.ask(fields("Foo: \u{e5}")).body == "from the server")
        #expect(table.ask(fields("Foo: \u{e4}", "If-None-Match: \"\u{e5}\"")).status == 200)
    }

    /// Keys made of parameters in the order of a hash, or of a base URL that was not the request's own.
    @Test func aKeyIsTheURLThatIsSent() {
        let strategy = CacheTable().strategy
        let one = strategy.key(for: CacheRequest(url: "http://a.test/x?a=1&b=2"))
        #expect(one == strategy.key(for: CacheRequest(url: "http://A.test:80/x?a=1&b=2#top")))
        #expect(one != strategy.key(for: CacheRequest(url: "http://cdn.test/x?a=1&b=2")))
        #expect(one != strategy.key(for: CacheRequest(url: "http://a.test/x?a=1%26b=2")))
    }

    /// A lifetime of zero passed the check on reading and was never written.
    @Test func aTimeToLiveOfZeroIsOver() {
        var table = CacheTable()
        table.policy.timeToLive = .zero
        table.store(.init(200))
        let hits = table.hits()
        #expect(!hits)
        #expect(table.entries().count == 1)
    }

    /// Two layers, of which the expired one hid the other.
    @Test func whatHasExpiredDoesNotHideWhatIsFresh() {
        let table = CacheTable()
        func stored(_ age: Double, _ control: String) -> StoredResponse {
            StoredResponse(
                head: CacheHead(status: 200, fields: fields("Cache-Control: \(control)", "Date: \(table.date(-age))")), method: .get,
                requestTime: table.now + -age, responseTime: table.now + -age, vary: VaryRule(names: [], selections: [[]]),
                content: .complete(length: 0))
        }
        let request = CacheRequest(url: "http://a.test/")
        let candidates = [stored(5, "max-age=600"), stored(900, "max-age=1")]
        for order in [candidates, candidates.reversed()] {
            guard case .serve(let answer) = table.strategy.decide(request, candidates: order, now: table.now) else {
                Issue.record("not served")
                continue
            }
            #expect(order[answer.candidate].responseTime == table.now + -5)
        }
    }
}
