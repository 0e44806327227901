import CleanSlate
import Testing

@testable import ScopedNet

/// Every order in which several threads can join, leave, finish and cancel the work for one key, with the shipping ``CoalescingTable``: what each thread
/// does between two looks at the table is one step.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(5))) struct CoalescingModelTests {
    private typealias Table = CoalescingTable<Int, Int, Int>

    /// A step of the protocol that is left out.
    private enum Mutant: CaseIterable {
        case none
        /// The last leaves, and the work is forgotten a moment later.
        case endsLater
        /// The level is looked at once.
        case settlesOnce
        /// A member that was cancelled while it joined is not looked at again.
        case joinsBlindly
    }

    /// Members 0..<count join with a priority of their own each; some are cancelled at any time.
    private struct State: Hashable {
        enum Joining: Hashable { case toJoin, toBegin(Int), toRead(Int), toSet(Int, UInt8), toLook, done }
        enum Leaving: Hashable {
            case idle, toLeave, toRead(Int, isLast: Bool), toSet(Int, UInt8, isLast: Bool), toAbandon(Int), toEnd(Int), done
        }
        enum Work: Hashable { case none, running, ended, cancelled, abandonedBeforehand }

        var table = Table()
        var joining: [Joining]
        /// The canceller of each member, and the second look of the joining thread.
        var leaving: [Leaving]
        var late: [Leaving]
        var isCancelled: [Bool]
        var answers: [Int]
        var works: [Work]
        var levels: [UInt8]

        init(_ count: Int) {
            joining = Array(repeating: .toJoin, count: count)
            leaving = Array(repeating: .idle, count: count)
            late = leaving
            isCancelled = Array(repeating: false, count: count)
            answers = Array(repeating: 0, count: count)
            works = Array(repeating: .none, count: count)
            levels = Array(repeating: 2, count: count)
        }
    }

    private struct Explorer {
        let mutant: Mutant
        let cancelled: Set<Int>
        let count: Int
        /// False to leave levels out: who waits and who leads does not depend on them.
        let settles: Bool
        var visited: Set<State> = []
        var faults: Set<String> = []
        private static let key = 7
        private func leaderID(_ work: Int) -> UInt64 { UInt64(100 + work) }

        mutating func explore() {
            var open = [State(count)]
            while let state = open.popLast() {
                guard visited.insert(state).inserted else { continue }
                let next = successors(state)
                if next.isEmpty { judge(state) }
                if isQuiet(state), state.works.contains(.running),
                    (0..<count).allSatisfy({ state.isCancelled[$0] || state.answers[$0] > 0 })
                {
                    faults.insert("work goes on for nobody")
                }
                open += next
            }
        }

        /// True where only the work is in the middle of something.
        func isQuiet(_ state: State) -> Bool {
            state.joining.allSatisfy { $0 == .done } && (state.leaving + state.late).allSatisfy { $0 == .idle || $0 == .done }
        }

        private mutating func judge(_ state: State) {
            for member in 0..<count {
                if state.answers[member] > 1 { faults.insert("answered twice") }
                if state.answers[member] == 0, !state.isCancelled[member] { faults.insert("never answered") }
            }
            if !state.table.isEmpty { faults.insert("something stays in the table") }
        }

        private func successors(_ state: State) -> [State] {
            var next: [State] = []
            for member in 0..<count {
                next += join(member, state)
                next += leave(member, state, \.leaving)
                next += leave(member, state, \.late)
                if cancelled.contains(member), !state.isCancelled[member] {
                    var after = state
                    after.isCancelled[member] = true
                    after.leaving[member] = .toLeave
                    next.append(after)
                }
                // The work is done, once somebody has begun it.
                if state.works[member] == .running {
                    var after = state
                    after.works[member] = .ended
                    end(member, &after)
                    next.append(after)
                }
            }
            return next
        }

        private func end(_ work: Int, _ state: inout State) {
            for waiter in state.table.end(ledBy: leaderID(work))?.waiters ?? [] where !state.isCancelled[waiter] {
                state.answers[waiter] += 1
            }
        }

        private func join(_ member: Int, _ state: State) -> [State] {
            var after = state
            switch state.joining[member] {
            case .toJoin:
                let joined = after.table.join(
                    Self.key, UInt64(member), Priority.allCases[member + 1], member, orUnder: member, leaderID(member))
                after.joining[member] = joined.isNew ? .toBegin(joined.leader) : settles ? .toRead(joined.leader) : .toLook
            case .toBegin(let work):
                after.works[work] = state.works[work] == .abandonedBeforehand ? .cancelled : .running
                after.joining[member] = settles ? .toRead(work) : .toLook
            case .toRead(let work):
                let level = state.table.level(Self.key, ledBy: leaderID(work))
                after.joining[member] = level.map { .toSet(work, $0) } ?? .toLook
            case .toSet(let work, let level):
                let changes = state.levels[work] != level
                after.levels[work] = level
                after.joining[member] = changes && mutant != .settlesOnce ? .toRead(work) : .toLook
            case .toLook:
                after.joining[member] = .done
                if state.isCancelled[member], mutant != .joinsBlindly { after.late[member] = .toLeave }
            case .done: return []
            }
            return [after]
        }

        private func leave(_ member: Int, _ state: State, _ path: WritableKeyPath<State, [State.Leaving]>) -> [State] {
            var after = state
            switch state[keyPath: path][member] {
            case .idle, .done: return []
            case .toLeave:
                let gone = after.table.leave(Self.key, UInt64(member), endsWithLast: mutant != .endsLater)
                after[keyPath: path][member] =
                    gone.map { settles ? .toRead($0.leader, isLast: $0.isLast) : $0.isLast ? .toAbandon($0.leader) : .done } ?? .done
            case .toRead(let work, let isLast):
                let level = state.table.level(Self.key, ledBy: leaderID(work))
                after[keyPath: path][member] = level.map { .toSet(work, $0, isLast: isLast) } ?? (isLast ? .toAbandon(work) : .done)
            case .toSet(let work, let level, let isLast):
                let changes = state.levels[work] != level
                after.levels[work] = level
                let goesOn = changes && mutant != .settlesOnce
                after[keyPath: path][member] = goesOn ? .toRead(work, isLast: isLast) : isLast ? .toAbandon(work) : .done
            case .toAbandon(let work):
                switch state.works[work] {
                case .running: after.works[work] = .cancelled
                case .none: after.works[work] = .abandonedBeforehand
                case .ended, .cancelled, .abandonedBeforehand: break
                }
                after[keyPath: path][member] = mutant == .endsLater ? .toEnd(work) : .done
            case .toEnd(let work):
                _ = after.table.end(ledBy: leaderID(work))
                after[keyPath: path][member] = .done
            }
            return [after]
        }
    }

    @Test(arguments: [[], [0], [0, 1], [0, 1, 2]]) func everyOrderIsRight(cancelled: [Int]) {
        var explorer = Explorer(mutant: .none, cancelled: Set(cancelled), count: 3, settles: false)
        explorer.explore()
        #expect(explorer.faults.isEmpty)
        #expect(explorer.visited.count > 100)
        if cancelled.isEmpty { #expect(explorer.visited.contains { $0.works.contains(.ended) }) }
        print("coalescing, \(cancelled.count) of 3 cancelled: \(explorer.visited.count) states")
    }

    /// The search finds what the protocol is for.
    @Test func mutantsAreFound() {
        for mutant in [Mutant.endsLater, .joinsBlindly] {
            var explorer = Explorer(mutant: mutant, cancelled: [0, 1], count: 3, settles: false)
            explorer.explore()
            #expect(!explorer.faults.isEmpty, "\(mutant) was not found")
        }
    }

    /// The work ends up as urgent as the most urgent who waits for it: seen where nobody cancels and the work has not ended.
    @Test func theLevelHolds() {
        func wrongLevels(_ mutant: Mutant) -> Int {
            var explorer = Explorer(mutant: mutant, cancelled: [1], count: 2, settles: true)
            explorer.explore()
            return explorer.visited.count { state in
                guard explorer.isQuiet(state) else { return false }
                return state.works.indices.contains { work in
                    let level = state.table.level(7, ledBy: UInt64(100 + work))
                    return level != nil && level != state.levels[work]
                }
            }
        }
        #expect(wrongLevels(.none) == 0)
        #expect(wrongLevels(.settlesOnce) > 0)
    }
}
