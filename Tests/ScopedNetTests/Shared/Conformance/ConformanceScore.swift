/// How a cache did, counted as the public suite counts: what builds on something that failed has not passed.
struct ConformanceScore: Sendable, CustomStringConvertible {
    enum Result: Equatable, Sendable {
        case passed
        case failed([String])
        /// It may have gone well, but what it builds on has not.
        case undecided(prerequisite: String)
    }

    let scenarios: [CacheScenario]
    let results: [String: Result]

    /// Counts the results; `deviations` has what was otherwise than each scenario says, by its id.
    init(scenarios: [CacheScenario], deviations: [String: [String]]) {
        self.scenarios = scenarios
        let prerequisites = Dictionary(scenarios.map { ($0.id, $0.prerequisites) }) { first, _ in first }
        var results: [String: Result] = [:]
        func result(_ id: String) -> Result {
            if let known = results[id] { return known }
            let failed = (prerequisites[id] ?? []).first { result($0) != .passed }
            let own: Result = deviations[id].map { $0.isEmpty ? .passed : .failed($0) } ?? .failed(["not run"])
            // What fails by itself is the better explanation.
            results[id] = own == .passed ? failed.map { .undecided(prerequisite: $0) } ?? .passed : own
            return results[id] ?? own
        }
        for scenario in scenarios { _ = result(scenario.id) }
        self.results = results
    }

    private func scenarios(_ kind: CacheScenario.Kind, _ coverage: CacheScenario.Coverage) -> [CacheScenario] {
        scenarios.filter { $0.kind == kind && $0.coverage == coverage }
    }

    func passed(_ kind: CacheScenario.Kind, _ coverage: CacheScenario.Coverage = .standard) -> Int {
        scenarios(kind, coverage).count { results[$0.id] == .passed }
    }

    func count(_ kind: CacheScenario.Kind, _ coverage: CacheScenario.Coverage = .standard) -> Int {
        scenarios(kind, coverage).count
    }

    /// Scenarios of a kind that came out otherwise than the library means them to, with what came in place.
    func surprises(_ kind: CacheScenario.Kind, _ coverage: CacheScenario.Coverage = .standard) -> [String] {
        scenarios(kind, coverage).compactMap { scenario in
            switch (results[scenario.id], scenario.expectedResult) {
            case (.passed, .pass): nil
            case (.passed, .fail(let reason)): "\(scenario.id) passed, though \(reason)"
            case (_, .fail): nil
            case (.failed(let deviations), .pass): "\(scenario.id): \(deviations.joined(separator: "; "))"
            case (.undecided(let prerequisite), .pass): "\(scenario.id): undecided without \(prerequisite)"
            case (nil, .pass): "\(scenario.id): not run"
            }
        }
    }

    /// `required 137/137, optimal 72/77, check yes 63/86`
    func line(_ coverage: CacheScenario.Coverage) -> String {
        let parts = [(CacheScenario.Kind.required, "required"), (.optimal, "optimal"), (.check, "check yes")]
        return parts.map { "\($0.1) \(passed($0.0, coverage))/\(count($0.0, coverage))" }.joined(separator: ", ")
    }

    var description: String {
        let surprises = CacheScenario.Coverage.allCases.flatMap { coverage in
            CacheScenario.Kind.allCases.flatMap { kind in self.surprises(kind, coverage).map { "  \(kind.rawValue) \($0)" } }
        }
        return (CacheScenario.Coverage.allCases.map { "\($0.rawValue): \(line($0))" } + surprises).joined(separator: "\n")
    }
}
