import CleanSlate
import Testing

@testable import ScopedNetEndpoints

/// Every order in which a batch can be started, its members can end and it can be cancelled (YTK-17, defect 35).
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct BatchMachineTests {
    private typealias Step = BatchMachine.Step

    /// One way through: the machine, and what was done at its word.
    private struct State: Hashable {
        var machine: BatchMachine
        var underWay: Set<Int> = []
        var begun: Set<Int> = []
        var ended = 0
        var reported = 0
        var ends = 0
        var isStarted = false
        var isCancelled = false
        var hasFailed = false
    }

    private struct Explorer {
        let count: Int
        let limit: Int
        let collects: Bool
        var visited: Set<State> = []
        var faults: Set<String> = []
        var outcomes: Set<String> = []

        mutating func explore() {
            var open = [State(machine: BatchMachine(count: count, limit: limit, collectsFailures: collects))]
            while let state = open.popLast() {
                guard visited.insert(state).inserted else { continue }
                let next = successors(state)
                if next.isEmpty { judge(state) }
                open += next
            }
        }

        private mutating func judge(_ state: State) {
            if !state.isCancelled, state.ends != 1 { faults.insert("no end") }
            if state.isCancelled, state.ends > 0, state.machine.isOver == false { faults.insert("over and not over") }
            if state.ends == 1, !state.hasFailed, !state.isCancelled, state.ended != count { faults.insert("succeeded too early") }
        }

        private mutating func successors(_ state: State) -> [State] {
            var all: [State] = []
            if !state.isStarted {
                var after = state
                after.isStarted = true
                if let steps = after.machine.start() {
                    take(steps, &after)
                } else if !after.isCancelled {
                    faults.insert("a start was refused")
                }
                if after.machine.start() != nil { faults.insert("started twice") }
                all.append(after)
            }
            for index in state.underWay {
                for failed in [false, true] {
                    var after = state
                    after.underWay.remove(index)
                    let wasOver = after.machine.isOver
                    let steps = after.machine.memberEnded(index, failed: failed)
                    if wasOver, !steps.isEmpty { faults.insert("goes on behind its end") }
                    if !wasOver { after.ended += 1 }
                    take(steps, &after)
                    // Heard again: nothing.
                    if !after.machine.memberEnded(index, failed: failed).isEmpty { faults.insert("a member ended twice") }
                    all.append(after)
                }
            }
            if !state.isCancelled, !state.machine.isOver {
                var after = state
                after.isCancelled = true
                after.machine.cancel()
                if !after.machine.isOver { faults.insert("a cancel that ends nothing") }
                all.append(after)
            }
            return all
        }

        private mutating func take(_ steps: [Step], _ state: inout State) {
            for step in steps {
                if state.ends > 0 { faults.insert("a step behind the end") }
                switch step {
                case .begin(let index):
                    if !state.begun.insert(index).inserted { faults.insert("begun twice") }
                    state.underWay.insert(index)
                    if state.underWay.count > limit { faults.insert("too many at a time") }
                case .report(let count):
                    if count != state.reported + 1 { faults.insert("a report is missing") }
                    state.reported = count
                case .succeed:
                    state.ends += 1
                    outcomes.insert("succeeded")
                case .fail:
                    if collects { faults.insert("a failure that was to be collected") }
                    state.hasFailed = true
                    state.ends += 1
                    outcomes.insert("failed")
                }
            }
        }
    }

    @Test(arguments: 0...4, [false, true]) func everyOrderIsRight(count: Int, collects: Bool) {
        for limit in 1...3 {
            var explorer = Explorer(count: count, limit: limit, collects: collects)
            explorer.explore()
            #expect(explorer.faults.isEmpty)
            #expect(explorer.outcomes == (count > 0 && !collects ? ["succeeded", "failed"] : ["succeeded"]))
            #expect(count == 0 || explorer.visited.count > count * 3)
        }
    }

    /// The others are cancelled after a failure: that is not the end of the batch, which has failed.
    @Test func aCancelAfterAFailureIsNoEnd() {
        var machine = BatchMachine(count: 3, limit: 2, collectsFailures: false)
        #expect(!machine.isEnded(byCancelOf: 0))
        #expect(machine.start() == [.begin(0), .begin(1)])
        #expect(machine.isEnded(byCancelOf: 1) && !machine.isEnded(byCancelOf: 2) && !machine.isEnded(byCancelOf: 7))
        #expect(machine.memberEnded(0, failed: true) == [.report(1), .fail(0)] && !machine.isEnded(byCancelOf: 1))
    }

    @Test func anEmptyBatchCompletes() {
        var machine = BatchMachine(count: 0, limit: 4, collectsFailures: false)
        #expect(machine.start() == [.succeed])
        #expect(machine.start() == nil && machine.isOver)
    }

    @Test func theNextBeginsWhereOneHasEnded() {
        var machine = BatchMachine(count: 3, limit: 2, collectsFailures: true)
        #expect(machine.start() == [.begin(0), .begin(1)])
        #expect(machine.memberEnded(1, failed: true) == [.report(1), .begin(2)])
        #expect(machine.memberEnded(2, failed: false) == [.report(2)])
        #expect(machine.memberEnded(0, failed: false) == [.report(3), .succeed])
    }
}
