// Methods other than GET: RFC 9111 sections 3, 4.4; RFC 9110 section 9.3.3.
extension CacheScenario {
    @CacheScenarioTable static var invalidation: [CacheScenario] {
        for method in ["POST", "PUT", "DELETE", "M-SEARCH"] {
            required(
                "invalidate-\(method)", "A \(method) that succeeds ends what is stored of its target", after: ["freshness-max-age"],
                .get(answer: .fresh).paused,
                .request(method, sends: "abc"),
                .get().fromOrigin)
            optimal(
                "invalidate-\(method)-failed", "A \(method) that fails ends nothing", after: ["invalidate-\(method)"],
                .get(answer: .fresh).paused,
                .request(method, sends: "abc", status: 500),
                .get().cached)
            named(by: "Location", "location", after: method)
            named(by: "Content-Location", "cl", after: method)
        }
        optimal(
            "method-POST", "A POST's answer that says it is what a GET would get is what a GET gets",
            .request(
                "POST", ["Content-Type": "text/plain"], sends: "12345",
                answer: ["Expires": 2_592_000, "Content-Location": .path(""), "Date": 0]
            ).paused,
            .get().cached)
    }

    private static func named(by field: String, _ short: String, after method: String) -> CacheScenario {
        let other: ScenarioFields = ["Cache-Control": "max-age=100000", "Last-Modified": 0, "Date": 0]
        return check(
            "invalidate-\(method)-\(short)", "A \(method) that succeeds ends what is stored of the URI in \(field)",
            after: ["invalidate-\(method)"],
            .get(suffix: "/target-of-\(short)", answer: other),
            .request(
                method, sends: "abc",
                answer: ["Location": .path("/target-of-location"), "Content-Location": .path("/target-of-cl")]),
            .get(suffix: "/target-of-\(short)", answer: other).fromOrigin)
    }

    @CacheScenarioTable static var keysAndCookies: [CacheScenario] {
        required(
            "query-args-different", "Another query is another resource", after: ["freshness-max-age"],
            .get(suffix: "?test=one", answer: .fresh).paused,
            .get(suffix: "?test=two").fromOrigin)
        optimal(
            "query-args-same", "A query does not hinder reuse", after: ["freshness-max-age"],
            .get(suffix: "?test=one", answer: .fresh).paused,
            .get(suffix: "?test=one").cached)
        check(
            "other-fresh-content-disposition-attachment", "An attachment is reused", after: ["freshness-max-age"],
            .get(answer: .fresh + ["Content-Disposition": "attachment; filename=example.txt"]).paused,
            .get().cached)
        optimal(
            "other-set-cookie", "A response that sets a cookie is reused", after: ["freshness-max-age"],
            .get(answer: .fresh + ["Set-Cookie": "a=b"]).paused,
            .get().cached)
        optimal(
            "other-cookie", "A caller with a cookie gets what is stored", after: ["freshness-max-age"],
            .get(answer: .fresh).paused,
            .get(["Cookie": "a=b"]).cached)
    }
}
