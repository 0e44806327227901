// Stale responses: RFC 9111 sections 4.2.4, 5.2.2.2 and 5.2.2.4; RFC 5861. Interim responses: RFC 9110 section 15.2.
extension CacheScenario {
    @CacheScenarioTable static var staleness: [CacheScenario] {
        check(
            "stale-close", "Disconnected, a stale response is better than none", after: ["freshness-max-age-stale"],
            .get(answer: .shortLived).paused,
            .getCutOff.cached)
        check(
            "stale-503", "A stale response is better than a 503", after: ["freshness-max-age-stale"],
            .get(answer: .shortLived).paused,
            .get(status: 503).cached.status(200))
        optimal(
            "stale-while-revalidate", "Within stale-while-revalidate nobody waits for the origin", after: ["freshness-max-age-stale"],
            .get(answer: ["Cache-Control": "max-age=1, stale-while-revalidate=3600", "ETag": #""abc""#]).paused,
            .get().cached)
        required(
            "stale-while-revalidate-window", "Behind stale-while-revalidate everybody does", after: ["stale-while-revalidate"],
            .get(answer: ["Cache-Control": "max-age=1, stale-while-revalidate=4", "ETag": #""abc""#]).paused,
            .get(answer: ["Cache-Control": "no-cache", "ETag": #""def""#]).cached.paused,
            .get().fromOrigin)
        check(
            "stale-sie-close", "Within stale-if-error a stale response is better than none", after: ["freshness-max-age-stale"],
            .get(answer: .cacheControl("max-age=2, stale-if-error=60")).paused,
            .getCutOff.cached)
        check(
            "stale-sie-503", "Within stale-if-error a stale response is better than a 503", after: ["freshness-max-age-stale"],
            .get(answer: .cacheControl("max-age=2, stale-if-error=60")).paused,
            .get(status: 503).cached.status(200))
        for directive in ["must-revalidate", "no-cache"] {
            required(
                "stale-close-\(directive)", "Disconnected, with \(directive) none is better than a stale one: 504 from here",
                after: ["stale-close"],
                .get(answer: .cacheControl("max-age=2, \(directive)")).paused,
                .getCutOff.generated(504))
        }
        let obsolete = "Warning is obsolete (RFC 9111 section 5.5)"
        check(
            "stale-warning-stored", "A response that was stored stale bears a Warning", after: ["stale-close"], declined: obsolete,
            .get(answer: .stale).paused,
            .getCutOff.cached.has("Warning"))
        check(
            "stale-warning-become", "A response that became stale bears a Warning", after: ["stale-close"], declined: obsolete,
            .get(answer: .shortLived).paused,
            .getCutOff.cached.has("Warning"))
    }

    static var interimResponses: [CacheScenario] { interimRows.map(\.extended) }

    @CacheScenarioTable private static var interimRows: [CacheScenario] {
        let hints = Interim(status: 103, fields: ["Link": "</styles.css>; rel=preload; as=style", "X-My-Header": "test"])
        optimal(
            "interim-102", "A 102 is handed on, the final response stored",
            .get(answer: ["Cache-Control": "max-age=100000", "Date": 0]).preceded(by: Interim(status: 102)).paused,
            .get().cached)
        optimal(
            "interim-103", "A 103 is handed on, the final response stored",
            .get(answer: ["Cache-Control": "max-age=100000", "Date": 0]).preceded(by: hints).paused,
            .get().cached)
        required(
            "interim-not-cached", "A 103 is not stored",
            .get(answer: ["Cache-Control": "max-age=100000", "Date": 0]).preceded(by: hints).paused,
            .get().cached.withoutInterim)
        optimal(
            "interim-no-header-reuse", "The fields of a 103 are not those of the response",
            .get(answer: ["Cache-Control": "max-age=100000", "Date": 0]).preceded(by: hints).lacks("X-My-Header").paused,
            .get().cached.lacks("X-My-Header"))
    }
}
