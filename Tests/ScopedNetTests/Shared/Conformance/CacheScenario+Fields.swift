// Which fields are stored, and which a 304 or the response to a HEAD updates: RFC 9111 sections 3.1, 3.2, 4.3.4 and 4.3.5.
extension CacheScenario {
    /// A field of a response, and what becomes of it.
    fileprivate struct Field {
        enum Freshening {
            /// A 304 must update it.
            case required
            /// A 304 must leave it.
            case forbidden
            /// A 304 may update it, and here it does.
            case done
            /// A 304 may update it, and here it does not, for this reason.
            case declined(String)
        }

        var name: String
        var first = "first-value"
        var second = "second-value"
        var freshening = Freshening.done
    }

    private static let aboutTheBody = "it describes the body, and a 304 brings none"

    private static let endToEndFields: [Field] = [
        Field(name: "Test-Header", freshening: .required),
        Field(name: "X-Test-Header", freshening: .required),
        Field(name: "Content-Foo", freshening: .required),
        Field(name: "X-Content-Foo", freshening: .required),
        Field(name: "Cache-Control", first: "max-age=1", second: "max-age=3600", freshening: .required),
        Field(name: "Content-Encoding", freshening: .declined(aboutTheBody)),
        Field(name: "Content-Length", first: "5", second: "10", freshening: .forbidden),
        Field(name: "Content-Location", first: "/foo", second: "/bar"),
        Field(name: "Content-MD5", first: "rL0Y20zC+Fzt72VPzMSk2A==", second: "N7UdGUp1E+RbVvZSTy1R8g=="),
        Field(name: "Content-Range", freshening: .declined(aboutTheBody)),
        Field(name: "Content-Security-Policy", first: "default-src 'self'", second: "default-src 'self' cdn.example.com"),
        Field(name: "Content-Type", first: "text/plain", second: "text/plain;charset=utf-8", freshening: .declined(aboutTheBody)),
        Field(name: "Clear-Site-Data", first: "cache", second: "cookies"),
        Field(
            name: "ETag", first: #""abcdef""#, second: #""ghijkl""#,
            freshening: .declined("a 304 with the tag of another representation confirms nothing (RFC 9111 4.3.4)")),
        Field(name: "Expires", first: "Fri, 01 Jan 2038 01:01:01 GMT", second: "Mon, 11 Jan 2038 11:11:11 GMT"),
        Field(name: "Public-Key-Pins"),
        Field(name: "Set-Cookie", first: "a=b", second: "a=c"),
        Field(name: "Set-Cookie2", first: "a=b", second: "a=c"),
        Field(name: "X-Frame-Options", first: "deny", second: "sameorigin"),
        Field(name: "X-XSS-Protection", first: "1", second: "1; mode=block"),
    ]

    private static let hopByHopFields = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization", "Proxy-Connection",
        "TE", "Transfer-Encoding", "Upgrade",
    ]

    @CacheScenarioTable static var storedFields: [CacheScenario] {
        required(
            "headers-omit-headers-listed-in-Connection", "What Connection names is for this connection only",
            after: ["freshness-max-age"],
            .get(answer: .fresh + ["Connection": "a, b", "a": "1", "b": "2", "c": "3"]).paused,
            .get().cached.has(["c": "3"]).lacks("a", "b"))
        for field in endToEndFields { stores(field) }
        for name in hopByHopFields {
            required(
                "headers-store-\(name)", "\(name) is for this connection only", after: ["freshness-max-age"],
                .get(answer: ["Date": 0, "Cache-Control": "max-age=3600"] + .line(name, "some-value")).paused,
                .get().cached.lacks(name))
        }
    }

    @CacheScenarioTable static var freshenedFields: [CacheScenario] {
        required(
            "304-lm-use-stored-Test-Header", "What a 304 leaves out stays as stored",
            .get(
                answer: [
                    "Cache-Control": "max-age=2", "Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT", "Date": 0, "Test-Header": "stored",
                ]
            ).paused,
            .get(answer: ["Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT", "Date": 0]).validatedByDate.has(["Test-Header": "stored"]))
        for field in endToEndFields { freshens(field) }
    }

    private static func stores(_ field: Field) -> CacheScenario {
        let lifetime: ScenarioFields = field.name == "Cache-Control" ? [:] : ["Cache-Control": "max-age=3600"]
        return required(
            "headers-store-\(field.name)", "\(field.name) is stored", after: ["freshness-max-age"],
            .get(answer: ["Date": 0] + .line(field.name, field.second) + lifetime).paused.expectingBody(of: field),
            .get().cached.has(.line(field.name, field.second)).expectingBody(of: field))
    }

    private static func freshens(_ field: Field) -> CacheScenario {
        func answer(_ value: String) -> ScenarioFields {
            let lifetime: ScenarioFields = field.name == "Cache-Control" ? [:] : ["Cache-Control": "max-age=2"]
            let validator: ScenarioFields = field.name == "ETag" ? [:] : .line("ETag", "\"tag-of-\(field.name)\"")
            return ["Date": 0] + .line(field.name, value) + lifetime + validator
        }
        let (kind, value, declined): (Kind, String, String?) =
            switch field.freshening {
            case .required: (.required, field.second, nil)
            case .forbidden: (.required, field.first, nil)
            case .done: (.check, field.second, nil)
            case .declined(let reason): (.check, field.second, reason)
            }
        return CacheScenario(
            id: "304-etag-update-response-\(field.name)", kind: kind, coverage: .standard,
            proves: value == field.first ? "\(field.name) is left as stored by a 304" : "\(field.name) is updated by a 304",
            prerequisites: ["304-lm-use-stored-Test-Header"], expectedResult: declined.map { .fail($0) } ?? .pass,
            exchanges: [
                .get(answer: answer(field.first)).paused.expectingBody(of: field),
                .get(answer: answer(field.second)).validatedByETag.has(.line(field.name, value)).expectingBody(of: field),
                .get().cached.has(.line(field.name, value)).expectingBody(of: field),
            ])
    }

    @CacheScenarioTable static var headFreshening: [CacheScenario] {
        check(
            "head-writethrough", "A HEAD for something stale reaches the origin as a HEAD", after: ["freshness-max-age-stale"],
            .get(answer: .shortLived).paused,
            .request("HEAD").asks(method: "HEAD"))
        check(
            "head-200-retain", "Its caller also gets what is stored and the answer left out", after: ["head-writethrough"],
            .get(answer: .shortLived).paused,
            .request("HEAD").asks(method: "HEAD").has(["Template-A": "1"]))
        check(
            "head-200-freshness-update", "Its answer gives the stored response a new lifetime", after: ["head-writethrough"],
            .get(answer: .shortLived).paused,
            .request("HEAD", answer: .cacheControl("max-age=1000")).asks(method: "HEAD"),
            .get().cached)
        check(
            "head-200-update", "Its answer updates the stored fields", after: ["head-200-freshness-update"],
            .get(answer: .shortLived).paused,
            .request("HEAD", answer: ["Template-A": "2", "Cache-Control": "max-age=1000"]).asks(method: "HEAD"),
            .get().cached.has(["Template-A": "2"]))
        check(
            "head-410-update", "So does an answer of 410", after: ["head-200-freshness-update"],
            declined: "a 410 is not about the representation that is stored",
            .get(answer: .shortLived).paused,
            .request("HEAD", status: 410, answer: ["Template-A": "2", "Cache-Control": "max-age=1000"]).asks(method: "HEAD"),
            .get().cached.has(["Template-A": "2"]))
    }
}

extension CacheScenario.Exchange {
    /// A Content-Length of the script cuts the body short, which is not what its scenario is about.
    fileprivate func expectingBody(of field: CacheScenario.Field) -> Self {
        field.name == "Content-Length" ? anyBody : self
    }
}
