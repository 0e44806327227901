extension CacheScenario {
    /// One request of the caller, the origin's answer if it is asked, and what the caller has to get.
    struct Exchange: Sendable {
        var method = "GET"
        /// Appended to the scenario's path.
        var suffix = ""
        /// Fields of the caller's request.
        var fields: ScenarioFields = [:]
        var body: String?
        /// The caller wants what is stored validated, as a browser's reload does (fetch()'s cache mode "no-cache").
        var isReload = false
        var answer = Answer()
        var expectation = Expectation()
        /// How many seconds pass before the next exchange.
        var pause = 0
    }

    /// What the origin says when the request of an exchange reaches it.
    struct Answer: Sendable {
        var status = 200
        var fields: ScenarioFields = [:]
        /// nil: the scenario's standard body.
        var body: String?
        var interim: [Interim] = []
        /// Seconds the origin takes before it answers.
        var delay = 0
        /// It closes the connection in place of an answer.
        var isMissing = false
    }

    /// A response of the 1xx class which precedes the final one.
    struct Interim: Sendable {
        var status: Int
        var fields: ScenarioFields = [:]
    }

    /// What the caller has to get, and what the origin has to have seen.
    struct Expectation: Sendable {
        /// Where the response comes from; nil: anywhere.
        var source: Source?
        /// nil: the status of the exchange's answer.
        var status: Int?
        /// Fields of the response, lines of one name joined.
        var fields: ScenarioFields = [:]
        var presentFields: [String] = []
        var absentFields: [String] = []
        /// Fields that hold what they held in the first exchange.
        var unchangedFields: [String] = []
        /// Fields that hold a number above this one.
        var lowerBounds: [String: Int] = [:]
        var body = Body.asAnswered
        /// Interim responses the caller sees; nil: not looked at.
        var interim: [Interim]?
        /// Fields with which the request reached the origin.
        var requestFields: ScenarioFields = [:]
        /// The method with which the request reached the origin.
        var requestMethod: String?
    }

    enum Source: Sendable, Equatable {
        /// An earlier exchange.
        case cache
        /// This exchange.
        case origin
        /// An earlier exchange, after the origin confirmed in this one that it still holds: with a 304, for this field of the request.
        case validated(with: String)
        /// Neither: the cache made the response up (RFC 9111 5.2.1.7, 5.2.2.2).
        case generated
    }

    enum Body: Sendable, Equatable {
        /// The answer's body, or the standard one.
        case asAnswered
        case text(String)
        case any
    }
}

// The words of which tables are made.
extension CacheScenario.Exchange {
    /// A request of the caller, and the origin's answer to it.
    static func request(
        _ method: String = "GET", _ fields: ScenarioFields = [:], suffix: String = "", sends body: String? = nil,
        status: Int = 200, answer: ScenarioFields = [:], body answerBody: String? = nil
    ) -> Self {
        var exchange = Self()
        exchange.method = method
        exchange.fields = fields
        exchange.suffix = suffix
        exchange.body = body
        exchange.answer.status = status
        exchange.answer.fields = answer
        exchange.answer.body = answerBody
        return exchange
    }

    static func get(
        _ fields: ScenarioFields = [:], suffix: String = "", status: Int = 200, answer: ScenarioFields = [:], body: String? = nil
    ) -> Self {
        request("GET", fields, suffix: suffix, status: status, answer: answer, body: body)
    }

    /// A GET on which the origin hangs up.
    static var getCutOff: Self {
        var exchange = Self()
        exchange.answer.isMissing = true
        return exchange
    }

    /// Three seconds pass afterwards: lifetimes of one and two seconds end.
    var paused: Self { with { $0.pause = 3 } }
    var reloading: Self { with { $0.isReload = true } }
    func delayed(_ seconds: Int) -> Self { with { $0.answer.delay = seconds } }
    func preceded(by interim: CacheScenario.Interim...) -> Self {
        with {
            $0.answer.interim = interim
            $0.expectation.interim = interim
        }
    }

    var cached: Self { with { $0.expectation.source = .cache } }
    var fromOrigin: Self { with { $0.expectation.source = .origin } }
    var validatedByETag: Self { with { $0.expectation.source = .validated(with: "If-None-Match") } }
    var validatedByDate: Self { with { $0.expectation.source = .validated(with: "If-Modified-Since") } }
    func generated(_ status: Int) -> Self {
        with {
            $0.expectation.source = .generated
            $0.expectation.status = status
            $0.expectation.body = .any
        }
    }

    func status(_ status: Int) -> Self { with { $0.expectation.status = status } }
    func body(_ text: String) -> Self { with { $0.expectation.body = .text(text) } }
    var anyBody: Self { with { $0.expectation.body = .any } }
    func has(_ fields: ScenarioFields) -> Self { with { $0.expectation.fields = $0.expectation.fields + fields } }
    func has(_ names: String...) -> Self { with { $0.expectation.presentFields += names } }
    func lacks(_ names: String...) -> Self { with { $0.expectation.absentFields += names } }
    func has(_ name: String, above bound: Int) -> Self { with { $0.expectation.lowerBounds[name] = bound } }
    func keeps(_ name: String) -> Self { with { $0.expectation.unchangedFields.append(name) } }
    var withoutInterim: Self { with { $0.expectation.interim = [] } }
    func asks(_ fields: ScenarioFields) -> Self { with { $0.expectation.requestFields = fields } }
    func asks(method: String) -> Self { with { $0.expectation.requestMethod = method } }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
