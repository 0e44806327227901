import CleanSlate
import Testing

@testable import ScopedNetEndpoints

/// Every order in which a query can be looked at, left, invalidated and answered.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct QueryMachineTests {
    private struct State: Hashable {
        var machine = QueryMachine()
        var observers = 0
        var fetch: Int?
        /// The present answer was asked for before the last invalidation, or there is none.
        var isOld = true
        var fetchIsOld = false
        /// Its answer may be older than a change that was made here.
        var fetchIsOutdated = false
        var budget = 7
    }

    private struct Explorer {
        var visited: Set<State> = []
        var faults: Set<String> = []

        mutating func explore() {
            var open = [State()]
            while let state = open.popLast() {
                guard visited.insert(state).inserted else { continue }
                if state.machine.isFetching != (state.fetch != nil) { faults.insert("does not know what is under way") }
                if state.fetch != nil, state.observers == 0 { faults.insert("asks for nobody") }
                open += successors(state)
            }
        }

        private mutating func successors(_ state: State) -> [State] {
            guard state.budget > 0 else { return [] }
            var all: [State] = []
            func step(_ change: (inout State) -> Void) {
                var after = state
                after.budget -= 1
                change(&after)
                all.append(after)
            }
            for isFresh in [false, true] {
                step { after in
                    after.observers += 1
                    take(after.machine.observe(isFresh: isFresh), &after)
                    if !isFresh, after.fetch == nil { faults.insert("a stale value, and nobody asks") }
                }
                step { after in
                    take(after.machine.refresh(isFresh: isFresh), &after)
                    if !isFresh, after.observers > 0, after.fetch == nil { faults.insert("the network is back, and nobody asks") }
                }
            }
            step { after in
                if after.observers > 0 { after.observers -= 1 }
                take(after.machine.leave(), &after)
            }
            step { after in
                after.isOld = true
                after.fetchIsOld = after.fetch != nil
                take(after.machine.invalidate(), &after)
                if after.observers > 0, after.fetch == nil { faults.insert("invalidated, and nobody asks") }
            }
            for isSet in [false, true] {
                step { after in
                    // Changed here: an answer that is under way may be older.
                    (after.fetchIsOld, after.fetchIsOutdated) = (after.fetch != nil, after.fetch != nil)
                    if isSet { after.machine.set() } else { after.machine.changed() }
                    if isSet, after.machine.isInvalid { faults.insert("a value that was set is not good enough") }
                }
            }
            if let fetch = state.fetch {
                for ending in [QueryMachine.Ending.failed, .succeeded, .cancelled] {
                    step { after in
                        let (wasOld, wasOutdated) = (after.fetchIsOld, after.fetchIsOutdated)
                        (after.fetch, after.fetchIsOld, after.fetchIsOutdated) = (nil, false, false)
                        if ending == .succeeded { after.isOld = wasOld }
                        let steps = after.machine.fetched(fetch, ending)
                        let counts = ending != .cancelled && !wasOutdated
                        if steps.first != (counts ? .accept : .ignore) { faults.insert("an answer counts, or does not, for no reason") }
                        take(Array(steps.dropFirst()), &after)
                        if wasOld, after.fetch == nil { faults.insert("what was invalidated is not asked for again") }
                        if !after.machine.fetched(fetch, ending).isEmpty { faults.insert("an answer counts twice") }
                    }
                }
            }
            return all
        }

        private mutating func take(_ steps: [QueryMachine.Step], _ state: inout State) {
            for step in steps {
                switch step {
                case .fetch(let number):
                    if state.fetch != nil { faults.insert("two at a time") }
                    (state.fetch, state.fetchIsOld, state.fetchIsOutdated) = (number, false, false)
                case .abandon:
                    if state.fetch == nil { faults.insert("gave up what was not there") }
                    (state.fetch, state.fetchIsOld, state.fetchIsOutdated) = (nil, false, false)
                case .accept, .ignore: faults.insert("an answer out of nothing")
                }
            }
        }
    }

    @Test func everyOrderIsRight() {
        var explorer = Explorer()
        explorer.explore()
        #expect(explorer.faults.isEmpty)
        #expect(explorer.visited.count > 300)
    }

    @Test func anInvalidationDuringARequestIsFollowedUpOnce() {
        var machine = QueryMachine()
        #expect(machine.observe(isFresh: false) == [.fetch(1)] && machine.observe(isFresh: false) == [])
        #expect(machine.invalidate() == [] && machine.invalidate() == [])
        #expect(machine.fetched(1, .succeeded) == [.accept, .fetch(2)])
        #expect(machine.fetched(2, .succeeded) == [.accept] && !machine.isInvalid)
        #expect(machine.leave() == [] && machine.leave() == [] && machine.invalidate() == [])
        // Invalid while it had no observers: the next one asks, however fresh it is.
        #expect(machine.observe(isFresh: true) == [.fetch(3)] && machine.leave() == [.abandon])
        #expect(machine.fetched(3, .succeeded) == [])
        // Changed here meanwhile: the older answer does not count.
        #expect(machine.observe(isFresh: false) == [.fetch(4)])
        machine.changed()
        #expect(machine.fetched(4, .succeeded) == [.ignore, .fetch(5)] && machine.fetched(5, .succeeded) == [.accept])
    }
}
