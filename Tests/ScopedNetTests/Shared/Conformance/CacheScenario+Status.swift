// What may be stored, by status: RFC 9111 sections 3, 4.2.2 and 5.2.2.3; RFC 9110 section 15.1.
extension CacheScenario {
    @CacheScenarioTable static var heuristics: [CacheScenario] {
        for status in [200, 203, 204, 404, 405, 410, 414, 501] {
            optimal(
                "heuristic-\(status)-cached", "A lifetime may be guessed for \(status)",
                .get(status: status, answer: ["Last-Modified": -86400, "Date": 0]),
                .get(status: status).cached)
        }
        for status in [201, 202, 403, 502, 503, 504, 599] {
            required(
                "heuristic-\(status)-not_cached", "No lifetime may be guessed for \(status)",
                .get(status: status, answer: ["Last-Modified": -86400, "Date": 0]),
                .get(status: status).fromOrigin)
        }
        optimal(
            "heuristic-599-cached", "public lets a lifetime be guessed for any status",
            .get(status: 599, answer: ["Last-Modified": -86400, "Date": 0, "Cache-Control": "public"]),
            .get(status: 599).cached)
        for age in [5, 10, 30] {
            check(
                "heuristic-delta-\(age)", "Three seconds are a lifetime for what changed \(age) s ago",
                declined: "a guess is a tenth of the time since the last change",
                .get(answer: ["Last-Modified": .date(-age), "Date": 0]).paused,
                .get().cached)
        }
        for age in [60, 300, 600, 1200, 1800, 3600, 43200, 86400] {
            check(
                "heuristic-delta-\(age)", "More than three seconds are a lifetime for what changed \(age) s ago",
                .get(answer: ["Last-Modified": .date(-age), "Date": 0]).paused,
                .get().cached)
        }
        check(
            "other-heuristic-content-disposition-attachment", "A lifetime is guessed for attachments too", after: ["heuristic-200-cached"],
            .get(
                answer: [
                    "Last-Modified": -100_000, "Date": 0, "Content-Disposition": "attachment; filename=example.txt",
                ]),
            .get().cached)
    }

    @CacheScenarioTable static var statusCodes: [CacheScenario] {
        for status in [200, 203, 204, 299, 400, 404, 410, 499, 500, 502, 503, 504, 599] {
            freshStatus(status)
            staleStatus(status)
        }
        required(
            "status-599-must-understand", "must-understand keeps out a status that is not known", after: ["status-599-fresh"],
            .get(status: 599, answer: .cacheControl("max-age=3600, no-store, must-understand")),
            .get().fromOrigin)
        optimal(
            "status-200-must-understand", "must-understand overrules no-store for a status that is known",
            after: ["status-200-fresh", "cc-resp-no-store-fresh"],
            .get(answer: .cacheControl("max-age=3600, no-store, must-understand")),
            .get().cached)
    }

    /// Redirects, which the caller has asked not to be followed.
    @CacheScenarioTable static var redirects: [CacheScenario] {
        for status in [301, 302, 303, 307, 308] {
            freshStatus(status).extended
            staleStatus(status).extended
        }
    }

    private static func freshStatus(_ status: Int) -> CacheScenario {
        optimal(
            "status-\(status)-fresh", "\(status) with a lifetime is reused", after: ["freshness-max-age"],
            .get(status: status, answer: .fresh).paused,
            .get(status: status).cached)
    }

    private static func staleStatus(_ status: Int) -> CacheScenario {
        required(
            "status-\(status)-stale", "\(status) is not reused after its lifetime", after: ["status-\(status)-fresh"],
            .get(status: status, answer: .stale).paused,
            .get().fromOrigin)
    }
}
