extension ScenarioFields {
    /// Fresh for longer than any scenario takes.
    static let fresh: ScenarioFields = ["Cache-Control": "max-age=100000", "Date": 0]

    /// Stale from the beginning.
    static let stale: ScenarioFields = ["Expires": -5000, "Last-Modified": -100_000, "Date": 0]

    /// Stale after a pause.
    static let shortLived: ScenarioFields = ["Cache-Control": "max-age=2", "Date": 0, "Template-A": "1"]

    static func cacheControl(_ directives: String) -> ScenarioFields {
        var fields: ScenarioFields = [:]
        fields.lines = [Line(name: "Cache-Control", value: .text(directives))]
        return fields
    }

    /// One line.
    static func line(_ name: String, _ value: String) -> ScenarioFields {
        var fields: ScenarioFields = [:]
        fields.lines = [Line(name: name, value: .text(value))]
        return fields
    }
}

extension CacheScenario {
    /// What the library has to pass: the 300 of a private cache, then the extended ones.
    static let all: [CacheScenario] = [
        maxAge, cacheControlSyntax, ageSyntax, expires, expiresSyntax, responseDirectives, requestDirectives, pragma, heuristics,
        statusCodes, storedFields, freshenedFields, headFreshening, varyMatching, varyNormalising, varySyntax, conditionals,
        invalidation, ranges, staleness, ageAndDate, keysAndCookies, answeredConditionals, interimResponses, redirects,
    ].flatMap { $0 }
}
