import CleanSlate
import ScopedNet
import Testing

@testable import ScopedNetViews

/// The four states of an activity indicator.
@Suite(.leavesNothing) struct ActivityStateTests {
    private typealias Action = ActivityState.Action

    private func enabled(isContinuous: Bool = false) -> ActivityState {
        var state = ActivityState(isContinuous: isContinuous)
        _ = state.setEnabled(true)
        return state
    }

    /// ACT-2.
    @Test func workIsShownAfterASecond() {
        var state = enabled()
        #expect(state.workChanged(true) == Action(timer: .start(.seconds(1), number: 1)))
        #expect(state.phase == .delayingStart && !state.isVisible)
        #expect(state.timerFired(1) == Action(visible: true))
        #expect(state.phase == .active)
    }

    /// ACT-2.
    @Test func shortWorkIsNotShown() {
        var state = enabled()
        _ = state.workChanged(true)
        #expect(state.workChanged(false) == Action())
        #expect(state.phase == .delayingStart)
        #expect(state.timerFired(1) == Action())
        #expect(state.phase == .inactive)
    }

    /// ACT-2.
    @Test func theEndIsShownAfterAMoment() {
        var state = enabled()
        _ = state.workChanged(true)
        _ = state.timerFired(1)
        #expect(state.workChanged(false) == Action(timer: .start(.milliseconds(170), number: 2)))
        #expect(state.phase == .delayingEnd && state.isVisible)
        #expect(state.timerFired(2) == Action(visible: false))
        #expect(state.phase == .inactive)
    }

    /// ACT-2.
    @Test func workThatBeginsAgainInTimeDoesNotFlicker() {
        var state = enabled()
        _ = state.workChanged(true)
        _ = state.timerFired(1)
        _ = state.workChanged(false)
        #expect(state.workChanged(true) == Action(timer: .stop))
        #expect(state.phase == .active)
        #expect(state.timerFired(2) == Action() && state.phase == .active)
    }

    /// The delay looks at its own end alone: 0.5 s of work, a gap, and new work at 0.9 s show at 1.0 s. ACT-2.
    @Test func aGapCountsOnlyWhereWorkIsToBeContinuous() {
        var state = enabled()
        for hasWork in [true, false, true] { _ = state.workChanged(hasWork) }
        #expect(state.timerFired(1) == Action(visible: true))

        var continuous = enabled(isContinuous: true)
        _ = continuous.workChanged(true)
        #expect(continuous.workChanged(false) == Action(timer: .stop))
        #expect(continuous.phase == .inactive)
        #expect(continuous.workChanged(true) == Action(timer: .start(.seconds(1), number: 2)))
        #expect(continuous.timerFired(1) == Action())
        #expect(continuous.timerFired(2) == Action(visible: true))
    }

    /// Timers are used for delays of zero, too. ACT-2.
    @Test func noDelayIsATimer() {
        var state = ActivityState(startDelay: .zero, endDelay: .zero)
        _ = state.setEnabled(true)
        #expect(state.workChanged(true) == Action(timer: .start(.zero, number: 1)))
    }

    /// ACT-3.
    @Test func itIsOffAtFirst() {
        var state = ActivityState()
        #expect(!state.isEnabled && state.workChanged(true) == Action() && state.phase == .inactive && state.hasWork)
    }

    /// ACT-3.
    @Test func switchingOffHidesAtOnce() {
        var state = enabled()
        _ = state.workChanged(true)
        #expect(state.setEnabled(false) == Action(timer: .stop))
        #expect(state.setEnabled(true) == Action(visible: true))
        #expect(state.setEnabled(true) == Action())
        #expect(state.setEnabled(false) == Action(visible: false))
        #expect(state.timerFired(1) == Action() && state.phase == .inactive)
        _ = state.setEnabled(true)
        _ = state.workChanged(false)
        #expect(state.setEnabled(false) == Action(timer: .stop, visible: false))
    }

    /// Enabling while requests ran showed nothing until the next event. ACT-3.
    @Test func switchingOnShowsWorkAtOnce() {
        var state = ActivityState()
        _ = state.workChanged(true)
        #expect(state.setEnabled(true) == Action(visible: true))
        #expect(state.phase == .active)
        var idle = ActivityState()
        #expect(idle.setEnabled(true) == Action() && idle.phase == .inactive)
    }
}

/// Random steps, compared with a naive model that has a list of timers and looks at the time.
@Suite(.leavesNothing) struct ActivityStateModelTests {
    /// The rules by the clock, written down once more: a timer is a deadline, and all is looked at again at each step.
    private struct Model {
        let isContinuous: Bool
        var now = 0
        var isEnabled = false
        var hasWork = false
        var isVisible = false
        /// The end of the delay before showing, and of that before hiding.
        var showing: Int?
        var hiding: Int?
        var changes: [Bool] = []

        mutating func show(_ value: Bool) {
            if value != isVisible { changes.append(value) }
            isVisible = value
        }

        mutating func setWork(_ value: Bool) {
            hasWork = value
            guard isEnabled else { return }
            if value, isVisible { hiding = nil }
            if value, !isVisible, showing == nil { showing = now + 1_000 }
            if !value, !isVisible, isContinuous { showing = nil }
            if !value, isVisible, hiding == nil { hiding = now + 170 }
        }

        mutating func setEnabled(_ value: Bool) {
            guard value != isEnabled else { return }
            isEnabled = value
            (showing, hiding) = (nil, nil)
            show(value && hasWork)
        }

        mutating func advance(to time: Int) {
            now = time
            if let end = showing, end <= time {
                showing = nil
                show(hasWork)
            }
            if let end = hiding, end <= time {
                hiding = nil
                show(false)
            }
        }
    }

    /// The state with a timer, as the indicator uses it.
    private struct Machine {
        var state: ActivityState
        var now = 0
        var timer: (due: Int, number: Int)?
        /// Numbers of timers that were stopped or replaced: they may fire all the same.
        var stale: [Int] = []
        var changes: [Bool] = []

        mutating func perform(_ action: ActivityState.Action) {
            switch action.timer {
            case .keep: break
            case .stop:
                if let timer { stale.append(timer.number) }
                timer = nil
            case .start(let delay, let number):
                if let timer { stale.append(timer.number) }
                timer = (now + Int(delay / .milliseconds(1)), number)
            }
            if let visible = action.visible { changes.append(visible) }
        }

        mutating func advance(to time: Int) {
            now = time
            guard let due = timer, due.due <= time else { return }
            timer = nil
            perform(state.timerFired(due.number))
        }
    }

    /// ACT-2, ACT-3.
    @Test(arguments: [false, true]) func anyOrderOfStepsIsThatOfTheModel(isContinuous: Bool) {
        for seed in 0..<400 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var model = Model(isContinuous: isContinuous)
            var machine = Machine(state: ActivityState(isContinuous: isContinuous))
            for _ in 0..<200 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<4:
                    let value = Bool.random(using: &random)
                    model.setWork(value)
                    machine.perform(machine.state.workChanged(value))
                case 4:
                    let value = Int.random(in: 0..<4, using: &random) > 0
                    model.setEnabled(value)
                    machine.perform(machine.state.setEnabled(value))
                case 5:
                    guard let number = machine.stale.randomElement(using: &random) else { continue }
                    machine.perform(machine.state.timerFired(number))
                default:
                    let time = model.now + Int.random(in: 1...400, using: &random)
                    // Time does not jump over a deadline: both look at each millisecond that matters.
                    let deadlines = [model.showing, model.hiding, machine.timer?.due].compactMap { $0 }.filter { $0 < time }.sorted()
                    for moment in deadlines + [time] {
                        model.advance(to: moment)
                        machine.advance(to: moment)
                    }
                }
                guard model.changes == machine.changes, model.isVisible == machine.state.isVisible else {
                    Issue.record("seed \(seed): \(machine.changes.suffix(4)) instead of \(model.changes.suffix(4))")
                    return
                }
                // Each change is one.
                #expect(zip(machine.changes, machine.changes.dropFirst()).allSatisfy { $0 != $1 })
            }
        }
    }
}

/// SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// The set of runs that use the network.
@Suite(.leavesNothing) struct ActiveRunsTests {
    /// ACT-1.
    @Test func aRunCountsFromItsStartToItsEnd() {
        var runs = ActiveRuns()
        #expect(runs.take(.started, of: 1) && !runs.take(.started, of: 1))
        #expect(runs.take(.started, of: 2) && runs.ids == [1, 2])
        #expect(runs.take(.ended, of: 1) && runs.take(.ended, of: 2) && runs.ids.isEmpty)
    }

    /// Defect 14: suspended and then finished, a task was counted down twice, and took away from another. ACT-1.
    @Test func oneThatEndsSuspendedTakesNothingFromAnother() {
        var runs = ActiveRuns()
        _ = runs.take(.started, of: 1)
        _ = runs.take(.started, of: 2)
        #expect(runs.take(.suspended, of: 1) && !runs.take(.ended, of: 1))
        #expect(runs.ids == [2])
        // A detached run may go on after its cancel; nothing of its suspension is left.
        #expect(runs.take(.started, of: 1) && runs.ids == [1, 2])
    }

    /// Defect 14: a task that was cancelled before it started was counted down, and never up. ACT-1.
    @Test func oneThatIsCancelledInTheQueueTakesNothing() {
        var runs = ActiveRuns()
        _ = runs.take(.started, of: 1)
        #expect(!runs.take(.waiting, of: 2) && !runs.take(.ended, of: 2))
        #expect(runs.ids == [1])
    }

    /// A dead connection is replaced within an attempt, and the attempt is over before its run is. ACT-1.
    @Test func anAttemptCountsFromItsStartToItsEnd() throws {
        var runs = ActiveRuns()
        func take(_ kind: RequestEvent.Kind) -> Set<UInt64> {
            if let step = ActiveRuns.Step(kind) { _ = runs.take(step, of: 1) }
            return runs.ids
        }
        #expect(take(.started(attempt: 1)) == [1] && take(.retryDecided(reason: "staleConnection", after: .zero)) == [1])
        #expect(
            take(.attemptFinished(TransferMetrics(), error: nil)) == [] && take(.retryDecided(reason: "status", after: .seconds(1))) == [])
        #expect(take(.started(attempt: 2)) == [1] && take(.suspended) == [] && take(.resumed) == [1])
        // A detached run, whose transfer begins after its end was told.
        #expect(take(.cancelled(.explicit)) == [] && take(.started(attempt: 3)) == [1])
        #expect(take(.attemptFinished(TransferMetrics(), error: nil)) == [])
    }

    /// ACT-1.
    @Test func waitingAndSuspendedRunsDoNotCount() {
        var runs = ActiveRuns()
        #expect(!runs.take(.suspended, of: 1) && !runs.take(.started, of: 1) && runs.take(.resumed, of: 1))
        #expect(runs.take(.waiting, of: 1) && !runs.take(.resumed, of: 1) && runs.take(.started, of: 1))
        #expect(runs.ids == [1])
    }
}
