// Conditional requests, the cache's own and the caller's: RFC 9111 sections 4.3.1 and 4.3.2; RFC 9110 sections 8.8 and 13.
extension CacheScenario {
    @CacheScenarioTable static var conditionals: [CacheScenario] {
        optimal(
            "conditional-etag-strong-generate", "A stale response is validated by its entity tag", after: ["freshness-max-age-stale"],
            .get(answer: .shortLived + ["ETag": #""abcdef""#]).paused,
            .get().validatedByETag.asks(["If-None-Match": #""abcdef""#]))
        optimal(
            "conditional-etag-weak-generate-weak", "By a weak one as well", after: ["freshness-max-age-stale"],
            .get(answer: .shortLived + ["ETag": #"W/"abcdef""#]).paused,
            .get().validatedByETag.asks(["If-None-Match": #"W/"abcdef""#]))
        check(
            "conditional-etag-strong-generate-unquoted", "A tag that came without quotes is sent back with quotes",
            after: ["conditional-etag-strong-generate"], declined: "it would be another tag than the origin's",
            .get(answer: .shortLived + ["ETag": "abcdef"]).paused,
            .get().validatedByETag.asks(["If-None-Match": #""abcdef""#]))
        required(
            "conditional-etag-vary-headers", "The fields that Vary names go with the validation",
            .get(["Abc": "123"], answer: ["Expires": 1, "ETag": #""abcdef""#, "Date": 0, "Vary": "Abc"]).paused,
            .get(["Abc": "123"]).validatedByETag.asks(["Abc": "123"]))
        check(
            "conditional-etag-vary-headers-mismatch", "If no variant matches, the origin is offered those that are stored",
            after: ["conditional-etag-vary-headers", "vary-no-match"],
            .get(["Abc": "123"], answer: ["Expires": 10000, "ETag": #""abcdef""#, "Date": 0, "Vary": "Abc"]).paused,
            .get(["Abc": "456"]).asks(["If-None-Match": #""abcdef""#]))
        check(
            "conditional-etag-forward", "The caller's condition goes on to the origin when nothing is stored",
            .get(["If-None-Match": #""abcdef""#]).asks(["If-None-Match": #""abcdef""#]))
        check(
            "conditional-etag-forward-unquoted", "A tag that the caller wrote without quotes gets them",
            after: ["conditional-etag-forward"], declined: "a caller's own fields are left alone",
            .get(["If-None-Match": "abcdef"]).asks(["If-None-Match": #""abcdef""#]))
    }

    /// The caller's own condition, answered out of the cache.
    static var answeredConditionals: [CacheScenario] { (answeredTags + answeredOddTags + answeredDates).map(\.extended) }

    @CacheScenarioTable private static var answeredTags: [CacheScenario] {
        optimal(
            "conditional-etag-strong-respond", "The caller has what is stored: 304", after: ["freshness-max-age"],
            .get(answer: .fresh + ["ETag": #""abcdef""#]).paused,
            .get(["If-None-Match": #""abcdef""#]).cached.status(304))
        required(
            "conditional-304-etag", "The 304 bears the tag", after: ["conditional-etag-strong-respond"],
            .get(answer: .fresh + ["ETag": #""abcdef""#]).paused,
            .get(["If-None-Match": #""abcdef""#]).cached.status(304).has(["ETag": #""abcdef""#]))
        required(
            "conditional-etag-precedence", "The tag decides, whatever date is beside it", after: ["conditional-etag-strong-respond"],
            .get(answer: .fresh + ["Last-Modified": -5000, "ETag": #""abcdef""#]).paused,
            .get(["If-None-Match": #""abcdef""#, "If-Modified-Since": -1]).cached.status(304))
        optimal(
            "conditional-etag-weak-respond", "A weak tag compares as well", after: ["freshness-max-age"],
            .get(answer: .fresh + ["ETag": #"W/"abcdef""#]).paused,
            .get(["If-None-Match": #"W/"abcdef""#]).cached.status(304))
        for (id, tags) in [
            ("first", #""abcdef", "1234", "5678""#), ("second", #""1234", "abcdef", "5678""#), ("last", #""1234", "5678", "abcdef""#),
        ] {
            optimal(
                "conditional-etag-strong-respond-multiple-\(id)", "One of several tags of the caller will do (the \(id) one)",
                after: ["conditional-etag-strong-respond"],
                .get(answer: .fresh + ["ETag": #""abcdef""#]).paused,
                .get(.line("If-None-Match", tags)).cached.status(304))
        }
    }

    @CacheScenarioTable private static var answeredOddTags: [CacheScenario] {
        check(
            "conditional-etag-strong-respond-obs-text", "A tag may hold bytes above 127", after: ["conditional-etag-strong-respond"],
            .get(answer: .fresh + ["ETag": "\"abcdef\u{FC}\""]).paused,
            .get(["If-None-Match": "\"abcdef\u{FC}\""]).cached.status(304).has(["ETag": "\"abcdef\u{FC}\""]))
        for (id, stored, asked) in [
            ("quoted-respond-unquoted", #""abcdef""#, "abcdef"), ("unquoted-respond-unquoted", "abcdef", "abcdef"),
            ("unquoted-respond-quoted", "abcdef", #""abcdef""#),
        ] {
            check(
                "conditional-etag-\(id)", "\(asked) asks for \(stored)", after: ["conditional-etag-strong-respond"],
                declined: "without quotes it is no entity tag",
                .get(answer: .fresh + .line("ETag", stored)).paused,
                .get(.line("If-None-Match", asked)).cached.status(304))
        }
        for (id, tag) in [("lowercase", #"w/"abcdef""#), ("backslash", #"W\"abcdef""#), ("omit-slash", #"W"abcdef""#)] {
            check(
                "conditional-etag-weak-respond-\(id)", "\(tag) is a weak tag", after: ["conditional-etag-weak-respond"],
                declined: "only W/ marks a weak tag",
                .get(answer: .fresh + .line("ETag", tag)).paused,
                .get(.line("If-None-Match", tag)).cached.status(304))
        }
    }

    @CacheScenarioTable private static var answeredDates: [CacheScenario] {
        optimal(
            "conditional-lm-fresh", "Not changed since the caller's date, which is the stored one: 304",
            .get(answer: ["Cache-Control": "max-age=100000", "Last-Modified": -3000, "Date": 0]).paused,
            .get(["If-Modified-Since": -3000]).cached.status(304))
        optimal(
            "conditional-lm-fresh-earlier", "Not changed since the caller's date, which is later: 304",
            .get(answer: ["Cache-Control": "max-age=100000", "Last-Modified": -3000, "Date": 0]).paused,
            .get(["If-Modified-Since": -2000]).cached.status(304))
        optimal(
            "conditional-lm-stale", "The origin's 304 for something stale is the caller's 304", after: ["freshness-max-age-stale"],
            .get(answer: ["Cache-Control": "max-age=2", "Last-Modified": -3000, "Date": 0]).paused,
            .get(["If-Modified-Since": -3000]).validatedByDate.status(304))
        optimal(
            "conditional-lm-fresh-no-lm", "Without Last-Modified, the age of the response tells that nothing changed",
            declined: "the caller's date is older than the response: what changed between is not known",
            .get(answer: ["Cache-Control": "max-age=10000", "Date": 0]).paused,
            .get(["If-Modified-Since": -3000]).cached.status(304))
        optimal(
            "conditional-lm-fresh-rfc850", "The caller's date may come in the form of RFC 850",
            .get(answer: ["Cache-Control": "max-age=10000", "Last-Modified": -3000, "Date": 0]).paused,
            .get(["If-Modified-Since": .obsoleteDate(-3000)]).cached.status(304))
    }
}
