/// A scripted conversation of one caller, through one private cache, with one origin server, and what has to come of it.
///
/// The ids are those of the public conformance suite http-tests/cache-tests, so that a score can be held against the published ones
/// of browsers, libraries and proxies. A scenario has one to three exchanges, which follow upon each other; the origin's answers
/// are scripted, the clock may be virtual, and every scenario begins with an empty cache.
struct CacheScenario: Sendable, Identifiable {
    /// What it means to fail.
    enum Kind: String, Sendable, CaseIterable {
        /// A breach of RFC 9111.
        case required
        /// A lost opportunity: the answer is allowed, but a request went out that need not have.
        case optimal
        /// Neither: HTTP leaves it open. What the library means to do is in `expectedResult`.
        case check
    }

    /// Which of the suite's runs a scenario belongs to.
    enum Coverage: String, Sendable, CaseIterable {
        /// The 300 which the suite runs on a private cache.
        case standard
        /// Those it spares browsers, whose fetch() cannot show them, and which a library can be asked.
        case extended
    }

    /// What the library means to achieve.
    enum ExpectedResult: Sendable, Equatable {
        case pass
        /// Deliberately otherwise, and why.
        case fail(String)
    }

    let id: String
    let kind: Kind
    let coverage: Coverage
    /// What holds when the scenario passes.
    let proves: String
    /// Scenarios without which this one says nothing: a cache that stores nothing never serves anything stale.
    let prerequisites: [String]
    let expectedResult: ExpectedResult
    let exchanges: [Exchange]

    /// The path of the resource on the origin.
    var path: String { "/scenario/\(id)" }

    /// What the origin sends where the script names no body.
    var standardBody: String { "body of \(id)" }
}

extension CacheScenario {
    static func required(_ id: String, _ proves: String, after prerequisites: [String] = [], _ exchanges: Exchange...) -> CacheScenario {
        make(id, .required, proves, prerequisites, declined: nil, exchanges)
    }

    /// A scenario whose failure is a lost opportunity; `reason` says why the library does not mean to pass, if it does not.
    static func optimal(
        _ id: String, _ proves: String, after prerequisites: [String] = [], declined reason: String? = nil, _ exchanges: Exchange...
    ) -> CacheScenario {
        make(id, .optimal, proves, prerequisites, declined: reason, exchanges)
    }

    /// A scenario that HTTP leaves open; `reason` says why the library does not mean to pass, if it does not.
    static func check(
        _ id: String, _ proves: String, after prerequisites: [String] = [], declined reason: String? = nil, _ exchanges: Exchange...
    ) -> CacheScenario {
        make(id, .check, proves, prerequisites, declined: reason, exchanges)
    }

    private static func make(
        _ id: String, _ kind: Kind, _ proves: String, _ prerequisites: [String], declined reason: String?, _ exchanges: [Exchange]
    ) -> CacheScenario {
        CacheScenario(
            id: id, kind: kind, coverage: .standard, proves: proves, prerequisites: prerequisites,
            expectedResult: reason.map { .fail($0) } ?? .pass, exchanges: exchanges)
    }

    /// The same scenario outside of the 300.
    var extended: CacheScenario {
        CacheScenario(
            id: id, kind: kind, coverage: .extended, proves: proves, prerequisites: prerequisites, expectedResult: expectedResult,
            exchanges: exchanges)
    }
}

/// Lists scenarios one below the other, each checked by the compiler on its own: an array literal of this size takes minutes.
@resultBuilder
enum CacheScenarioTable {
    static func buildExpression(_ scenario: CacheScenario) -> [CacheScenario] { [scenario] }
    static func buildExpression(_ scenarios: [CacheScenario]) -> [CacheScenario] { scenarios }
    static func buildPartialBlock(first: [CacheScenario]) -> [CacheScenario] { first }
    static func buildPartialBlock(accumulated: [CacheScenario], next: [CacheScenario]) -> [CacheScenario] { accumulated + next }
    static func buildArray(_ parts: [[CacheScenario]]) -> [CacheScenario] { parts.flatMap { $0 } }
}
