// Ranges: RFC 9111 sections 3.3 and 3.4; RFC 9110 sections 14 and 15.3.7.
extension CacheScenario {
    @CacheScenarioTable static var ranges: [CacheScenario] {
        let contradiction = "the answer says six bytes and brings five: where they belong is not known"
        optimal(
            "partial-store-partial-reuse-partial", "The same range again is answered by what came the first time",
            after: ["freshness-max-age"],
            .lastFive.asks(["Range": "bytes=-5"]),
            .get(["Range": "bytes=-5"]).cached.status(206).body("01234"))
        optimal(
            "partial-store-complete-reuse-partial", "A range is cut out of a complete response", after: ["freshness-max-age"],
            .get(answer: .cacheControl("max-age=3600"), body: "01234567890"),
            .get(["Range": "bytes=0-1"]).cached.status(206).body("01"))
        optimal(
            "partial-store-complete-reuse-partial-no-last", "An open range too", after: ["freshness-max-age"],
            .get(answer: .cacheControl("max-age=3600"), body: "01234567890"),
            .get(["Range": "bytes=1-"]).cached.status(206).body("1234567890"))
        optimal(
            "partial-store-complete-reuse-partial-suffix", "The last bytes too", after: ["freshness-max-age"],
            .get(answer: .cacheControl("max-age=3600"), body: "0123456789A"),
            .get(["Range": "bytes=-1"]).cached.status(206).body("A"))
        for (id, range, body) in [("byterange", "6-8", "234"), ("absent", "6-", "234"), ("suffix", "-1", "4")] {
            optimal(
                "partial-store-partial-reuse-partial-\(id)", "A range is cut out of a part (\(range))", after: ["freshness-max-age"],
                declined: contradiction,
                .lastFive,
                .get(.line("Range", "bytes=\(range)")).cached.status(206).body(body))
        }
        optimal(
            "partial-store-partial-complete", "A part is completed with what is missing", after: ["freshness-max-age"],
            declined: "parts without a strong validator are not joined (RFC 9111 3.4)",
            .get(
                ["Range": "bytes=-5"], status: 206, answer: ["Cache-Control": "max-age=3600", "Content-Range": "bytes 0-4/10"],
                body: "01234"),
            .get().asks(["Range": "bytes=5-"]))
        required(
            "partial-use-headers", "The range bears the fields stored, with those of its own",
            after: ["partial-store-complete-reuse-partial"],
            .get(answer: ["Cache-Control": "max-age=3600", "A": "1"], body: "01234567890"),
            .get(["Range": "bytes=0-1"], answer: ["A": "2"]).cached.status(206).body("01").has(["Content-Range": "bytes 0-1/11"]))
        required(
            "partial-use-stored-headers", "No stored field is lost from the range",
            after: ["partial-store-complete-reuse-partial"],
            .get(answer: ["Cache-Control": "max-age=3600", "A": "1"], body: "01234567890"),
            .get(["Range": "bytes=0-1"]).cached.status(206).body("01").has(["A": "1"]))
    }
}

extension CacheScenario.Exchange {
    /// The last five bytes of ten, in an answer that counts them wrong.
    fileprivate static var lastFive: Self {
        .get(
            ["Range": "bytes=-5"], status: 206, answer: ["Cache-Control": "max-age=3600", "Content-Range": "bytes 4-9/10"], body: "01234")
    }
}
