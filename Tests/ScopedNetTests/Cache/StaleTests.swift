import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9111 section 4.2.4 and RFC 5861: when what is stale is good enough.
@Suite(.leavesNothing) struct StaleTests {
    private func table(_ control: String, _ lines: String..., after: Double = 5) -> CacheTable {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: \(control)"] + lines), body: "stored"))
        table.wait(after)
        return table
    }

    // MARK: stale-while-revalidate

    @Test(
        arguments: [
            ("max-age=1, stale-while-revalidate=60", [], true), ("max-age=0, stale-while-revalidate=60", [], true),
            ("max-age=1, stale-while-revalidate=4", [], true), ("max-age=1, stale-while-revalidate=3", [], false),
            ("max-age=1, stale-while-revalidate=60, must-revalidate", [], false),
            ("max-age=1, stale-while-revalidate=60, no-cache", [], false),
            ("max-age=1, stale-while-revalidate=60", ["Cache-Control: max-age=100"], false),
            ("max-age=1, stale-while-revalidate=60", ["Cache-Control: min-fresh=0"], false),
            ("max-age=1, stale-while-revalidate=60", ["Cache-Control: no-cache"], false),
            ("max-age=1, stale-while-revalidate=x", [], false),
        ] as [(String, [String], Bool)])
    func withinItsWindowAStaleResponseIsRefreshedBesideTheAnswer(_ control: String, _ request: [String], _ isServed: Bool) {
        var table = table(control, "ETag: \"a\"")
        let given = table.ask(HTTPFields(lines: request))
        #expect(given.body == (isServed ? "stored" : "from the server"))
        #expect(given.beside.count == (isServed ? 1 : 0))
        if isServed { #expect(given.beside.first?.fields[.ifNoneMatch] == "\"a\"") }
    }

    @Test func theRefreshIsThereForTheNext() {
        var table = table("max-age=0, stale-while-revalidate=60", "ETag: \"a\"")
        let given = table.send { _ in .init(200, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"b\""]), body: "new") }
        #expect(given.body == "stored")
        #expect(given.fields[.eTag] == "\"a\"")
        let next = table.ask()
        #expect(next.sent.isEmpty)
        #expect(next.body == "new")
        #expect(next.fields[.eTag] == "\"b\"")
    }

    @Test(arguments: [500, 503])
    func anErrorBesideTheAnswerDoesNotTakeThePlaceOfIt(_ status: Int) {
        var table = table("max-age=1, stale-while-revalidate=60, stale-if-error=60")
        let given = table.send { _ in .init(status, HTTPFields(lines: ["Cache-Control: max-age=600"]), body: "error") }
        #expect(given.body == "stored")
        #expect(table.entries().map { String(decoding: $0.body, as: UTF8.self) } == ["stored"])
    }

    @Test func aFailureBesideTheAnswerIsNobodysAnswer() {
        var table = table("max-age=1, stale-while-revalidate=60")
        let given = table.send { _ in nil }
        #expect(given.body == "stored")
        #expect(table.entries().count == 1)
    }

    @Test func whatIsRefreshedIsTheWholeWhateverTheCallerAskedFor() {
        var table = table("max-age=1, stale-while-revalidate=60", "ETag: \"a\"")
        let lines = ["Range: bytes=0-1", "If-Range: \"a\"", "If-None-Match: \"x\"", "If-Modified-Since: x", "Other: 1"]
        let given = table.ask(HTTPFields(lines: lines))
        #expect(given.status == 206)
        #expect(given.beside.map(\.fields) == [HTTPFields(lines: ["Other: 1", "If-None-Match: \"a\""])])
    }

    @Test func aStoredErrorIsNoBetterThanAnother() {
        var table = CacheTable()
        table.store(.init(503, HTTPFields(lines: ["Cache-Control: max-age=1"]), body: "stored"))
        table.wait(5)
        #expect(table.send { _ in nil }.status == nil)
        #expect(table.send { _ in .init(502, body: "new") }.body == "new")
    }

    @Test(arguments: [(499, true), (500, false)])
    func onlyWhatIsNoErrorOfTheServerReplacesOne(_ status: Int, _ isServed: Bool) {
        var table = CacheTable()
        table.store(.init(status, HTTPFields(lines: ["Cache-Control: max-age=1, stale-if-error=60"]), body: "stored"))
        table.wait(5)
        #expect(table.send { _ in nil }.status == (isServed ? status : nil))
    }

    @Test(arguments: [(4.0, true), (3, false)])
    func aWindowForErrorsIncludesItsLastSecond(_ window: Double, _ isServed: Bool) {
        var table = table("max-age=1, stale-if-error=\(Int(window))")
        #expect(table.send { _ in .init(503, body: "error") }.body == (isServed ? "stored" : "error"))
    }

    @Test func offlineNothingIsSentBesideIt() {
        var table = table("max-age=1, stale-while-revalidate=60")
        let given = table.ask(HTTPFields(lines: ["Cache-Control: only-if-cached"]))
        #expect(given.body == "stored")
        #expect(given.beside.isEmpty)
    }

    // MARK: Errors

    /// Directives of the response, of the request, the server's status (0: it cannot be reached), and what the caller gets.
    @Test(
        arguments: [
            ("max-age=1, stale-if-error=60", "", 500, "stored"), ("max-age=1, stale-if-error=60", "", 503, "stored"),
            ("max-age=1, stale-if-error=60", "", 0, "stored"), ("max-age=1, stale-if-error=3", "", 503, "error"),
            ("max-age=1, stale-if-error=3", "", 0, "failure"), ("max-age=1, stale-if-error=x", "", 503, "error"),
            ("max-age=1", "stale-if-error=60", 500, "stored"), ("max-age=1", "stale-if-error=3", 500, "error"),
            ("max-age=1", "stale-if-error=3", 0, "failure"), ("max-age=1, stale-if-error=60", "", 404, "error"),
            ("max-age=1, stale-if-error=60", "", 501, "error"), ("max-age=1, stale-if-error=60, must-revalidate", "", 503, "error"),
            ("max-age=1, stale-if-error=60, no-cache", "", 503, "error"), ("max-age=1", "", 503, "stored"),
            ("max-age=1", "", 502, "stored"),
            ("max-age=1", "", 504, "stored"), ("max-age=1", "", 500, "error"), ("max-age=1", "", 0, "stored"),
            ("max-age=1, must-revalidate", "", 0, "504"), ("max-age=2, no-cache", "", 0, "504"),
            ("max-age=1, must-revalidate", "", 503, "error"),
            ("max-age=60", "no-cache", 0, "failure"), ("max-age=60", "max-age=0", 0, "failure"), ("max-age=60", "max-age=0", 503, "error"),
            ("max-age=1", "min-fresh=1", 0, "failure"), ("max-age=1", "max-age=600", 0, "stored"), ("max-age=60", "no-cache", 503, "error"),
            ("max-age=1, stale-if-error=3", "stale-if-error=60", 503, "stored"),
            ("max-age=1, stale-if-error=60", "stale-if-error=3", 503, "stored"),
            ("max-age=1, proxy-revalidate", "", 0, "stored"), ("max-age=60, stale-if-error=600", "no-cache", 503, "error"),
        ] as [(String, String, Int, String)])
    func whatIsStaleIsBetterThanSomeErrors(_ stored: String, _ request: String, _ status: Int, _ expected: String) {
        var table = table(stored)
        let fields = request.isEmpty ? HTTPFields() : HTTPFields(lines: ["Cache-Control: \(request)"])
        let given = table.send(.get, "http://a.test/", fields) { _ in status == 0 ? nil : .init(status, body: "error") }
        switch expected {
        case "failure": #expect(given.status == nil)
        case "504":
            #expect(given.status == 504)
            #expect(given.body.isEmpty)
        case "stored":
            #expect(given.status == 200)
            #expect(given.body == "stored")
            #expect(given.fields[.age] == "5")
        default:
            #expect(given.status == status)
            #expect(given.body == "error")
        }
    }

    @Test func theStatusSaysThatItIsStale() {
        var table = table("max-age=1")
        let unreachable = table.send { _ in nil }
        #expect(unreachable.cacheStatus.description == "ScopedNet; fwd=stale; ttl=-4; detail=\"stale, as no response came\"")
        let failing = table.send { _ in .init(503) }
        #expect(
            failing.cacheStatus.description == "ScopedNet; fwd=stale; fwd-status=503; ttl=-4; detail=\"stale, as the server answered 503\"")
    }

    @Test func withoutTheSwitchErrorsAreAnswers() {
        var table = table("max-age=1")
        table.policy.servesStaleWhenDisconnected = false
        #expect(table.send { _ in nil }.status == nil)
        #expect(table.send { _ in .init(503) }.status == 503)
    }

    @Test func anErrorWithALifetimeDoesNotTakeThePlaceOfWhatIsBetter() {
        var table = table("max-age=1, stale-if-error=60")
        _ = table.send { _ in .init(503, HTTPFields(lines: ["Cache-Control: max-age=600"])) }
        #expect(table.entries().map(\.response.head.status) == [200])
        table.wait(100)
        _ = table.send { _ in .init(503, HTTPFields(lines: ["Cache-Control: max-age=600"])) }
        #expect(table.entries().map(\.response.head.status) == [503])
    }

    @Test func nothingStoredIsNoAnswer() {
        var table = CacheTable()
        #expect(table.send { _ in nil }.status == nil)
        #expect(table.send { _ in .init(503) }.status == 503)
    }

    @Test func conditionsAndRangesOfTheCallerAreAnsweredStaleToo() {
        var table = table("max-age=1", "ETag: \"a\"")
        let condition = table.send(.get, "http://a.test/", HTTPFields(lines: ["If-None-Match: \"a\""])) { _ in nil }
        #expect(condition.status == 304)
        let range = table.send(.get, "http://a.test/", HTTPFields(lines: ["Range: bytes=0-1"])) { _ in nil }
        #expect(range.status == 206)
        #expect(range.body == "st")
    }

    @Test func whatAHeadHasContradictedIsNotServedStale() {
        var table = table("max-age=1", "ETag: \"a\"")
        _ = table.send(.head) { _ in .init(200, HTTPFields(lines: ["ETag: \"b\""])) }
        #expect(table.send { _ in nil }.status == 504)
    }
}
