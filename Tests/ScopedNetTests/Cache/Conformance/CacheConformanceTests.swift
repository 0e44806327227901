import CleanSlate
import ScopedNet
import Testing

/// The rules of the cache against the scenarios of the public suite.
@Suite(.leavesNothing) struct CacheConformanceTests {
    /// Prints the score, and what came out otherwise than it is meant to.
    @Test func theRulesScoreAtLeastWhatTheyPromise() async {
        let score = await ScenarioRunner { PureCacheDriver($0) }.run(CacheScenario.all)
        print("HTTP cache, rules alone\n\(score)")
        expectPromises(of: score)
        #expect(score.passed(.required) == 137)
        #expect(score.passed(.optimal) >= 72)
        #expect(score.passed(.required, .extended) == 8)
        #expect(score.passed(.optimal, .extended) >= 17)
    }

    /// Dates on the wire are whole seconds, clocks are not, and networks take their time.
    @Test(arguments: [0.001, 0.25, 0.5, 0.75, 0.999], [0.0, 0.08])
    func theScoreIsTheSameWhereverInASecondItBegins(secondFraction: Double, latency: Double) async {
        let runner = ScenarioRunner { PureCacheDriver($0, secondFraction: secondFraction, latency: latency) }
        expectPromises(of: await runner.run(CacheScenario.all))
    }

    private func expectPromises(of score: ConformanceScore, sourceLocation: SourceLocation = #_sourceLocation) {
        for kind in CacheScenario.Kind.allCases {
            let surprises = CacheScenario.Coverage.allCases.flatMap { score.surprises(kind, $0) }
            #expect(surprises == [], "\(kind.rawValue)", sourceLocation: sourceLocation)
        }
    }
}
