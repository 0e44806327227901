#if canImport(ScopedNet)
@testable import ScopedNet
#endif

/// One configuration under its name.
struct Scenario {
    let name: String
    let setup: Setup
    /// More than a few hundred thousand states: explored with `SCOPEDNET_SOAK=1`.
    let isLarge: Bool
}

/// A thread's next atomic step.
struct Move: Equatable {
    let thread: Int
    let choice: Int
}

/// Looks at every order of the atomic steps of one scenario.
struct Explorer {
    let setup: Setup
    var flaw = Flaw.none

    struct Report {
        var states = 0
        var transitions = 0
        var depth = 0
        var endings = 0
        var isComplete = true
        var violation = Violation.none
        /// How it came to that.
        var trace: [Move] = []
        /// The steps that were taken by somebody.
        var labels: Set<Label> = []
    }

    // MARK: One step

    var initial: ModelState {
        var state = ModelState()
        state.bags[0].holdsChild = setup.isChild
        if setup.hasQueue {
            state.slotsInUse = 1
            state.otherHasSlot = true
        }
        if setup.isPlaced {
            state.runs[0].isHeld = true
            if setup.usesBag {
                state.runs[0].knowsBag = 1
                state.runs[0].links[0] = .linked
                state.runs[0].memberships[0] = .listed
                state.runs[0].wasListed = 1
                state.bags[setup.bag(0)].count = 1
            }
        }
        for index in setup.numbers {
            guard let (label, reason, run) = Self.beginning(setup.roles[index]) else { continue }
            state.threads[index].frames[0] = label
            state.threads[index].depth = 1
            state.threads[index].reason = reason
            state.threads[index].run = run
            switch setup.roles[index] {
            case .starter0 where setup.isPlaced: state.threads[index].frames[0] = .startGate
            case .endBag, .endBagDeferred: state.threads[index].bag = UInt8(setup.bag(0))
            case .cancelAllInBag:
                state.threads[index].bag = UInt8(setup.bag(0))
                state.threads[index].round = 1
            case .endParent: state.threads[index].bag = 0
            default: break
            }
        }
        return state
    }

    private static func beginning(_ role: Setup.Role) -> (Label, reason: UInt8, run: UInt8)? {
        switch role {
        case .nobody: nil
        case .starter0: (.startAdd, 0, 0)
        case .starter1: (.startAdd, 0, 1)
        case .cancel, .cancelAgain: (.cancelGate, Reason.explicit, 0)
        case .dropHandle: (.cancelGate, Reason.requestReleased, 0)
        case .shutdown: (.cancelGate, Reason.shutdown, 0)
        case .agentCancelAll: (.agentLook, Reason.explicit, 0)
        case .endBag, .endParent, .endBagDeferred: (.bagLock, Reason.ownerReleased, 0)
        case .cancelAllInBag: (.bagLock, Reason.explicit, 0)
        case .background: (.background, Reason.ownerReleased, 0)
        case .join: (.joinTable, 0, 0)
        case .lane: (.lane, 0, 0)
        case .network: (.network, 0, 0)
        case .worker: (.worker, 0, 0)
        case .timer: (.timer, 0, 0)
        case .path: (.path, 0, 0)
        case .suspender: (.suspendLook, 0, 0)
        case .otherRequest: (.otherRelease, 0, 0)
        }
    }

    func choices(_ state: ModelState, _ thread: Int) -> Int {
        guard state.threads[thread].depth > 0 else { return 0 }
        return Machine.choices(state.threads[thread].frames[Int(state.threads[thread].depth) - 1])
    }

    /// Nil when the thread cannot make this move now.
    func next(_ state: ModelState, _ move: Move) -> ModelState? {
        var machine = Machine(s: state, c: setup, flaw: flaw, t: move.thread)
        guard machine.step(choice: move.choice) else { return nil }
        if machine.s.violation == .none { machine.s.violation = stateViolation(machine.s) }
        return machine.s
    }

    // MARK: What must hold

    /// In every state: after a cancel returned, whatever it could not take back is being taken back by the thread that put it there.
    private func stateViolation(_ state: ModelState) -> Violation {
        for run in 0..<2 {
            guard state.runs[run].isHalted || state.runs[run].life.isRetired else { continue }
            let timers = state.runs[run].queueTimers | state.runs[run].waitTimers | state.runs[run].waitPaths
            var isRunning = false
            if state.runs[run].isHalted {
                for index in 1..<5 where state.runs[run].transfers[index].phase == .running && !state.runs[run].transfers[index].isCancelled
                {
                    isRunning = true
                }
            }
            guard timers != 0 || isRunning || (state.runs[run].isHalted && state.runs[run].waiting != 0) else { continue }
            if isBeingMended(state, run) { continue }
            if isRunning { return .transferNotStopped }
            return timers != 0 ? .timerNotStopped : .queueNotLeft
        }
        return .none
    }

    private func isBeingMended(_ state: ModelState, _ run: Int) -> Bool {
        for index in 0..<8 where state.threads[index].depth > 0 {
            if (state.threads[index].doomed | state.threads[index].stops) & (3 << UInt8(run * 2)) != 0 { return true }
            guard Int(state.threads[index].run) == run else { continue }
            for level in 0..<Int(state.threads[index].depth) where state.threads[index].frames[level].takesBack { return true }
        }
        return false
    }

    /// When nobody can move: everything has ended.
    func finalViolation(_ state: ModelState) -> Violation {
        for index in 0..<8 where state.threads[index].depth > 0 {
            guard state.threads[index].depth == 1, state.threads[index].frames[0].isIdle else { return .hangs }
        }
        for run in 0..<setup.runCount {
            if let violation = finalViolation(state, run) { return violation }
        }
        if state.slotsInUse != 0 { return .slotKept }
        return state.bags[0].count != 0 || state.bags[1].count != 0 ? .stillInBag : .none
    }

    private func finalViolation(_ state: ModelState, _ run: Int) -> Violation? {
        guard state.runs[run].life.isOver else { return .neverEnded }
        if state.runs[run].life.phase == .cancelled, !setup.canCancel { return .cancelledByNobody }
        if setup.hasOnEnd, state.runs[run].ends != 1 { return .noOnEnd }
        if !setup.canCancel, state.runs[run].furtherCalls != setup.closures - 1 { return .callMissing }
        if setup.release == .detached, state.runs[run].driver == .over, !state.runs[run].mayStop { return .detachedStopped }
        if state.runs[run].destructions != 1 { return .neverDestroyed }
        if state.runs[run].isHeld || state.runs[run].retirements != 1 { return .stillInAgent }
        if state.runs[run].hasExtraLink || state.runs[run].waits != 0 { return .stillInAgent }
        for link in 0..<2 where state.runs[run].memberships[link] != .none { return .stillInBag }
        if state.runs[run].waiting != 0 { return .queueNotLeft }
        if state.runs[run].queueTimers | state.runs[run].waitTimers | state.runs[run].waitPaths != 0 { return .timerLeft }
        for index in 1..<5 where state.runs[run].transfers[index].phase == .running { return .transferLeft }
        if state.runs[run].life.phase == .ended, state.runs[run].successes + state.runs[run].failures != 1 { return .neverEnded }
        return nil
    }

    // MARK: All orders

    func explore(limit: Int = 20_000_000) -> Report {
        var report = Report()
        var seen = FingerprintSet()
        var parents: [UInt32] = [0]
        var moves: [UInt16] = [0]
        var frontier = [(state: initial, number: UInt32(0))]
        _ = seen.insert(Self.fingerprint(initial))
        report.states = 1
        while !frontier.isEmpty {
            var following: [(state: ModelState, number: UInt32)] = []
            following.reserveCapacity(frontier.count * 2)
            for (state, number) in frontier {
                var isStuck = true
                for thread in setup.numbers {
                    for choice in 0..<choices(state, thread) {
                        guard let next = next(state, Move(thread: thread, choice: choice)) else { continue }
                        isStuck = false
                        report.transitions += 1
                        if report.transitions & 15 == 1 || report.states < 50_000 {
                            report.labels.insert(state.threads[thread].frames[Int(state.threads[thread].depth) - 1])
                        }
                        guard seen.insert(Self.fingerprint(next)) else { continue }
                        let child = UInt32(report.states)
                        report.states += 1
                        parents.append(number)
                        moves.append(UInt16(thread) << 8 | UInt16(choice))
                        if next.violation != .none {
                            report.violation = next.violation
                            report.trace = Self.trace(child, parents, moves)
                            return report
                        }
                        following.append((next, child))
                    }
                }
                guard isStuck else { continue }
                report.endings += 1
                let violation = finalViolation(state)
                guard violation == .none else {
                    report.violation = violation
                    report.trace = Self.trace(number, parents, moves)
                    return report
                }
            }
            report.depth += 1
            if report.states > limit {
                report.isComplete = false
                return report
            }
            frontier = following
        }
        return report
    }

    private static func trace(_ last: UInt32, _ parents: [UInt32], _ moves: [UInt16]) -> [Move] {
        var trace: [Move] = []
        var number = Int(last)
        while number != 0 {
            trace.append(Move(thread: Int(moves[number] >> 8), choice: Int(moves[number] & 255)))
            number = Int(parents[number])
        }
        return trace.reversed()
    }

    /// A trace as lines: who took which step.
    func story(_ trace: [Move]) -> [String] {
        var state = initial
        var lines: [String] = []
        for move in trace {
            let depth = Int(state.threads[move.thread].depth)
            lines.append(
                "\(setup.roles[move.thread]): \(state.threads[move.thread].frames[depth - 1])\(move.choice > 0 ? " \(move.choice)" : "")")
            guard let following = next(state, move) else { break }
            state = following
        }
        return lines
    }

    /// 64 bits of the state's bytes: with five million states, one chance in a million that two are taken for one.
    static func fingerprint(_ state: ModelState) -> UInt64 {
        withUnsafeBytes(of: state) { bytes in
            var low: UInt64 = 0x9E37_79B9_7F4A_7C15
            var offset = 0
            while offset + 8 <= bytes.count {
                low ^= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                low = (low ^ low >> 32) &* 0xD6E8_FEB8_6659_FD93
                low = (low ^ low >> 29) &* 0xA076_1D64_78BD_642F
                offset += 8
            }
            while offset < bytes.count {
                low = (low ^ UInt64(bytes[offset])) &* 0xE703_7ED1_A0B4_28DB
                offset += 1
            }
            low ^= low >> 31
            return low == 0 ? 1 : low
        }
    }
}

extension Label {
    /// A thread that waits for something to do, or never had anything to cancel.
    var isIdle: Bool {
        switch self {
        case .lane, .network, .worker, .timer, .path, .background, .cancelGate, .agentLook, .joinTable, .suspendLook: true
        default: false
        }
    }

    /// A thread that is here, or will come back to here, still looks whether something is to be taken back.
    var takesBack: Bool {
        switch self {
        case .tearDown, .destroy, .destroyed, .tearLook, .abortRead, .abortQueue, .abortTransfer, .abortWaits, .stopLook, .leaveOwn,
            .retire, .retireRare,
            .queueTimer, .queueTimerStore, .queueTimerNote, .queueTimerLook, .queueTimerDrop, .queueLook, .queueTake,
            .beginSecondLook, .beginCancel, .waitStage, .waitArm, .waitStore, .waitNote, .waitLook, .waitDrop,
            .waitTake,
            .eventWithdraw, .endWithdraw:
            true
        default: false
        }
    }
}

/// Which states were seen.
struct FingerprintSet {
    private var slots = [UInt64](repeating: 0, count: 1 << 16)
    private var count = 0

    /// - Returns: false when it was there.
    mutating func insert(_ value: UInt64) -> Bool {
        if count * 2 >= slots.count { grow() }
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: value) & mask
        while slots[index] != 0 {
            if slots[index] == value { return false }
            index = (index + 1) & mask
        }
        slots[index] = value
        count += 1
        return true
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: old.count * 2)
        let mask = slots.count - 1
        for value in old where value != 0 {
            var index = Int(truncatingIfNeeded: value) & mask
            while slots[index] != 0 { index = (index + 1) & mask }
            slots[index] = value
        }
    }
}
