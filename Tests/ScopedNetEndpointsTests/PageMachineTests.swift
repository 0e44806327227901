import CleanSlate
import Testing

@testable import ScopedNetEndpoints

/// Every order in which pages can be asked for, come, be taken back and begin again (CT-7).
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct PageMachineTests {
    private struct State: Hashable {
        var machine: PageMachine
        var waiting = 0
        var fetching: Int?
        var isStored = false
        var isEnded = false
        var asked = 0
        var restarts = 0
        var fetches = 0
    }

    private struct Explorer {
        let fetchesAhead: Bool
        var visited: Set<State> = []
        var faults: Set<String> = []
        var seen: Set<String> = []

        mutating func explore() {
            var open = [State(machine: PageMachine(fetchesAhead: fetchesAhead))]
            while let state = open.popLast() {
                guard visited.insert(state).inserted else { continue }
                if state.waiting > 0, state.fetching == nil { faults.insert("somebody waits, and nothing is on its way") }
                if !fetchesAhead, state.fetching != nil, state.waiting == 0 { faults.insert("fetched for nobody") }
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
            // An answer is a page with others behind it, the last page, or an error: the place moves on, is the end, or stays.
            for answer in ["more", "last", "error"] {
                if state.asked < 4 {
                    step { after in
                        after.asked += 1
                        after.waiting += 1
                        take(after.machine.ask(), answer, &after)
                    }
                }
                if let fetch = state.fetching {
                    step { after in
                        after.fetching = nil
                        let succeeded = answer != "error"
                        let steps = after.machine.fetched(fetch, succeeded: succeeded)
                        if steps.isEmpty != (after.waiting == 0) { faults.insert("a page for nobody, or lost") }
                        if after.waiting == 0 { after.isStored = succeeded }
                        take(steps, answer, &after)
                        if !after.machine.fetched(fetch, succeeded: succeeded).isEmpty { faults.insert("a page came twice") }
                    }
                }
            }
            if state.waiting > 0 {
                step { after in
                    after.waiting -= 1
                    take(after.machine.leave(), "more", &after)
                }
            }
            if state.restarts < 2 {
                step { after in
                    after.restarts += 1
                    after.isStored = false
                    after.isEnded = false
                    take(after.machine.restart(), "more", &after)
                }
            }
            return all
        }

        private mutating func take(_ steps: [PageMachine.Step], _ answer: String, _ state: inout State) {
            for step in steps {
                seen.insert("\(step)".prefix { $0 != "(" }.description)
                switch step {
                case .fetch(let number):
                    if state.fetching != nil { faults.insert("two at a time") }
                    state.fetching = number
                case .abandon(let number):
                    if state.fetching != number { faults.insert("took back what was not on its way") }
                    state.fetching = nil
                case .deliver, .deliverStored:
                    if state.waiting == 0 { faults.insert("handed to nobody") }
                    if step == .deliverStored, !state.isStored { faults.insert("handed over what was not there") }
                    state.isStored = false
                    state.waiting = 0
                    if answer == "error" { break }
                    state.isEnded = answer == "last"
                    take(state.machine.advance(isLast: state.isEnded), answer, &state)
                case .end:
                    if !state.isEnded { faults.insert("an end before the last page") }
                    state.waiting = 0
                }
            }
        }
    }

    @Test(arguments: [false, true]) func everyOrderIsRight(fetchesAhead: Bool) {
        var explorer = Explorer(fetchesAhead: fetchesAhead)
        explorer.explore()
        #expect(explorer.faults.isEmpty)
        #expect(
            explorer.seen
                == (fetchesAhead ? ["fetch", "abandon", "deliver", "deliverStored", "end"] : ["fetch", "abandon", "deliver", "end"]))
        #expect(explorer.visited.count > 100)
    }
}
