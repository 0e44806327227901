import CleanSlate
import Testing

@testable import ScopedNetEndpoints

/// Every order in which a chain can be started, appended to, cancelled, and its steps can end (YTK-18, defect 36).
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct ChainMachineTests {
    private struct State: Hashable {
        var machine = ChainMachine()
        var total = 0
        var working: Int?
        var handingOver: Int?
        var reported = 0
        var isStarted = false
        var isCancelled = false
        var end: String?
    }

    private struct Explorer {
        let most: Int
        var visited: Set<State> = []
        var faults: Set<String> = []
        var outcomes: Set<String> = []

        mutating func explore() {
            var open = [State()]
            while let state = open.popLast() {
                guard visited.insert(state).inserted else { continue }
                if state.isStarted, !state.isCancelled, state.working == nil, state.handingOver == nil, state.end == nil {
                    faults.insert("stands still")
                }
                open += successors(state)
            }
        }

        private mutating func successors(_ state: State) -> [State] {
            var all: [State] = []
            func step(_ change: (inout State) -> Void) {
                var after = state
                change(&after)
                all.append(after)
            }
            if state.total < most {
                step { after in
                    let isOver = after.isCancelled || after.end != nil
                    let index = after.machine.append()
                    if isOver != (index == nil) { faults.insert("appended behind the end, or refused before it") }
                    if let index {
                        if index != after.total { faults.insert("a wrong number") }
                        after.total += 1
                    }
                }
            }
            step { after in
                let steps = after.machine.start()
                if (steps != nil) != (!state.isStarted && !state.isCancelled) { faults.insert("a start that tells a lie") }
                after.isStarted = true
                take(steps ?? [], &after)
            }
            for ending in ChainMachine.Ending.allCases {
                for index in 0..<most {
                    step { after in
                        let steps = after.machine.stepEnded(index, ending)
                        let isExpected = index == state.working && !state.isCancelled
                        if isExpected != !steps.isEmpty { faults.insert("an ending that was not expected") }
                        if isExpected { after.working = nil }
                        take(steps, &after)
                    }
                }
            }
            for index in 0..<most {
                step { after in
                    let steps = after.machine.handedOver(index)
                    let isExpected = index == state.handingOver && !state.isCancelled
                    if isExpected != !steps.isEmpty { faults.insert("handed over twice, or never") }
                    if isExpected { after.handingOver = nil }
                    take(steps, &after)
                }
            }
            step { after in
                after.machine.cancel()
                after.isCancelled = true
            }
            return all
        }

        private mutating func take(_ steps: [ChainMachine.Step], _ state: inout State) {
            for step in steps {
                if state.end != nil || state.isCancelled { faults.insert("a step behind the end") }
                switch step {
                case .begin(let index):
                    if state.working != nil || state.handingOver != nil { faults.insert("two at a time") }
                    if index != state.reported { faults.insert("a step was passed over") }
                    state.working = index
                case .handOver(let index): state.handingOver = index
                case .report(let ended, let total):
                    if ended != state.reported + 1 || total != state.total { faults.insert("a report that is wrong") }
                    state.reported = ended
                case .succeed:
                    if state.reported != state.total { faults.insert("succeeded too early") }
                    state.end = "succeeded"
                    outcomes.insert("succeeded")
                case .fail(let index):
                    if index != state.reported - 1 { faults.insert("the wrong step failed") }
                    state.end = "failed"
                    outcomes.insert("failed")
                }
            }
        }
    }

    @Test(arguments: 0...4) func everyOrderIsRight(most: Int) {
        var explorer = Explorer(most: most)
        explorer.explore()
        #expect(explorer.faults.isEmpty)
        #expect(explorer.outcomes == (most > 0 ? ["succeeded", "failed"] : ["succeeded"]))
        #expect(explorer.visited.count > most * most * 4)
    }

    @Test func aStepThatIsAppendedByAClosureIsPartOfTheChain() {
        var machine = ChainMachine()
        #expect(machine.append() == 0 && machine.start() == [.begin(0)])
        #expect(machine.stepEnded(0, .succeededWithClosure) == [.handOver(0)])
        #expect(machine.append() == 1)
        #expect(machine.handedOver(0) == [.report(ended: 1, total: 2), .begin(1)])
        #expect(machine.stepEnded(1, .skipped) == [.report(ended: 2, total: 2), .succeed])
        #expect(machine.append() == nil && machine.start() == nil)
    }
}
