// Directives other than lifetimes, of responses and of requests: RFC 9111 sections 5.2.1, 5.2.2 and 5.4; RFC 8246.
extension CacheScenario {
    @CacheScenarioTable static var responseDirectives: [CacheScenario] {
        optimal(
            "cc-resp-private-private", "private is for caches like this one",
            .get(answer: .cacheControl("private, max-age=3600")),
            .get().cached)
        required(
            "cc-resp-no-store", "no-store: nothing is reused",
            .get(answer: .cacheControl("no-store")),
            .get().fromOrigin)
        required(
            "cc-resp-no-store-case-insensitive", "no-store in any case", after: ["cc-resp-no-store"],
            .get(answer: .cacheControl("No-StOrE")),
            .get().fromOrigin)
        required(
            "cc-resp-no-store-fresh", "no-store whatever lifetime is beside it", after: ["cc-resp-no-store"],
            .get(answer: ["Cache-Control": "max-age=10000, no-store", "Expires": 10000, "Date": 0]),
            .get().fromOrigin)
        for (id, directives) in [("old-new", "no-store"), ("old-max-age", "no-store, max-age=0")] {
            required(
                "cc-resp-no-store-\(id)", "A fresh response is reused, whatever the origin would say today (\(directives))",
                after: ["cc-resp-no-store"],
                .get(answer: ["Cache-Control": "max-age=10000", "Expires": 10000, "Date": 0, "A": "1"]).paused,
                .get(answer: .cacheControl(directives) + ["Date": 0, "A": "2"]).paused,
                .get().cached.has(["A": "1"]))
        }
        required(
            "cc-resp-no-cache", "no-cache: not without asking, however fresh",
            .get(answer: ["Cache-Control": "max-age=10000, no-cache", "Expires": 10000, "Date": 0]),
            .get().fromOrigin)
        required(
            "cc-resp-no-cache-case-insensitive", "no-cache in any case", after: ["cc-resp-no-cache"],
            .get(answer: ["Cache-Control": "max-age=10000, No-CaChE", "Expires": 10000, "Date": 0]),
            .get().fromOrigin)
        optimal(
            "cc-resp-no-cache-revalidate", "no-cache forbids no storing: the origin is asked with the validator",
            after: ["cc-resp-no-cache"],
            .get(answer: ["Cache-Control": "no-cache", "ETag": #""abcd""#]),
            .get().validatedByETag)
        optimal(
            "cc-resp-no-cache-revalidate-fresh", "The same with a lifetime beside it", after: ["cc-resp-no-cache"],
            .get(answer: ["Cache-Control": "max-age=10000, no-cache", "Expires": 10000, "Date": 0, "ETag": #""abcd""#]),
            .get().validatedByETag)
        check(
            "headers-omit-headers-listed-in-Cache-Control-no-cache-single", "A field that no-cache names is not reused unasked",
            after: ["cc-resp-no-cache-revalidate"],
            .get(
                answer: ["Cache-Control": #"no-cache="a""#, "a": "1", "b": "2", "Cache-Control": "max-age=3600", "Date": 0]
            ).paused,
            .get().cached.has(["b": "2"]).lacks("a"))
        check(
            "headers-omit-headers-listed-in-Cache-Control-no-cache", "Nor are several fields that no-cache names",
            after: ["cc-resp-no-cache-revalidate"],
            .get(
                answer: [
                    "Cache-Control": #"no-cache="a, b""#, "a": "1", "b": "2", "c": "3", "Cache-Control": "max-age=3600", "Date": 0,
                ]
            ).paused,
            .get().cached.has(["c": "3"]).lacks("a", "b"))
        optimal(
            "cc-resp-must-revalidate-fresh", "must-revalidate says nothing about a fresh response", after: ["freshness-none"],
            .get(answer: ["Cache-Control": "max-age=10000, must-revalidate", "ETag": #""abcd""#]),
            .get().cached)
        required(
            "cc-resp-must-revalidate-stale", "must-revalidate holds as soon as it is stale", after: ["freshness-none"],
            .get(answer: ["Cache-Control": "max-age=2, must-revalidate", "ETag": #""abcd""#]),
            .get(answer: ["Cache-Control": "max-age=2, must-revalidate", "ETag": #""abcd""#]).cached.paused,
            .get().validatedByETag)
        optimal(
            "cc-resp-immutable-fresh", "A reload asks nobody about a fresh immutable response",
            .get(answer: ["Cache-Control": "max-age=10000, immutable", "ETag": #""abcd""#]).paused,
            .get().reloading.cached)
        required(
            "cc-resp-immutable-stale", "A stale immutable response is validated, and caches on the way are told to do so too",
            .get(answer: ["Cache-Control": "max-age=2, immutable", "ETag": #""abcd""#]).paused,
            .get().reloading.validatedByETag.asks(["Cache-Control": "max-age=0"]))
    }

    @CacheScenarioTable static var requestDirectives: [CacheScenario] {
        for (id, seconds) in [("ma0", "0"), ("ma1", "1")] {
            check(
                "ccreq-\(id)", "A response older than the caller's max-age=\(seconds) is too old", after: ["freshness-max-age"],
                .get(answer: .fresh).paused,
                .get(.cacheControl("max-age=\(seconds)")).fromOrigin)
        }
        check(
            "ccreq-magreaterage", "The age it came with counts against the caller's max-age", after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "max-age=3600", "Age": "1800"]),
            .get(.cacheControl("max-age=600")).fromOrigin)
        check(
            "ccreq-max-stale", "The caller's max-stale lets a stale response through", after: ["freshness-max-age"],
            .get(answer: .cacheControl("max-age=1")).paused,
            .get(.cacheControl("max-stale=1000")).cached)
        check(
            "ccreq-max-stale-age", "Also one that came stale", after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "max-age=1500", "Age": "2000"]),
            .get(.cacheControl("max-stale=1000")).cached)
        check(
            "ccreq-min-fresh", "The caller's min-fresh turns away what is not fresh for so long", after: ["freshness-max-age"],
            .get(answer: .cacheControl("max-age=1500")),
            .get(.cacheControl("min-fresh=2000")).fromOrigin)
        check(
            "ccreq-min-fresh-age", "The age it came with counts there too", after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "max-age=1500", "Age": "1000"]),
            .get(.cacheControl("min-fresh=1000")).fromOrigin)
        check(
            "ccreq-no-cache", "The caller's no-cache goes to the origin", after: ["freshness-max-age"],
            .get(answer: .cacheControl("max-age=3600")),
            .get(.cacheControl("no-cache")).fromOrigin)
        check(
            "ccreq-no-cache-lm", "It does so with the date stored", after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "max-age=3600", "Last-Modified": -10000, "Date": 0]),
            .get(.cacheControl("no-cache")).validatedByDate)
        check(
            "ccreq-no-cache-etag", "It does so with the entity tag stored, sent back as it came: here without quotes",
            after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "max-age=3600", "ETag": "unquoted"]),
            .get(.cacheControl("no-cache")).validatedByETag)
        check(
            "ccreq-no-store", "The caller's no-store takes nothing from the cache", after: ["freshness-max-age"],
            .get(answer: .cacheControl("max-age=3600")),
            .get(.cacheControl("no-store")).fromOrigin)
        check(
            "ccreq-oic", "only-if-cached and nothing stored: 504 from here",
            .get(.cacheControl("only-if-cached")).generated(504))
    }

    @CacheScenarioTable static var pragma: [CacheScenario] {
        check(
            "pragma-request-no-cache", "The caller's Pragma: no-cache changes nothing", after: ["freshness-max-age"],
            declined: "the field is deprecated, but a caller who writes it means it",
            .get(answer: .cacheControl("max-age=3600")),
            .get(["Pragma": "no-cache"]).cached)
        check(
            "pragma-request-extension", "The caller's unknown Pragma changes nothing", after: ["freshness-max-age"],
            .get(answer: .cacheControl("max-age=3600")),
            .get(["Pragma": "unrecognised-extension"]).cached)
        check(
            "pragma-response-no-cache", "A response's Pragma: no-cache changes nothing", after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "max-age=3600", "Pragma": "no-cache"]),
            .get().cached)
        check(
            "pragma-response-no-cache-heuristic", "Nor with a guessed lifetime", after: ["heuristic-200-cached"],
            .get(answer: ["Date": 0, "Last-Modified": -10000, "Pragma": "no-cache"]),
            .get().cached)
        check(
            "pragma-response-extension", "Nor an unknown Pragma", after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "max-age=3600", "Pragma": "unrecognised-extension"]),
            .get().cached)
    }
}
