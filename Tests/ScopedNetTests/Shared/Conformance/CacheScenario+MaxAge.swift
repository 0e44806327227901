// Freshness by Cache-Control: RFC 9111 sections 4.2.1, 5.2.2.1, 5.2.2.10 and 1.2.2.
extension CacheScenario {
    @CacheScenarioTable static var maxAge: [CacheScenario] {
        check(
            "freshness-none", "Without a lifetime and a validator nothing is reused",
            .get().paused,
            .get().fromOrigin)
        optimal(
            "freshness-max-age", "max-age is a lifetime", after: ["freshness-none"],
            .get(answer: .cacheControl("max-age=3600")).paused,
            .get().cached)
        required(
            "freshness-max-age-stale", "When max-age is over, the response is stale", after: ["freshness-max-age"],
            .get(answer: .shortLived).paused,
            .get().fromOrigin)
        required(
            "freshness-max-age-0", "A lifetime of 0 is none", after: ["freshness-none"],
            .get(answer: .cacheControl("max-age=0")).paused,
            .get().fromOrigin)
        for (id, seconds) in [
            ("max-minus-1", "2147483647"), ("max", "2147483648"), ("max-plus-1", "2147483649"), ("max-plus", "99999999999"),
        ] {
            optimal(
                "freshness-max-age-\(id)", "A lifetime at or above 2^31 is a long one (\(seconds))", after: ["freshness-none"],
                .get(answer: .cacheControl("max-age=\(seconds)")).paused,
                .get().cached)
        }
        required(
            "freshness-max-age-age", "Time spent in other caches counts against max-age", after: ["freshness-max-age"],
            .get(answer: ["Date": 0, "Cache-Control": "max-age=3600", "Age": "7200"]).paused,
            .get().fromOrigin)
        check(
            "freshness-max-age-date", "So does the age that Date makes apparent", after: ["freshness-max-age"],
            .get(answer: ["Date": -7200, "Cache-Control": "max-age=3600"]).paused,
            .get().fromOrigin)
        optimal(
            "freshness-max-age-expires", "max-age comes before an Expires in the past", after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "max-age=3600", "Expires": -7200, "Date": 0]).paused,
            .get().cached)
        optimal(
            "freshness-max-age-expires-invalid", "max-age comes before an Expires that is no date", after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "max-age=3600", "Expires": "0", "Date": 0]).paused,
            .get().cached)
        required(
            "freshness-max-age-0-expires", "max-age=0 comes before an Expires in the future", after: ["freshness-none"],
            .get(answer: ["Expires": 3600, "Cache-Control": "max-age=0", "Date": 0]).paused,
            .get().fromOrigin)
        optimal(
            "freshness-max-age-extension", "An unknown directive beside max-age does no harm", after: ["freshness-max-age"],
            .get(answer: .cacheControl("foobar, max-age=3600")).paused,
            .get().cached)
        optimal(
            "freshness-max-age-case-insenstive", "The names of directives have no case", after: ["freshness-max-age"],
            .get(answer: .cacheControl("MaX-aGe=3600")).paused,
            .get().cached)
        required(
            "freshness-max-age-negative", "A negative max-age is no lifetime", after: ["freshness-none"],
            .get(answer: .cacheControl("max-age=-3600")).paused,
            .get().fromOrigin)
        required(
            "freshness-max-age-s-maxage-private", "s-maxage is not for a private cache", after: ["freshness-max-age"],
            .get(answer: .cacheControl("s-maxage=3600, max-age=1")).paused,
            .get().fromOrigin)
        required(
            "freshness-max-age-s-maxage-private-multiple", "Nor is it on a line of its own", after: ["freshness-max-age"],
            .get(answer: ["Cache-Control": "s-maxage=3600", "Cache-Control": "max-age=1"]).paused,
            .get().fromOrigin)
    }

    @CacheScenarioTable static var cacheControlSyntax: [CacheScenario] {
        let smallerWins = "the smaller of two lifetimes counts"
        check(
            "freshness-max-age-two-fresh-stale-sameline", "The first of two lifetimes on a line counts", after: ["freshness-none"],
            declined: smallerWins,
            .get(answer: .cacheControl("max-age=1800, max-age=1")).paused,
            .get().cached)
        check(
            "freshness-max-age-two-fresh-stale-sepline", "The first of two lifetimes on two lines counts", after: ["freshness-none"],
            declined: smallerWins,
            .get(answer: ["Cache-Control": "max-age=1800", "Cache-Control": "max-age=1"]).paused,
            .get().cached)
        check(
            "freshness-max-age-two-stale-fresh-sameline", "The last of two lifetimes on a line counts", after: ["freshness-none"],
            declined: smallerWins,
            .get(answer: .cacheControl("max-age=1, max-age=1800")).paused,
            .get().cached)
        check(
            "freshness-max-age-two-stale-fresh-sepline", "The last of two lifetimes on two lines counts", after: ["freshness-none"],
            declined: smallerWins,
            .get(answer: ["Cache-Control": "max-age=1", "Cache-Control": "max-age=1800"]).paused,
            .get().cached)
        check(
            "freshness-max-age-quoted", "A lifetime may come as a quoted string", after: ["freshness-max-age"],
            .get(answer: .cacheControl(#"max-age="3600""#)).paused,
            .get().cached)
        required(
            "freshness-max-age-ignore-quoted", "What a quoted string says is no directive", after: ["freshness-max-age"],
            .get(answer: .cacheControl(#"extension="max-age=3600", max-age=1"#)).paused,
            .get().fromOrigin)
        required(
            "freshness-max-age-ignore-quoted-rev", "Nor is it behind the directive of that name", after: ["freshness-max-age"],
            .get(answer: .cacheControl(#"max-age=1, extension="max-age=3600""#)).paused,
            .get().fromOrigin)
        check(
            "freshness-max-age-space-before-equals", "A blank before = makes no lifetime", after: ["freshness-none"],
            .get(answer: .cacheControl("max-age =3600")).paused,
            .get().fromOrigin)
        check(
            "freshness-max-age-space-after-equals", "A blank after = makes no lifetime", after: ["freshness-none"],
            .get(answer: .cacheControl("max-age= 3600")).paused,
            .get().fromOrigin)
        required(
            "freshness-max-age-leading-zero", "Leading zeros change no number", after: ["freshness-none"],
            .get(answer: .cacheControl("max-age=003600")).paused,
            .get().cached)
        required(
            "freshness-max-age-single-quoted", "Apostrophes quote nothing", after: ["freshness-none"],
            .get(answer: .cacheControl("max-age='3600'")).paused,
            .get().fromOrigin)
        for (id, value) in [
            ("decimal-zero", "3600.0"), ("decimal-five", "3600.5"), ("a100", "a3600"), ("100a", "3600a"),
        ] {
            check(
                "freshness-max-age-\(id)", "The digits in \(value) are a lifetime", after: ["freshness-none"],
                declined: "only digits are a number",
                .get(answer: .cacheControl("max-age=\(value)")).paused,
                .get().cached)
        }
    }
}
