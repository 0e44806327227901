import CleanSlate
import HTTPTypes
import Testing

/// The scripted origin sends what the script says, and the dates, lengths and conditions that a script leaves to it.
@Suite(.leavesNothing) struct ScenarioOriginTests {
    private static let now: Int64 = 784_111_777  // Sun, 06 Nov 1994 08:49:37 GMT

    private static func fields(_ exchange: Int, _ more: ScenarioFields = [:]) -> HTTPFields {
        (more + .line(ScenarioMark.exchange, String(exchange))).resolved(now: now, path: "")
    }

    @Test func aNumberInAScriptIsADateFromTheOriginsClock() {
        let script: ScenarioFields = ["Date": 0, "Expires": 3600, "Last-Modified": .obsoleteDate(-86400), "Location": .path("/x")]
        let fields = script.resolved(now: Self.now, path: "/scenario/a")
        #expect(fields[.date] == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(fields[text: "Expires"] == "Sun, 06 Nov 1994 09:49:37 GMT")
        #expect(fields[.lastModified] == "Saturday, 05-Nov-94 08:49:37 GMT")
        #expect(fields[.location] == "/scenario/a/x")
    }

    @Test func whatEveryServerSendsIsAdded() {
        var origin = ScenarioOrigin(.check("a", "", .get(answer: ["Cache-Control": "no-store"], body: "abc")))
        let response = origin.answer(method: "GET", fields: Self.fields(1), now: Self.now)
        #expect(response?.body == "abc")
        #expect(response?.fields[.contentLength] == "3")
        #expect(response?.fields[.date] == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(response?.fields[.contentType] == "text/plain")
        #expect(response?.fields[text: ScenarioMark.exchange] == "1")
        #expect(origin.visits.map(\.method) == ["GET"])
    }

    @Test func aLengthInTheScriptEndsTheBody() {
        var origin = ScenarioOrigin(.check("a", "", .get(answer: ["Content-Length": "2"], body: "abc")))
        let response = origin.answer(method: "GET", fields: Self.fields(1), now: Self.now)
        #expect(response?.body == "ab")
    }

    @Test func headAnd204HaveNoBody() {
        var origin = ScenarioOrigin(.check("a", "", .get(body: "abc"), .get(status: 204, body: "abc")))
        let head = origin.answer(method: "HEAD", fields: Self.fields(1), now: Self.now)
        #expect(head?.body == "")
        let empty = origin.answer(method: "GET", fields: Self.fields(2), now: Self.now)
        #expect(empty?.body == "")
        #expect(empty?.fields[.contentLength] == nil)
    }

    private static let conditions: [(ScenarioFields, Int)] = [
        (["If-None-Match": #""a""#], 304), (["If-None-Match": #""b", "a""#], 304), (["If-None-Match": #""b""#], 999),
        (["If-None-Match": #""b""#, "If-Modified-Since": -100], 999), (["If-Modified-Since": -100], 304),
        (["If-Modified-Since": -99], 999), ([:], 999),
    ]

    @Test(arguments: conditions)
    func aConditionHoldsOfWhatWasSentBefore(condition: ScenarioFields, status: Int) {
        var origin = ScenarioOrigin(
            .check("a", "", .get(answer: ["ETag": #""a""#, "Last-Modified": -100]), .get().validatedByETag))
        _ = origin.answer(method: "GET", fields: Self.fields(1), now: Self.now)
        let response = origin.answer(method: "GET", fields: Self.fields(2, condition), now: Self.now)
        #expect(response?.status == status)
    }

    @Test func itHangsUpWhereTheScriptSaysSo() {
        var origin = ScenarioOrigin(.check("a", "", .getCutOff))
        let response = origin.answer(method: "GET", fields: Self.fields(1), now: Self.now)
        #expect(response == nil)
        #expect(origin.visits.count == 1)
    }

    @Test func aRequestOfNoExchangeIsRefused() {
        var origin = ScenarioOrigin(.check("a", "", .get()))
        let unmarked = origin.answer(method: "GET", fields: [:], now: Self.now)
        #expect(unmarked?.status == 400)
        let superfluous = origin.answer(method: "GET", fields: Self.fields(2), now: Self.now)
        #expect(superfluous?.status == 400)
        #expect(origin.visits.isEmpty)
    }
}
