import CleanSlate
import HTTPTypes
import Testing

/// The judge finds each thing that can be otherwise than a scenario says.
@Suite(.leavesNothing) struct ScenarioJudgeTests {
    private typealias Exchange = CacheScenario.Exchange

    /// The first of two exchanges went well; the second brought this.
    private static func deviations(
        _ second: Exchange, _ response: ScenarioResponse, visit: ScenarioOrigin.Visit? = nil
    ) -> [String] {
        let scenario = CacheScenario.check("a", "", .get(answer: ["Date": 0]), second)
        let first = Self.response(exchange: 1, ["Date": "today"])
        var visits = [ScenarioOrigin.Visit(exchange: 1, method: "GET", fields: [:], response: first)]
        if let visit { visits.append(visit) }
        return ScenarioJudge(scenario: scenario, responses: [first, response], visits: visits).deviations
    }

    private static func response(
        exchange: Int?, _ fields: ScenarioFields = [:], status: Int = 200, body: String = "body of a"
    ) -> ScenarioResponse {
        let mark = exchange.map { ScenarioFields.line(ScenarioMark.exchange, String($0)) } ?? [:]
        return ScenarioResponse(status: status, fields: (fields + mark).resolved(now: 0, path: ""), body: body)
    }

    private static func visit(_ fields: ScenarioFields = [:], method: String = "GET", sent: ScenarioResponse?) -> ScenarioOrigin.Visit {
        ScenarioOrigin.Visit(exchange: 2, method: method, fields: fields.resolved(now: 0, path: ""), response: sent)
    }

    @Test func whereTheResponseIsFrom() {
        let old = Self.response(exchange: 1)
        let new = Self.response(exchange: 2)
        let made = Self.response(exchange: nil)
        let asked = Self.visit(sent: new)
        #expect(Self.deviations(.get().cached, old) == [])
        #expect(Self.deviations(.get().cached, new, visit: asked) == ["exchange 2: not from the cache"])
        #expect(Self.deviations(.get().cached, made) == ["exchange 2: not from the cache"])
        #expect(Self.deviations(.get().fromOrigin, new, visit: asked) == [])
        #expect(Self.deviations(.get().fromOrigin, old) == ["exchange 2: from the cache"])
        #expect(Self.deviations(.get().generated(200), made) == [])
        #expect(Self.deviations(.get().generated(200), old) == ["exchange 2: from exchange 1"])
    }

    @Test func a304OfTheCacheNeedNotBearTheMark() {
        let notModified = Self.response(exchange: nil, status: 304, body: "")
        #expect(Self.deviations(.get().cached.status(304), notModified) == [])
        let asked = Self.visit(sent: Self.response(exchange: 2, status: 304))
        #expect(Self.deviations(.get().cached.status(304), notModified, visit: asked) == ["exchange 2: not from the cache"])
    }

    @Test func aValidationHasToReachTheOriginAndConvinceIt() {
        let old = Self.response(exchange: 1)
        let tag: ScenarioFields = ["If-None-Match": "x"]
        let confirmed = Self.visit(tag, sent: Self.response(exchange: 2, status: 304))
        #expect(Self.deviations(.get().validatedByETag, old, visit: confirmed) == [])
        #expect(Self.deviations(.get().validatedByETag, old) == ["exchange 2: the origin was not asked"])
        let unconditional = Self.visit(sent: Self.response(exchange: 2, status: 999))
        #expect(
            Self.deviations(.get().validatedByETag, old, visit: unconditional)
                == ["exchange 2: the origin was asked without If-None-Match"])
        let wrong = Self.visit(tag, sent: Self.response(exchange: 2, status: 999))
        #expect(
            Self.deviations(.get().validatedByETag, old, visit: wrong) == ["exchange 2: the origin was asked with the wrong If-None-Match"])
    }

    @Test func statusAndBody() {
        let response = Self.response(exchange: 1, status: 203, body: "other")
        #expect(
            Self.deviations(.get().cached, response)
                == ["exchange 2: status 203, not 200", "exchange 2: the body is \"other\", not \"body of a\""])
        #expect(Self.deviations(.get().cached.status(203).body("other"), response) == [])
        #expect(Self.deviations(.get().cached.status(203).anyBody, response) == [])
        let empty = Self.response(exchange: 1, body: "")
        #expect(Self.deviations(.request("HEAD").cached, empty) == [])
    }

    @Test func fieldsOfTheResponse() {
        let response = Self.response(exchange: 1, ["A": "1", "A": "2", "Age": "7", "Date": "tomorrow"])
        #expect(Self.deviations(.get().cached.has(["A": "1, 2"]).has("Age").has("Age", above: 6).lacks("B"), response) == [])
        #expect(Self.deviations(.get().cached.has(["A": "1"]), response) == ["exchange 2: A is \"1, 2\", not \"1\""])
        #expect(Self.deviations(.get().cached.has("B"), response) == ["exchange 2: no B"])
        #expect(Self.deviations(.get().cached.lacks("Age"), response) == ["exchange 2: Age is there: \"7\""])
        #expect(Self.deviations(.get().cached.has("Age", above: 7), response) == ["exchange 2: Age is \"7\", not above 7"])
        #expect(Self.deviations(.get().cached.has("B", above: 7), response) == ["exchange 2: B is absent, not above 7"])
        #expect(Self.deviations(.get().cached.keeps("Date"), response) == ["exchange 2: Date was \"today\" and is \"tomorrow\""])
    }

    @Test func aResponseOfTheOriginLosesNothingButWhatIsForTheConnection() {
        let sent = Self.response(exchange: 2, ["A": "1", "Connection": "b", "B": "2", "Keep-Alive": "5"])
        let received = Self.response(exchange: 2, ["A": "1"])
        #expect(Self.deviations(.get().fromOrigin, received, visit: Self.visit(sent: sent)) == [])
        let less = Self.response(exchange: 2)
        #expect(Self.deviations(.get().fromOrigin, less, visit: Self.visit(sent: sent)) == ["exchange 2: A is absent, not \"1\" as sent"])
    }

    @Test func whatTheOriginSaw() {
        let new = Self.response(exchange: 2)
        let asked = Self.visit(["Range": "bytes=5-"], method: "HEAD", sent: new)
        #expect(Self.deviations(.get().asks(["Range": "bytes=5-"]).asks(method: "HEAD"), new, visit: asked) == [])
        #expect(Self.deviations(.get().asks(method: "GET"), new, visit: asked) == ["exchange 2: asked by HEAD, not GET"])
        #expect(
            Self.deviations(.get().asks(["Range": "bytes=6-"]), new, visit: asked)
                == ["exchange 2: asked with Range \"bytes=5-\", not \"bytes=6-\""])
        #expect(Self.deviations(.get().asks(method: "GET"), Self.response(exchange: 1)) == ["exchange 2: the origin was not asked"])
    }

    @Test func anOriginAskedTwiceForOneExchange() {
        let scenario = CacheScenario.check("a", "", .get())
        let response = Self.response(exchange: 1)
        let visits = [1, 1].map { ScenarioOrigin.Visit(exchange: $0, method: "GET", fields: [:], response: response) }
        let judge = ScenarioJudge(scenario: scenario, responses: [response], visits: visits)
        #expect(judge.deviations == ["exchange 1: the origin was asked 2 times"])
        let early = ScenarioJudge(scenario: scenario, responses: [], visits: visits)
        #expect(early.deviations == ["0 of 1 responses"])
    }

    @Test func interimResponses() {
        var response = Self.response(exchange: 1)
        let exchange = Exchange.get().preceded(by: .init(status: 103, fields: ["Link": "x"])).cached
        #expect(Self.deviations(exchange, response) == ["exchange 2: interim responses [], not [103]"])
        response.interim = [.init(status: 103, fields: [:])]
        #expect(Self.deviations(exchange, response) == ["exchange 2: no Link in 103"])
        #expect(Self.deviations(.get().cached.withoutInterim, response) == ["exchange 2: interim responses [103], not []"])
    }
}
