import CleanSlate
import HTTPTypes
import Testing

/// The measure itself: a score is worth as much as the scenarios it counts and the judge that counts them.
@Suite(.leavesNothing) struct ConformanceHarnessTests {
    @Test func theScenariosAreThoseOfAPrivateCache() {
        let score = ConformanceScore(scenarios: CacheScenario.all, deviations: [:])
        let standard = CacheScenario.Kind.allCases.map { score.count($0, .standard) }
        #expect(standard == [137, 77, 86])
        let extended = CacheScenario.Kind.allCases.map { score.count($0, .extended) }
        #expect(extended == [8, 18, 7])
    }

    @Test func everyScenarioHasAnIdOfItsOwnAndPrerequisitesThatExist() {
        let ids = Set(CacheScenario.all.map(\.id))
        #expect(ids.count == CacheScenario.all.count)
        let missing = CacheScenario.all.flatMap(\.prerequisites).filter { !ids.contains($0) }
        #expect(missing == [])
        let sizes = CacheScenario.all.filter { !(1...3).contains($0.exchanges.count) }.map(\.id)
        #expect(sizes == [])
    }

    /// A name that is no token would be left out of a message without a word, and the scenario would prove something else.
    @Test func everyFieldOfEveryScriptReachesTheWire() {
        let lost = CacheScenario.all.flatMap { scenario in
            scenario.exchanges.flatMap { exchange in
                [exchange.fields, exchange.answer.fields, exchange.expectation.fields, exchange.expectation.requestFields]
                    .filter { $0.resolved(now: 0, path: scenario.path).count != $0.lines.count }.map { _ in scenario.id }
            }
        }
        #expect(lost == [])
    }

    /// What clients without a cache score in the public suite (URLSession on Linux, fetch() of Node.js): 18, 0 and 4.
    @Test func withoutACacheTheScoreIsThatOfClientsWithoutACache() async {
        let score = await ScenarioRunner { UncachedDriver($0) }.run(CacheScenario.all)
        let passed = CacheScenario.Kind.allCases.map { score.passed($0, .standard) }
        #expect(passed == [18, 0, 4], "\(score)")
        let extended = CacheScenario.Kind.allCases.map { score.passed($0, .extended) }
        #expect(extended == [0, 0, 0])
    }

    /// Every scenario in which the origin has to be asked again catches a cache that does not.
    @Test func aCacheThatAsksOnlyOnceFailsWhereTheOriginHasToBeAsked() async {
        let runner = ScenarioRunner { RecklessDriver($0) }
        var unnoticed: [String] = []
        var count = 0
        for scenario in CacheScenario.all {
            let asks = scenario.exchanges.dropFirst().contains { exchange in
                switch exchange.expectation.source {
                case .origin, .validated, .generated: true
                case .cache, nil: false
                }
            }
            guard asks else { continue }
            count += 1
            if await runner.run(scenario).isEmpty { unnoticed.append(scenario.id) }
        }
        #expect(unnoticed == [])
        #expect(count > 120)
    }

    @Test func howManyRunAtOnceMakesNoDifference() async {
        let runner = ScenarioRunner { UncachedDriver($0) }
        let oneByOne = await runner.run(CacheScenario.maxAge)
        let together = await runner.run(CacheScenario.maxAge, atOnce: 50)
        #expect(together.results == oneByOne.results)
        #expect(together.results.count == CacheScenario.maxAge.count)
    }

    @Test func whatBuildsOnAFailureHasNotPassed() {
        let scenarios: [CacheScenario] = [
            .optimal("a", "", .get()), .required("b", "", after: ["a"], .get()), .required("c", "", after: ["b"], .get()),
            .check("d", "", declined: "a reason", .get()),
        ]
        let score = ConformanceScore(scenarios: scenarios, deviations: ["a": ["wrong"], "b": [], "c": [], "d": ["wrong"]])
        #expect(score.results["b"] == .undecided(prerequisite: "a"))
        #expect(score.results["c"] == .undecided(prerequisite: "b"))
        #expect(score.line(.standard) == "required 0/2, optimal 0/1, check yes 0/1")
        #expect(score.surprises(.optimal) == ["a: wrong"])
        #expect(score.surprises(.check) == [])
        let better = ConformanceScore(scenarios: scenarios, deviations: ["a": [], "b": [], "c": [], "d": []])
        #expect(better.line(.standard) == "required 2/2, optimal 1/1, check yes 1/1")
        #expect(better.surprises(.check) == ["d passed, though a reason"])
    }
}
