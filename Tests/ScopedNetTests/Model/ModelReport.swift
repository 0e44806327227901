#if canImport(ScopedNet)
@testable import ScopedNet
#endif

/// What the model has to say, line by line: the program that `ModelTests` compiles with the shipping files prints this.
enum ModelReport {
    /// - Returns: false when something is not as it should be.
    static func explore(withLarge: Bool) -> Bool {
        let clock = ContinuousClock()
        let begin = clock.now
        var (states, transitions, isRight) = (0, 0, true)
        var labels: Set<Label> = []
        for scenario in Scenario.ordered(withLarge: withLarge) {
            let explorer = Explorer(setup: scenario.setup)
            let report = explorer.explore()
            states += report.states
            transitions += report.transitions
            labels.formUnion(report.labels)
            let verdict = report.violation == .none ? (report.isComplete ? "" : ", cut off") : ", VIOLATION \(report.violation)"
            print(
                "model: \(scenario.name): \(report.states) states, \(report.transitions) transitions, \(report.endings) endings\(verdict)")
            if report.violation != .none || !report.isComplete { isRight = false }
            for line in explorer.story(report.trace) { print("model:     \(line)") }
        }
        print("model: \(states) states, \(transitions) transitions in \(seconds(clock.now - begin)) s")
        // Steps that only a flaw takes, or that are states between two steps.
        let planted: Set<Label> = [
            .done, .startRetain, .pushBlindly, .leaveClearing, .eventRead, .background, .eventWithdrawn, .tearAborted,
        ]
        let missing = Label.allCases.filter { !labels.contains($0) && !planted.contains($0) }
        if !missing.isEmpty { print("model: never taken: \(missing)") }
        return isRight && missing.isEmpty
    }

    /// Checks mistakes in the use of the machines: each must be found.
    ///
    /// With `lastFirst` it looks first where the last ones were found, so the scenario shown need not be the smallest that has the violation.
    static func flaws(limit: Int, lastFirst: Bool) -> Bool {
        var survivors: [Flaw] = []
        var scenarios = Scenario.ordered(withLarge: false)
        for flaw in Flaw.allCases where flaw != .none {
            guard let (index, report) = firstViolation(flaw: flaw, scenarios, limit: limit) else {
                survivors.append(flaw)
                print("flaw: \(flaw): NOT FOUND")
                continue
            }
            let scenario = scenarios[index]
            if lastFirst { scenarios.insert(scenarios.remove(at: index), at: 0) }
            print("flaw: \(flaw): \(report.violation) (\(report.violation.guarantee)), \(report.trace.count) steps in \"\(scenario.name)\"")
        }
        print("flaw: \(Flaw.allCases.count - 1 - survivors.count) of \(Flaw.allCases.count - 1) found")
        return survivors.isEmpty
    }

    /// Mistakes in the machines themselves: `select` switches one on. Prints which were killed; the caller judges the survivors.
    static func mutants(_ numbers: [Int], limit: Int, select: (Int) -> Void) {
        // What killed the last ones is tried first.
        var scenarios = Scenario.ordered(withLarge: true)
        for number in numbers {
            select(number)
            var verdict = "survived"
            for index in scenarios.indices {
                let report = Explorer(setup: scenarios[index].setup).explore(limit: limit)
                guard report.violation != .none else { continue }
                verdict = "killed: \(report.violation) (\(report.violation.guarantee)) in \"\(scenarios[index].name)\""
                scenarios.insert(scenarios.remove(at: index), at: 0)
                break
            }
            print("mutant: \(number) \(verdict)")
        }
        select(0)
    }

    /// Runs everything small once, for whoever watches which transitions are taken.
    static func visit() {
        for scenario in Scenario.ordered(withLarge: false) { _ = Explorer(setup: scenario.setup).explore() }
    }

    private static func firstViolation(flaw: Flaw, _ scenarios: [Scenario], limit: Int) -> (Int, Explorer.Report)? {
        for index in scenarios.indices {
            let report = Explorer(setup: scenarios[index].setup, flaw: flaw).explore(limit: limit)
            if report.violation != .none { return (index, report) }
        }
        return nil
    }

    private static func seconds(_ duration: Duration) -> String {
        let (whole, rest) = duration.components
        return "\(whole).\(rest / 100_000_000_000_000_000)"
    }
}
