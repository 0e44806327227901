// Age, received and sent: RFC 9111 sections 4.2.3 and 5.1.
extension CacheScenario {
    @CacheScenarioTable static var ageSyntax: [CacheScenario] {
        for (id, value) in [("nonnumeric", "abc"), ("negative", "-7200"), ("float", "7200.0")] {
            required(
                "age-parse-\(id)", "An Age of \(value) is passed over", after: ["freshness-max-age-age"],
                .get(answer: ["Date": 0, "Cache-Control": "max-age=3600"] + .line("Age", value)).paused,
                .get().cached)
        }
        for (id, value) in [("large-minus-one", "2147483647"), ("large", "2147483648"), ("larger", "2147483649")] {
            required(
                "age-parse-\(id)", "An Age of \(value) is a great one", after: ["freshness-max-age-age"],
                .get(answer: ["Date": 0, "Cache-Control": "max-age=3600"] + .line("Age", value)).paused,
                .get().fromOrigin)
        }
        required(
            "age-parse-suffix", "Of several ages on a line the first counts: old, 0", after: ["freshness-max-age-age"],
            .get(answer: ["Date": 0, "Cache-Control": "max-age=3600", "Age": "7200, 0"]).paused,
            .get().fromOrigin)
        required(
            "age-parse-prefix", "Of several ages on a line the first counts: 0, old", after: ["freshness-max-age-age"],
            .get(answer: ["Date": 0, "Cache-Control": "max-age=3600", "Age": "0, 7200"]).paused,
            .get().cached)
        required(
            "age-parse-suffix-twoline", "Of several lines of Age the first counts: old, then 0", after: ["freshness-max-age-age"],
            .get(answer: ["Date": 0, "Cache-Control": "max-age=3600", "Age": "7200", "Age": "0"]).paused,
            .get().fromOrigin)
        required(
            "age-parse-prefix-twoline", "Of several lines of Age the first counts: 0, then old", after: ["freshness-max-age-age"],
            .get(answer: ["Date": 0, "Cache-Control": "max-age=3600", "Age": "0", "Age": "7200"]).paused,
            .get().cached)
        required(
            "age-parse-dup-0", "An Age of 0 may be said twice", after: ["freshness-max-age-age"],
            .get(answer: ["Date": 0, "Cache-Control": "max-age=3600", "Age": "0, 0"]).paused,
            .get().cached)
        required(
            "age-parse-dup-0-twoline", "An Age of 0 may be said on two lines", after: ["freshness-max-age-age"],
            .get(answer: ["Date": 0, "Cache-Control": "max-age=3600", "Age": "0", "Age": "0"]).paused,
            .get().cached)
        required(
            "age-parse-dup-old", "Two lines of Age are not added up", after: ["freshness-max-age-age"],
            .get(answer: ["Date": 0, "Cache-Control": "max-age=10000", "Age": "3600", "Age": "3600"]).paused,
            .get().cached)
        for (id, value) in [("parameter", "7200;foo=bar"), ("numeric-parameter", "7200;foo=111")] {
            check(
                "age-parse-\(id)", "A parameter behind Age leaves the age as it is", after: ["freshness-max-age-age"],
                declined: "Age has no parameters: the value is no number and passed over",
                .get(answer: ["Date": 0, "Cache-Control": "max-age=3600"] + .line("Age", value)).paused,
                .get().fromOrigin)
        }
    }

    @CacheScenarioTable static var ageAndDate: [CacheScenario] {
        required(
            "other-age-gen", "A reused response tells its age", after: ["freshness-max-age"],
            .get(answer: .fresh).paused,
            .get().cached.has("Age", above: 2))
        check(
            "other-age-delay", "A response fresh from a slow origin tells its age",
            declined: "Age is a cache's word, and this response comes from none",
            .get(answer: ["Cache-Control": "max-age=3600", "Date": 0]).delayed(5).has("Age", above: 0))
        required(
            "other-age-update-expires", "A received age grows here, with Expires", after: ["freshness-expires-future"],
            .get(answer: ["Expires": 2_592_000, "Date": 0, "Age": "30"]).paused,
            .get().cached.has("Age", above: 32))
        required(
            "other-age-update-max-age", "A received age grows here, with max-age", after: ["freshness-max-age"],
            .get(answer: .fresh + ["Age": "30"]).paused,
            .get().cached.has("Age", above: 32))
        required(
            "other-date-update", "Date stays the origin's", after: ["freshness-max-age"],
            .get(answer: .fresh).paused,
            .get().cached.keeps("Date"))
        required(
            "other-date-update-expires", "Date stays the origin's beside Expires", after: ["freshness-expires-future"],
            .get(answer: ["Expires": 2_592_000, "Date": 0]).paused,
            .get().cached.keeps("Date"))
        check(
            "other-date-update-expires-update", "Expires stays the origin's", after: ["freshness-expires-future"],
            .get(answer: ["Expires": 2_592_000, "Date": 0]).paused,
            .get().cached.keeps("Expires"))
    }
}
