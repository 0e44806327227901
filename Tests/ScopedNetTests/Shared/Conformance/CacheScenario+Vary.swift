// Which variant answers: RFC 9111 section 4.1.
extension ScenarioFields {
    private static let variantBase: ScenarioFields = ["Cache-Control": "max-age=5000", "Last-Modified": -3000, "Date": 0]

    fileprivate static func varying(_ vary: String) -> ScenarioFields { variantBase + .line("Vary", vary) }
    fileprivate static func varying(lines: String...) -> ScenarioFields { lines.reduce(variantBase) { $0 + .line("Vary", $1) } }
}

extension CacheScenario {
    @CacheScenarioTable static var varyMatching: [CacheScenario] {
        optimal(
            "vary-match", "The same value of the named field: reused", after: ["freshness-max-age"],
            .get(["Foo": "1"], answer: .varying("Foo")),
            .get(["Foo": "1"]).cached)
        required(
            "vary-no-match", "Another value: not reused", after: ["vary-match"],
            .get(["Foo": "1"], answer: .varying("Foo")),
            .get(["Foo": "2"]).fromOrigin)
        required(
            "vary-omit-stored", "Absent then, present now: not reused", after: ["vary-match"],
            .get(answer: .varying("Foo")),
            .get(["Foo": "1"]).fromOrigin)
        required(
            "vary-omit", "Present then, absent now: not reused", after: ["vary-match"],
            .get(["Foo": "1"], answer: .varying("Foo")),
            .get().fromOrigin)
        optimal(
            "vary-invalidate", "A second variant leaves the first one where it is", after: ["vary-match"],
            .get(["Foo": "1"], answer: .varying("Foo"), body: "the first variant"),
            .get(["Foo": "2"], answer: .varying("Foo"), body: "the second variant").fromOrigin,
            .get(["Foo": "1"]).cached.body("the first variant"))
        optimal(
            "vary-cache-key", "Fields that Vary does not name make no difference", after: ["vary-match"],
            .get(["Foo": "1", "Other": "2"], answer: .varying("Foo")),
            .get(["Foo": "1", "Other": "3"]).cached)
        optimal(
            "vary-2-match", "Both of two fields alike: reused", after: ["vary-match"],
            .get(["Foo": "1", "Bar": "abc"], answer: .varying("Foo, Bar")),
            .get(["Foo": "1", "Bar": "abc"]).cached)
        required(
            "vary-2-no-match", "One of two fields differs: not reused", after: ["vary-2-match"],
            .get(["Foo": "1", "Bar": "abc"], answer: .varying("Foo, Bar")),
            .get(["Foo": "2", "Bar": "abc"]).fromOrigin)
        required(
            "vary-2-match-omit", "Both of two fields gone: not reused", after: ["vary-2-match"],
            .get(["Foo": "1", "Bar": "abc"], answer: .varying("Foo, Bar")),
            .get().fromOrigin)
        optimal(
            "vary-3-match", "All of three fields alike: reused", after: ["vary-2-match"],
            .get(["Foo": "1", "Bar": "abc", "Baz": "789"], answer: .varying("Foo, Bar, Baz")),
            .get(["Foo": "1", "Bar": "abc", "Baz": "789"]).cached)
        required(
            "vary-3-no-match", "One of three fields differs: not reused", after: ["vary-3-match"],
            .get(["Foo": "1", "Bar": "abc", "Baz": "789"], answer: .varying("Foo, Bar, Baz")),
            .get(["Foo": "2", "Bar": "abc", "Baz": "789"]).fromOrigin)
        required(
            "vary-3-order", "One of three fields differs, which come in another order: not reused", after: ["vary-3-match"],
            .get(["Foo": "1", "Bar": "abc", "Baz": "789"], answer: .varying("Foo, Bar, Baz")),
            .get(["Foo": "1", "Baz": "789", "Bar": "abcde"]).fromOrigin)
        optimal(
            "vary-3-omit", "One of three fields absent both times: reused", after: ["vary-3-match"],
            .get(["Foo": "1", "Baz": "789"], answer: .varying("Foo, Bar, Baz")),
            .get(["Foo": "1", "Baz": "789"]).cached)
        required(
            "vary-star", "*: never reused unasked",
            .get(["Foo": "1", "Baz": "789"], answer: .varying("*")),
            .get(["Foo": "1", "Baz": "789"]).fromOrigin)
    }

    @CacheScenarioTable static var varyNormalising: [CacheScenario] {
        optimal(
            "vary-normalise-combine", "Two lines are one list", after: ["vary-match"],
            .get(["Foo": "1, 2"], answer: .varying("Foo")),
            .get(["Foo": "1", "Foo": "2"]).cached)
        optimal(
            "vary-normalise-space", "Blanks at commas and ends mean nothing", after: ["vary-match"],
            .get(["Foo": "1,2"], answer: .varying("Foo")),
            .get(["Foo": " 1, 2 "]).cached)
        optimal(
            "vary-normalise-lang-order", "Languages of equal weight have no order", after: ["vary-match"],
            .get(["Accept-Language": "en, de"], answer: .varying("Accept-Language")),
            .get(["Accept-Language": "de, en"]).cached)
        optimal(
            "vary-normalise-lang-case", "Languages have no case", after: ["vary-match"],
            .get(["Accept-Language": "en, de"], answer: .varying("Accept-Language")),
            .get(["Accept-Language": "eN, De"]).cached)
        optimal(
            "vary-normalise-lang-space", "Blanks between languages mean nothing", after: ["vary-match"],
            .get(["Accept-Language": "en, de"], answer: .varying("Accept-Language")),
            .get(["Accept-Language": " en ,   de"]).cached)
        optimal(
            "vary-normalise-lang-select", "A stored Content-Language answers whoever likes that language best", after: ["vary-match"],
            declined: "it guesses how the server negotiates",
            .get(["Accept-Language": "en, de"], answer: .varying("Accept-Language") + ["Content-Language": "de"]),
            .get(["Accept-Language": "fr;q=0.5, de;q=1.0"]).cached)
    }

    @CacheScenarioTable static var varySyntax: [CacheScenario] {
        for (id, vary) in [
            ("star", "*"), ("star-star", "*, *"), ("empty-star", ", *"), ("star-foo", "*, Foo"), ("foo-star", "Foo, *"),
        ] {
            required(
                "vary-syntax-\(id)", "Vary: \(vary) is never reused unasked", after: ["vary-match"],
                .get(["Foo": "1", "Baz": "789"], answer: .varying(vary)),
                .get(["Foo": "1", "Baz": "789"]).fromOrigin)
        }
        required(
            "vary-syntax-star-star-lines", "Nor is Vary: * on two lines", after: ["vary-match"],
            .get(["Foo": "1", "Baz": "789"], answer: .varying(lines: "*", "*")),
            .get(["Foo": "1", "Baz": "789"]).fromOrigin)
        required(
            "vary-syntax-empty-star-lines", "Nor is Vary: * behind an empty line", after: ["vary-match"],
            .get(["Foo": "1", "Baz": "789"], answer: .varying(lines: "", "*")),
            .get(["Foo": "1", "Baz": "789"]).fromOrigin)
    }
}
