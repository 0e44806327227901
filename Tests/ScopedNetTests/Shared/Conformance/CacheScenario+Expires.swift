// Freshness by Expires: RFC 9111 sections 4.2.1 and 5.3; the three forms of a date: RFC 9110 section 5.6.7.
extension CacheScenario {
    @CacheScenarioTable static var expires: [CacheScenario] {
        optimal(
            "freshness-expires-future", "A response is fresh until Expires", after: ["freshness-none"],
            .get(answer: ["Expires": 2_592_000, "Date": 0]).paused,
            .get().cached)
        required(
            "freshness-expires-past", "Behind Expires it is stale", after: ["freshness-expires-future"],
            .get(answer: ["Expires": -2_592_000, "Date": 0]).paused,
            .get().fromOrigin)
        required(
            "freshness-expires-present", "At Expires it is stale", after: ["freshness-none"],
            .get(answer: ["Expires": 0, "Date": 0]),
            .get().fromOrigin)
        required(
            "freshness-expires-old-date", "Expires is measured from Date, not from here", after: ["freshness-expires-future"],
            .get(answer: ["Expires": 300, "Date": 400]).paused,
            .get().fromOrigin)
        required(
            "freshness-expires-invalid", "An Expires of 0 is over", after: ["freshness-expires-future"],
            .get(answer: ["Expires": "0", "Date": 0]).paused,
            .get().fromOrigin)
        optimal(
            "freshness-expires-invalid-date", "Without a proper Date, Expires is measured from the time of receipt",
            after: ["freshness-expires-future"],
            .get(answer: ["Date": "foo", "Expires": 10]),
            .get().cached)
        required(
            "freshness-expires-age-slow-date", "Age counts against Expires, the origin's clock being slow",
            after: ["freshness-expires-future"],
            .get(answer: ["Date": -10, "Expires": 10, "Age": "25"]),
            .get().fromOrigin)
        required(
            "freshness-expires-age-fast-date", "Age counts against Expires, the origin's clock being fast",
            after: ["freshness-expires-future"],
            .get(answer: ["Date": 10, "Expires": 20, "Age": "15"]),
            .get().fromOrigin)
    }

    @CacheScenarioTable static var expiresSyntax: [CacheScenario] {
        for (id, date, what) in [
            ("32bit", "Tue, 19 Jan 2038 14:14:08 GMT", "a date that fills 32 bits"),
            ("far-future", "Sun, 21 Nov 2286 04:46:39 GMT", "a date with eleven digits of seconds"),
            ("rfc850", "Thursday, 18-Aug-50 02:01:18 GMT", "the form of RFC 850"),
            ("ansi-c", "Thu Aug  8 02:01:18 2050", "the form of asctime()"),
            ("wrong-case-weekday", "THU, 18 Aug 2050 02:01:18 GMT", "a weekday in capitals"),
            ("wrong-case-month", "Thu, 18 AUG 2050 02:01:18 GMT", "a month in capitals"),
            ("wrong-case-tz", "Thu, 18 Aug 2050 02:01:18 gMT", "a time zone in mixed case"),
        ] {
            optimal(
                "freshness-expires-\(id)", "Expires understands \(what)", after: ["freshness-expires-future"],
                .get(answer: .line("Expires", date) + ["Date": 0]).paused,
                .get().cached)
        }
        for (id, date, what) in [
            ("utc", "Thu, 18 Aug 2050 02:01:18 UTC", "another name for GMT"),
            ("aest", "Thu, 18 Aug 2050 02:01:18 AEST", "another time zone"),
            ("2-digit-year", "Thu, 18 Aug 50 02:01:18 GMT", "a year of two digits"),
            ("no-comma", "Thu 18 Aug 2050 02:01:18 GMT", "no comma"),
            ("multiple-spaces", "Thu, 18  Aug  2050 02:01:18 GMT", "two blanks"),
            ("date-dashes", "Thu, 18-Aug-2050 02:01:18 GMT", "dashes in the day"),
            ("time-periods", "Thu, 18 Aug 2050 02.01.18 GMT", "full stops in the time"),
            ("1-digit-hour", "Thu, 18 Aug 2050 2:01:18 GMT", "an hour of one digit"),
        ] {
            required(
                "freshness-expires-invalid-\(id)", "Expires with \(what) is over", after: ["freshness-expires-future"],
                .get(answer: .line("Expires", date) + ["Date": 0]).paused,
                .get().fromOrigin)
        }
        required(
            "freshness-expires-invalid-multiple-lines", "Two lines of Expires are over", after: ["freshness-expires-future"],
            .get(
                answer: [
                    "Expires": "Thu, 18 Aug 2050 2:01:18 GMT", "Expires": "Thu, 18 Aug 2050 2:01:19 GMT", "Date": 0,
                ]),
            .get().fromOrigin)
    }
}
