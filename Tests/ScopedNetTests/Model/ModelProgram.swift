#if canImport(ScopedNet)
@testable import ScopedNet
#endif

/// Where a thread is: each label is one atomic step of the engine, named after what it does.
enum Label: UInt8, CaseIterable {
    case done
    // Request.start and RequestAgent.add
    case startAdd, startRetain, startReplace, startReplaced, startLink, startLinked, startRefused, startGate
    // BagStorage.insert
    case insertLook, announce, push, pushBlindly, confirm, insertRemove, insertLookAgain, insertLeave, insertLeft
    // RunDriver.cancel
    case cancelGate, cancelReturn, agentLook
    // RunDriver.tearDown
    case tearDown, destroy, destroyed, tearLook, tearAborted, tearSay
    // RunDriver.leaveBags, ScopeMember.leaveBag, BagStorage.remove
    case leaveOwn, leaveClearing, leaveRemove, leaveRare, leaveFurther
    // RunDriver.abortStage
    case abortRead, abortQueue, abortTransfer, abortWaits
    // stopWork, lastWordSaid, workEnded, retire
    case stopLook, stopAborted, workEnded, said, retire, retireRare, retireAgent
    // submitAttempt
    case submitLook, submitStore, submitEnter, queueTimer, queueTimerStore, queueTimerNote, queueTimerLook, queueTimerDrop,
        queueLook
    case queueTake
    // AdmissionQueue.grant and beginTransfer
    case granted, slotBack
    case beginLook, beginSuspended, beginPark, beginParked, beginUnpark, beginWait, beginStage, beginStart, beginSecondLook, beginCancel
    case beginSuspension, begun
    case applyLook, applyTell, applyLookAgain
    // The network: didFinishWith, attemptFinished
    case network, finishLook, finishDecide
    // again(after:)
    case againStage, againTimer, againStore, againNote, againLook, againDrop, againTake
    // complete
    case completeStage, complete
    case worker, workStage, workLook, work
    case timer, retryFired, queueFired
    // The delivery executor
    case lane, eventRead, eventAdmit, eventClosed, eventWithdraw, eventWithdrawn, call, calling, callOut
    case endAdmit, endClosed, endWithdraw, endRefused, endLeave, endCall, endCalling, endFurther, endFurtherClosed,
        endFurtherCancelled, endDestroy, endGate, endSay, sayCancelled
    // BagStorage.end
    case bagLock, bagTake, bagShut, bagSettle, bagSettled, bagReturn, background
    // RunDriver.join
    case joinTable, joinInsert, joinInserted, joinCancelled, joinLook, joinLeave
    // setSuspended
    case suspendLook, suspendSet, suspendStage, suspendUnpark, suspendNext
    case otherRelease
}

/// Mistakes in how the engine uses its machines. Each was planted in the model once and has to be found again.
enum Flaw: UInt8, CaseIterable {
    case none
    case checkThenInsert, noHandshake, gateDropped, clearedTwice, lateAdmission, noSharedGate, stageAfterGate, noSecondLook,
        queueNoSecondLook
    case leavesNoBag, leavesNoBagAtEnding, keyBeforeRetain, retiresBeforeLastWord, stopIsNotLatched, queueTimerIsAnybodys,
        retryTailStoresIdle
    case suspensionToldOnce, tearsDownBeforeAllGates, slotKept, slotReleasedTwice, handlersReadEarly, deferredWithoutGate, withdrawForgotten
    case cancelIgnoresQueue, decodeUnchecked, tearDownInCall, joinForgetsEnding, childForgotten, retiresTwice, handlersKept
    case secondCallNotAsked, secondEventCallNotAsked, furtherCallIgnoresCancelAll
}

/// Takes one atomic step.
struct Machine {
    var s: ModelState
    let c: Setup
    let flaw: Flaw
    let t: Int

    // MARK: Control

    private var r: Int { Int(s.threads[t].run) }
    private var top: Int { Int(s.threads[t].depth) - 1 }

    private mutating func jump(_ label: Label) { s.threads[t].frames[top] = label }

    private mutating func call(_ label: Label, then next: Label) {
        jump(next)
        guard s.threads[t].depth < 9 else { fatalError("the model's stack is too small") }
        s.threads[t].frames[Int(s.threads[t].depth)] = label
        s.threads[t].depth += 1
    }

    private mutating func ret() {
        s.threads[t].frames[top] = .done
        s.threads[t].depth -= 1
    }

    private mutating func fail(_ violation: Violation) { if s.violation == .none { s.violation = violation } }

    private mutating func take(_ expected: Driver) {
        if s.runs[r].driver != expected { fail(.twoDrivers) }
        s.runs[r].driver = .thread(t)
    }

    private mutating func push(_ kind: UInt8) {
        guard s.laneCount < 12 else { fatalError("the model's lane is too short") }
        s.lane[Int(s.laneCount)] = UInt8(r) << 4 | kind
        s.laneCount += 1
    }

    // MARK: What the engine computes

    private func bit(_ exchange: UInt8) -> UInt8 { 1 << exchange }
    private var stage: RunStage { RunStage(word: UInt64(s.runs[r].stage)) }
    private mutating func enter(_ stage: RunStage) { s.runs[r].stage = UInt8(truncatingIfNeeded: stage.word) }

    private func keepsWork(_ reason: UInt8) -> Bool {
        c.release == .detached && (reason == Reason.ownerReleased || reason == Reason.requestReleased)
    }

    private func isClosed(_ bag: Int) -> Bool { s.bags[bag].isClosed || (c.isChild && bag == 1 && s.bags[0].isClosed) }

    private var closedBag: Bool {
        (s.runs[r].knowsBag & 1 != 0 && isClosed(c.bag(0))) || (s.runs[r].hasExtraBag && isClosed(c.bag(1)))
    }

    /// Under the lock of each bag: the list was taken away since the run left it.
    private var wasCancelledInBag: Bool {
        for link in 0..<2 where s.runs[r].knowsBag & 1 << UInt8(link) != 0 {
            let epoch = s.bags[c.bag(link)].epoch
            if s.runs[r].epochs[link] != epoch, s.runs[r].epochs[link] != epoch &- 1 { return true }
        }
        return false
    }

    /// One step: the gate's word and the bags' only ever go one way, so what is read is what held when the gate was read.
    private var mayGoOn: Bool {
        let gate = s.runs[r].life
        guard gate.mayGoOn, !gate.isOver, c.release != .detached else { return gate.mayGoOn }
        return !closedBag
    }

    /// A stage begins. Not after a cancel.
    private mutating func stageBegins() {
        if s.runs[r].isHalted || (s.runs[r].isSilencedByBag && c.release != .detached) { fail(.stageBegunAfterCancel) }
    }

    // MARK: Steps

    /// How many ways the next step of a thread can go.
    static func choices(_ label: Label) -> Int {
        switch label {
        case .network: 24
        case .timer: 16
        case .worker: 2
        default: 1
        }
    }

    /// - Returns: false when the thread cannot move now (or not in this way).
    mutating func step(choice: Int) -> Bool {
        guard s.threads[t].depth > 0 else { return false }
        let label = s.threads[t].frames[top]
        switch label {
        case .done: return false
        case .startAdd, .startRetain, .startReplace, .startReplaced, .startLink, .startLinked, .startRefused, .startGate:
            return start(label)
        case .insertLook, .announce, .push, .pushBlindly, .confirm, .insertRemove, .insertLookAgain, .insertLeave, .insertLeft:
            return insert(label)
        case .cancelGate, .cancelReturn, .agentLook: return cancel(label)
        case .tearDown, .destroy, .destroyed, .tearLook, .tearAborted, .tearSay: return tearDown(label)
        case .leaveOwn, .leaveClearing, .leaveRemove, .leaveRare, .leaveFurther: return leave(label)
        case .abortRead, .abortQueue, .abortTransfer, .abortWaits: return abort(label)
        case .stopLook, .stopAborted, .workEnded, .said, .retire, .retireRare, .retireAgent: return depart(label)
        case .submitLook, .submitStore, .submitEnter, .queueTimer, .queueTimerStore, .queueTimerNote, .queueTimerLook,
            .queueTimerDrop,
            .queueLook, .queueTake:
            return submit(label)
        case .granted, .slotBack, .beginLook, .beginSuspended, .beginPark, .beginParked, .beginUnpark, .beginWait, .beginStage, .beginStart,
            .beginSecondLook, .beginCancel, .beginSuspension, .begun:
            return begin(label)
        case .applyLook, .applyTell, .applyLookAgain, .suspendLook, .suspendSet, .suspendStage, .suspendUnpark, .suspendNext:
            return suspend(label)
        case .network, .finishLook, .finishDecide: return network(label, choice)
        case .againStage, .againTimer, .againStore, .againNote, .againLook, .againDrop, .againTake: return again(label)
        case .completeStage, .complete, .worker, .workStage, .workLook, .work: return work(label, choice)
        case .timer, .retryFired, .queueFired: return timer(label, choice)
        case .lane, .eventRead, .eventAdmit, .eventClosed, .eventWithdraw, .eventWithdrawn, .call, .calling, .callOut: return lane(label)
        case .endAdmit, .endClosed, .endWithdraw, .endRefused, .endLeave, .endCall, .endCalling, .endFurther,
            .endFurtherClosed, .endFurtherCancelled, .endDestroy, .endGate, .endSay, .sayCancelled:
            return ending(label)
        case .bagLock, .bagTake, .bagShut, .bagSettle, .bagSettled, .bagReturn, .background: return bag(label)
        case .joinTable, .joinInsert, .joinInserted, .joinCancelled, .joinLook, .joinLeave: return join(label)
        case .otherRelease:
            s.otherHasSlot = false
            jump(.done)
            releaseSlot()
        }
        return true
    }

    // MARK: Starting

    private mutating func start(_ label: Label) -> Bool {
        switch label {
        case .startAdd:
            let other = 1 - r
            let replaces = c.replacesOldest && s.runs[other].isKeyed
            s.threads[t].answer = replaces
            s.runs[r].isKeyed = c.replacesOldest
            if flaw == .keyBeforeRetain {
                jump(.startRetain)
                return true
            }
            hold()
            jump(replaces ? .startReplace : .startLink)
        case .startRetain:
            hold()
            jump(s.threads[t].answer ? .startReplace : .startLink)
        case .startReplace:
            s.threads[t].run = UInt8(1 - r)
            s.threads[t].reason = Reason.replaced
            call(.cancelGate, then: .startReplaced)
        case .startReplaced:
            s.threads[t].run = UInt8(1 - r)
            jump(.startLink)
        case .startLink:
            guard c.usesBag else {
                jump(.startGate)
                return true
            }
            s.threads[t].link = 0
            call(.insertLook, then: .startLinked)
        case .startLinked:
            guard !s.threads[t].answer else {
                jump(.startGate)
                return true
            }
            s.threads[t].reason = Reason.ownerReleased
            call(.cancelGate, then: .startRefused)
        case .startRefused: ret()
        case .startGate:
            guard s.runs[r].life.start() == .proceed else {
                ret()
                return true
            }
            s.runs[r].driver = .thread(t)
            if s.runs[r].isHalted { fail(.stageBegunAfterCancel) }
            if c.failsPreparation {
                s.runs[r].outcome = 2
                jump(.completeStage)
            } else {
                jump(.submitLook)
            }
        default: break
        }
        return true
    }

    private mutating func hold() {
        if s.runs[r].isHeld { fail(.heldTwice) }
        s.runs[r].isHeld = true
    }

    // MARK: Bags

    private mutating func insert(_ label: Label) -> Bool {
        let k = Int(s.threads[t].link)
        let b = c.bag(k)
        switch label {
        case .insertLook:
            if isClosed(b) {
                s.threads[t].answer = false
                ret()
            } else {
                jump(.announce)
            }
        case .announce:
            guard s.runs[r].links[k].announce() else {
                s.threads[t].answer = false
                ret()
                return true
            }
            s.runs[r].knowsBag |= 1 << UInt8(k)
            jump(.push)
        case .push:
            guard !s.bags[b].isLocked else { return false }
            if flaw == .checkThenInsert {
                // "Ended" is looked at first, and the list is taken up again.
                s.threads[t].answer = !s.bags[b].hasEnded
                jump(.pushBlindly)
                return true
            }
            pushMember(k, b, if: !s.bags[b].hasEnded)
        case .pushBlindly:
            guard !s.bags[b].isLocked else { return false }
            pushMember(k, b, if: s.threads[t].answer)
        case .confirm:
            jump(s.runs[r].links[k].confirm() == .unlink && flaw != .noHandshake ? .insertRemove : .insertLookAgain)
        case .insertRemove: call(.leaveRemove, then: .insertLookAgain)
        case .insertLookAgain:
            let isAncestors = isClosed(b) && !s.bags[b].isClosed
            s.threads[t].answer = !isAncestors
            if isAncestors { jump(.insertLeave) } else { ret() }
        case .insertLeave:
            if s.runs[r].links[k].close() == .unlink { call(.leaveRemove, then: .insertLeft) } else { jump(.insertLeft) }
        case .insertLeft:
            s.threads[t].answer = false
            ret()
        default: break
        }
        return true
    }

    private mutating func pushMember(_ k: Int, _ b: Int, if isOpen: Bool) {
        guard isOpen else {
            s.threads[t].answer = false
            // leaveBag: nothing to unlink.
            _ = s.runs[r].links[k].close()
            ret()
            return
        }
        s.runs[r].memberships[k] = .listed
        s.runs[r].epochs[k] = s.bags[b].epoch
        s.runs[r].wasListed |= 1 << UInt8(k)
        s.bags[b].count += 1
        jump(.confirm)
    }

    private mutating func leave(_ label: Label) -> Bool {
        switch label {
        case .leaveOwn:
            s.threads[t].link = 0
            close(then: .leaveRare)
        case .leaveClearing:
            // Flaw `clearedTwice`: the link is not swapped but looked at, and closed later.
            s.runs[r].links[Int(s.threads[t].link)] = .closed
            if s.threads[t].link == 0 { call(.leaveRemove, then: .leaveRare) } else { jump(.leaveRemove) }
        case .leaveRare:
            // The flag, then the table under its lock: one step, for only this run's links are in its entry.
            guard s.runs[r].hasExtraLink else {
                ret()
                return true
            }
            s.runs[r].hasExtraLink = false
            s.threads[t].link = 1
            jump(.leaveFurther)
        case .leaveFurther: close(then: .done)
        case .leaveRemove:
            let k = Int(s.threads[t].link)
            let b = c.bag(k)
            // A member that was never announced has no bag.
            guard s.runs[r].knowsBag & 1 << UInt8(k) != 0 else {
                ret()
                return true
            }
            guard !s.bags[b].isLocked else { return false }
            ret()
            // The list it was in has been taken away: its taker lets it go.
            guard s.runs[r].epochs[k] == s.bags[b].epoch else { return true }
            if s.runs[r].memberships[k] != .listed || s.bags[b].count == 0 { fail(.unlinkedTwice) } else { s.bags[b].count -= 1 }
            s.runs[r].memberships[k] = .none
            if flaw != .clearedTwice { s.runs[r].epochs[k] = s.bags[b].epoch &- 1 }
        default: break
        }
        return true
    }

    /// `leaveBag` of the current link.
    private mutating func close(then next: Label) {
        let k = Int(s.threads[t].link)
        if flaw == .clearedTwice {
            if s.runs[r].links[k] == .linked { jump(.leaveClearing) } else if next == .done { ret() } else { jump(next) }
            return
        }
        let action = s.runs[r].links[k].close()
        switch (action, next) {
        case (.unlink, .done): jump(.leaveRemove)
        case (.unlink, _): call(.leaveRemove, then: next)
        case (_, .done): ret()
        default: jump(next)
        }
    }

    private mutating func bag(_ label: Label) -> Bool {
        let b = Int(s.threads[t].bag)
        let isEnd = s.threads[t].round == 0
        switch label {
        case .bagLock:
            guard !s.bags[b].isLocked else { return false }
            s.bags[b].isLocked = true
            if isEnd {
                s.bags[b].hasEnded = true
                if !(flaw == .deferredWithoutGate && c.roles[t] == .endBagDeferred) { s.bags[b].isClosed = true }
            }
            jump(.bagTake)
        case .bagTake:
            takeList(b)
            s.bags[b].isLocked = false
            if c.roles[t] == .endBagDeferred {
                let background = c.numbers.first { c.roles[$0] == .background } ?? 0
                s.threads[background].members = s.threads[t].members
                s.threads[background].bag = UInt8(b)
                s.threads[background].reason = s.threads[t].reason
                s.threads[background].frames[0] = .bagShut
                jump(.bagReturn)
            } else {
                jump(.bagShut)
            }
        case .bagShut:
            guard s.threads[t].members != 0 else {
                jump(.bagSettle)
                return true
            }
            shutFirst()
            if flaw == .tearsDownBeforeAllGates, s.threads[t].doomed | s.threads[t].stops != 0 { jump(.bagSettle) }
        case .bagSettle:
            if s.threads[t].members != 0, s.threads[t].doomed & 7 != 0 { fail(.tornDownBeforeGates) }
            settleFirst()
        case .bagSettled: jump(.bagSettle)
        case .bagReturn:
            bagReturns(b, isEnd: isEnd)
            ret()
        case .background: return false
        default: break
        }
        return true
    }

    private mutating func takeList(_ b: Int) {
        var members: UInt8 = 0
        for run in 0..<2 {
            for link in 0..<2 where c.bag(link) == b && s.runs[run].wasListed & 1 << UInt8(link) != 0 {
                s.threads[t].past |= 1 << UInt8(run * 2 + link)
                guard s.runs[run].memberships[link] == .listed else { continue }
                members |= 1 << UInt8(run * 2 + link)
                s.runs[run].memberships[link] = .taken
            }
        }
        if s.bags[b].holdsChild {
            members |= 16
            s.bags[b].holdsChild = false
        }
        s.bags[b].count = 0
        s.bags[b].epoch &+= 1
        s.threads[t].members = members
        s.threads[t].taken |= members
    }

    private mutating func shutFirst() {
        let index = UInt8(s.threads[t].members.trailingZeroBitCount)
        s.threads[t].members &= ~(1 << index)
        guard index < 4 else {
            s.threads[t].doomed |= 16
            return
        }
        let run = Int(index / 2)
        if !keepsWork(s.threads[t].reason) { s.runs[run].mayStop = true }
        s.runs[run].memberships[Int(index % 2)] = .none
        switch s.runs[run].life.cancel(reason: s.threads[t].reason, keepsWork: keepsWork(s.threads[t].reason)) {
        case .tearDown:
            s.threads[t].doomed |= 1 << index
            noteReason(run, s.threads[t].reason)
        case .leaveToCaller:
            s.threads[t].stops |= 1 << index
            noteReason(run, s.threads[t].reason)
        case .stopWork: s.threads[t].stops |= 1 << index
        case .tooLate, .alreadyEnded: break
        }
    }

    private mutating func settleFirst() {
        let all = s.threads[t].doomed | s.threads[t].stops
        guard all != 0 else {
            jump(s.threads[t].members == 0 ? .bagReturn : .bagShut)
            return
        }
        let index = UInt8(all.trailingZeroBitCount)
        if index == 4 {
            // The child ends, with the same reason.
            s.threads[t].doomed = 0
            if flaw == .childForgotten { return }
            s.threads[t].bag = 1
            jump(.bagLock)
            return
        }
        s.threads[t].run = index / 2
        if s.threads[t].doomed & 1 << index != 0 {
            s.threads[t].doomed &= ~(1 << index)
            call(.tearDown, then: .bagSettled)
        } else {
            s.threads[t].stops &= ~(1 << index)
            call(.stopLook, then: .bagSettled)
        }
    }

    private mutating func bagReturns(_ b: Int, isEnd: Bool) {
        guard c.roles[t] != .background else { return }
        if isEnd {
            s.bags[b].endReturned = true
            if c.isChild && c.roles[t] == .endParent { s.bags[0].endReturned = true }
        }
        for run in 0..<2 {
            for link in 0..<2 {
                let isMine = c.bag(link) == b && s.runs[run].wasListed & 1 << UInt8(link) != 0
                let wasTaken = s.threads[t].taken & 1 << UInt8(run * 2 + link) != 0
                // It had left the bag for its last calls, or was in the list that was taken: no further one begins.
                if s.threads[t].past & 1 << UInt8(run * 2 + link) != 0, s.runs[run].life.isEnding { s.runs[run].isHushed = true }
                guard isEnd ? isMine : wasTaken else { continue }
                s.runs[run].isSilencedByBag = s.runs[run].isSilencedByBag || isEnd
                if wasTaken, c.roles[t] != .endBagDeferred, !s.runs[run].life.mayGoOn, s.runs[run].life.phase != .ended {
                    s.runs[run].isHalted = true
                    s.runs[run].isHushed = true
                }
            }
        }
    }

    private mutating func join(_ label: Label) -> Bool {
        switch label {
        case .joinTable:
            guard s.runs[r].isHeld || s.runs[r].retirements > 0 else { return false }
            s.runs[r].hasExtraLink = true
            s.runs[r].hasExtraBag = true
            jump(.joinInsert)
        case .joinInsert:
            // `addExtra`: a run that left the agent meanwhile drops what it has here.
            if s.runs[r].life.isRetired { dropExtras() }
            s.threads[t].link = 1
            call(.insertLook, then: .joinInserted)
        case .joinInserted:
            guard !s.threads[t].answer else {
                jump(.joinLook)
                return true
            }
            s.threads[t].reason = Reason.ownerReleased
            call(.cancelGate, then: .joinCancelled)
        case .joinCancelled: ret()
        case .joinLook:
            let gate = s.runs[r].life
            jump((gate.isOver || gate.isEnding) && flaw != .joinForgetsEnding ? .joinLeave : .done)
            if s.threads[t].frames[top] == .done { ret() }
        case .joinLeave:
            s.threads[t].link = 1
            close(then: .done)
        default: break
        }
        return true
    }

    private mutating func dropExtras() {
        s.runs[r].hasExtraLink = false
        s.runs[r].hasExtraBag = false
        s.runs[r].queueTimers &= ~s.runs[r].waits
        s.runs[r].retryTimers &= ~s.runs[r].waits
        s.runs[r].waits = 0
    }

    // MARK: Cancelling

    private mutating func cancel(_ label: Label) -> Bool {
        switch label {
        case .agentLook:
            guard s.runs[r].isHeld else { return false }
            jump(.cancelGate)
        case .cancelGate:
            guard s.runs[r].isHeld || s.runs[r].retirements > 0 || s.runs[r].isKeyed else { return false }
            let reason = s.threads[t].reason
            let keeps = flaw == .stopIsNotLatched && s.runs[r].life.isMuted ? true : keepsWork(reason)
            let wasMuted = s.runs[r].life.isMuted
            if !keepsWork(reason) { s.runs[r].mayStop = true }
            let wasAdmitted = s.runs[r].isAdmitted
            switch s.runs[r].life.cancel(reason: reason, keepsWork: keeps) {
            case .tearDown:
                s.threads[t].result = 1
                noteReason(r, reason)
                call(.tearDown, then: .cancelReturn)
            case .leaveToCaller:
                s.threads[t].result = 2
                noteReason(r, reason)
                call(flaw == .tearDownInCall ? .tearDown : .stopLook, then: .cancelReturn)
            case .tooLate:
                s.threads[t].result = 2
                jump(.cancelReturn)
            case .stopWork:
                s.threads[t].result = 3
                call(.stopLook, then: .cancelReturn)
            case .alreadyEnded:
                s.threads[t].result = 3
                if flaw == .stopIsNotLatched, wasMuted, !keepsWork(reason) {
                    call(.abortRead, then: .cancelReturn)
                } else {
                    jump(.cancelReturn)
                }
            }
            // G3: it says that a call may be running when one was admitted and has not ended, and only then.
            if (s.threads[t].result == 2) != wasAdmitted { fail(.wrongAnswer) }
        case .cancelReturn:
            if s.threads[t].result != 2 { s.runs[r].isSilent = true }
            s.runs[r].isHushed = true
            if !s.runs[r].life.isEnding, s.runs[r].life.phase != .ended {
                if !keepsWork(s.threads[t].reason) { s.runs[r].isHalted = true }
            }
            ret()
        default: break
        }
        return true
    }

    private mutating func noteReason(_ run: Int, _ reason: UInt8) {
        if s.runs[run].expectedReason == 0 { s.runs[run].expectedReason = reason + 1 }
    }

    private mutating func tearDown(_ label: Label) -> Bool {
        switch label {
        case .tearDown:
            if flaw == .leavesNoBag { jump(.destroy) } else { call(.leaveOwn, then: .destroy) }
        case .destroy:
            if s.runs[r].isInCall { fail(.destroyedDuringCall) }
            if flaw != .handlersKept {
                s.runs[r].destructions += 1
                if s.runs[r].destructions > 1 { fail(.destroyedTwice) }
            }
            s.runs[r].isDestroying = true
            jump(.destroyed)
        case .destroyed:
            s.runs[r].isDestroying = false
            jump(.tearLook)
        case .tearLook:
            if s.runs[r].life.isMuted { jump(.tearSay) } else { call(.abortRead, then: .tearSay) }
        case .tearSay:
            if c.hasOnEnd || c.hasProgress {
                push(3)
                ret()
            } else {
                jump(.said)
            }
        default: break
        }
        return true
    }

    private mutating func abort(_ label: Label) -> Bool {
        switch label {
        case .abortRead:
            s.threads[t].exchange = 0
            switch stage {
            case .queued(let number):
                s.threads[t].exchange = UInt8(number)
                jump(flaw == .cancelIgnoresQueue ? .abortWaits : .abortQueue)
            case .transferring(let number):
                s.threads[t].exchange = UInt8(number)
                jump(.abortTransfer)
            case .idle, .waiting, .waitingForDisk, .working, .parked: jump(.abortWaits)
            }
        case .abortQueue:
            removeFromQueue(s.threads[t].exchange, driver: .over)
            jump(.abortWaits)
        case .abortTransfer:
            cancelTransfer(s.threads[t].exchange)
            jump(.abortWaits)
        case .abortWaits:
            cancelTimers(s.runs[r].waits)
            ret()
        default: break
        }
        return true
    }

    /// - Returns: false when it was not waiting.
    @discardableResult
    private mutating func removeFromQueue(_ exchange: UInt8, driver: Driver) -> Bool {
        guard exchange != 0, s.runs[r].waiting == exchange else { return false }
        if driver == .over { noteStop() }
        s.runs[r].waiting = 0
        s.runs[r].driver = driver
        return true
    }

    private mutating func cancelTransfer(_ exchange: UInt8) {
        let index = Int(exchange)
        guard s.runs[r].transfers[index].phase == .running else { return }
        noteStop()
        s.runs[r].transfers[index].isCancelled = true
    }

    /// The work of a detached run stops for nobody but who asks for that.
    private mutating func noteStop() { if c.release == .detached, !s.runs[r].mayStop { fail(.detachedStopped) } }

    private mutating func cancelTimers(_ which: UInt8) {
        s.runs[r].queueTimers &= ~which
        s.runs[r].retryTimers &= ~which
        s.runs[r].waits &= ~which
    }

    private mutating func depart(_ label: Label) -> Bool {
        switch label {
        case .stopLook:
            if mayGoOn { ret() } else { call(.abortRead, then: .stopAborted) }
        case .stopAborted: jump(.workEnded)
        case .workEnded:
            if s.runs[r].life.endWork() == .retire || flaw == .retiresBeforeLastWord { jump(.retire) } else { ret() }
        case .said:
            if s.runs[r].life.sayLastWord() == .retire { jump(.retire) } else { ret() }
        case .retire:
            if s.runs[r].life.retire() == .alreadyLeft, flaw != .retiresTwice {
                ret()
                return true
            }
            jump(.retireRare)
        case .retireRare:
            dropExtras()
            jump(.retireAgent)
        case .retireAgent:
            if s.runs[r].isInCall { fail(.calledAfterRetirement) }
            if s.runs[r].life.isMuted, !s.runs[r].life.isWorkOver { fail(.leftDuringWork) }
            if !s.runs[r].isHeld { fail(.removedUnheld) }
            s.runs[r].isHeld = false
            s.runs[r].isKeyed = false
            s.runs[r].retirements += 1
            if s.runs[r].retirements > 1 { fail(.retiredTwice) }
            ret()
        default: break
        }
        return true
    }

    // MARK: Stages

    private mutating func submit(_ label: Label) -> Bool {
        switch label {
        case .submitLook:
            guard mayGoOn else {
                abandon()
                return true
            }
            stageBegins()
            jump(.submitStore)
        case .submitStore:
            if s.runs[r].driver != .thread(t) { fail(.twoDrivers) }
            s.threads[t].exchange = s.runs[r].exchange
            enter(.queued(UInt64(s.runs[r].exchange)))
            jump(.submitEnter)
        case .submitEnter:
            if !c.hasQueue || s.slotsInUse == 0 {
                if c.hasQueue { s.slotsInUse += 1 }
                jump(.done)
                call(.beginLook, then: .granted)
            } else if c.isQueueFull {
                s.runs[r].outcome = 2
                jump(.completeStage)
            } else {
                s.runs[r].waiting = s.runs[r].exchange
                s.runs[r].driver = .queue
                jump(c.hasQueueTimeout ? .queueTimer : .queueLook)
            }
        case .queueTimer:
            s.runs[r].queueTimers |= bit(s.threads[t].exchange)
            jump(.queueTimerStore)
        case .queueTimerStore:
            s.runs[r].waits |= bit(s.threads[t].exchange)
            jump(.queueTimerNote)
        case .queueTimerNote:
            if s.runs[r].life.isRetired { dropExtras() }
            jump(.queueTimerLook)
        case .queueTimerLook:
            let isMine = flaw == .queueTimerIsAnybodys ? stageIsQueued : stage == .queued(UInt64(s.threads[t].exchange))
            jump(isMine && mayGoOn ? .queueLook : .queueTimerDrop)
        case .queueTimerDrop:
            dropWait(flaw == .queueTimerIsAnybodys ? s.runs[r].waits : bit(s.threads[t].exchange))
            jump(.queueLook)
        case .queueLook:
            if mayGoOn || flaw == .queueNoSecondLook { ret() } else { jump(.queueTake) }
        case .queueTake:
            if removeFromQueue(s.threads[t].exchange, driver: .over) { enter(.idle) }
            ret()
        default: break
        }
        return true
    }

    private var stageIsQueued: Bool { if case .queued = stage { true } else { false } }

    /// `cancelWait(_:of:)`: what is there for it.
    private mutating func dropWait(_ which: UInt8) {
        cancelTimers(s.runs[r].waits & which)
    }

    private mutating func abandon() {
        noteStop()
        enter(.idle)
        s.runs[r].driver = .over
        ret()
    }

    private mutating func releaseSlot() {
        guard c.hasQueue else { return ret() }
        if s.slotsInUse == 0 { fail(.slotReleasedTwice) } else { s.slotsInUse -= 1 }
        // Whoever waits is next.
        for run in 0..<2 where s.runs[run].waiting != 0 {
            s.runs[run].waiting = 0
            s.slotsInUse += 1
            s.threads[t].run = UInt8(run)
            take(.queue)
            call(.beginLook, then: .granted)
            return
        }
        ret()
    }

    private mutating func begin(_ label: Label) -> Bool {
        switch label {
        case .granted:
            if s.threads[t].answer || flaw == .slotKept { ret() } else { jump(.slotBack) }
        case .slotBack:
            if flaw == .slotReleasedTwice, s.slotsInUse > 0 { s.slotsInUse -= 1 }
            releaseSlot()
        case .beginLook:
            guard mayGoOn else {
                s.threads[t].answer = false
                abandon()
                return true
            }
            stageBegins()
            jump(.beginSuspended)
        case .beginSuspended: jump(s.runs[r].life.isSuspended ? .beginPark : .beginWait)
        case .beginPark:
            enter(.parked)
            s.runs[r].driver = .parked
            jump(.beginParked)
        case .beginParked:
            guard s.runs[r].life.isSuspended else {
                jump(.beginUnpark)
                return true
            }
            s.threads[t].answer = false
            ret()
        case .beginUnpark:
            guard stage == .parked else {
                s.threads[t].answer = false
                ret()
                return true
            }
            enter(.idle)
            take(.parked)
            jump(.beginWait)
        case .beginWait:
            dropWait(bit(s.runs[r].exchange))
            jump(flaw == .stageAfterGate ? .beginStart : .beginStage)
        case .beginStage:
            if flaw == .stageAfterGate {
                enter(.transferring(UInt64(s.threads[t].exchange)))
                jump(.beginSuspension)
                return true
            }
            if s.runs[r].driver != .thread(t) { fail(.twoDrivers) }
            enter(.transferring(UInt64(s.runs[r].exchange)))
            jump(.beginStart)
        case .beginStart:
            let index = Int(s.runs[r].exchange)
            s.threads[t].exchange = s.runs[r].exchange
            if s.runs[r].transfers[index].phase != .none { fail(.transferStartedTwice) }
            s.runs[r].transfers[index].phase = .running
            s.runs[r].driver = .transfer
            jump(flaw == .noSecondLook ? .beginSuspension : .beginSecondLook)
        case .beginSecondLook:
            let next = flaw == .stageAfterGate ? Label.beginStage : .beginSuspension
            jump(mayGoOn ? next : .beginCancel)
        case .beginCancel:
            cancelTransfer(s.threads[t].exchange)
            jump(.beginSuspension)
        case .beginSuspension:
            if s.runs[r].life.isSuspended { call(.applyLook, then: .begun) } else { jump(.begun) }
        case .begun:
            s.threads[t].answer = true
            ret()
        default: break
        }
        return true
    }

    private mutating func suspend(_ label: Label) -> Bool {
        switch label {
        case .applyLook:
            s.threads[t].wantsSuspension = s.runs[r].life.isSuspended
            jump(.applyTell)
        case .applyTell:
            let index = Int(s.threads[t].exchange)
            if s.runs[r].transfers[index].phase == .running { s.runs[r].transfers[index].isPaused = s.threads[t].wantsSuspension }
            if flaw == .suspensionToldOnce { ret() } else { jump(.applyLookAgain) }
        case .applyLookAgain:
            guard s.runs[r].life.isSuspended != s.threads[t].wantsSuspension else {
                ret()
                return true
            }
            s.threads[t].wantsSuspension = s.runs[r].life.isSuspended
            jump(.applyTell)
        case .suspendLook:
            guard s.runs[r].isHeld || s.runs[r].retirements > 0 else { return false }
            jump(mayGoOn ? .suspendSet : .suspendNext)
        case .suspendSet:
            let value = s.threads[t].round % 2 == 0
            let action = s.runs[r].life.setSuspended(value, isDetached: c.release == .detached)
            jump(action == .changed ? .suspendStage : .suspendNext)
        case .suspendStage:
            switch stage {
            case .transferring(let number):
                s.threads[t].exchange = UInt8(number)
                call(.applyLook, then: .suspendNext)
            case .parked: jump(s.threads[t].round % 2 == 1 ? .suspendUnpark : .suspendNext)
            default: jump(.suspendNext)
            }
        case .suspendUnpark:
            guard stage == .parked else {
                jump(.suspendNext)
                return true
            }
            enter(.idle)
            take(.parked)
            call(.submitLook, then: .suspendNext)
        case .suspendNext:
            s.threads[t].round += 1
            if s.threads[t].round < c.suspensions * 2 { jump(.suspendLook) } else { ret() }
        default: break
        }
        return true
    }

    // MARK: The network

    private mutating func network(_ label: Label, _ choice: Int) -> Bool {
        switch label {
        case .network:
            let (run, index, kind) = (choice / 12, choice % 12 / 3 + 1, choice % 3)
            let transfer = s.runs[run].transfers[index]
            guard transfer.phase == .running else { return false }
            s.threads[t].run = UInt8(run)
            switch kind {
            case 0:
                guard c.hasProgress, !transfer.hasProgressed, !transfer.isPaused else { return false }
                s.runs[run].transfers[index].hasProgressed = true
                push(1)
            case 1:
                guard !transfer.isPaused else { return false }
                finishTransfer(index, result: c.script[index - 1].rawValue)
            default:
                guard transfer.isCancelled else { return false }
                finishTransfer(index, result: 100)
            }
        case .finishLook:
            guard mayGoOn else {
                abandon()
                return true
            }
            stageBegins()
            jump(.finishDecide)
        case .finishDecide:
            let response = Setup.Response(rawValue: s.threads[t].result) ?? .failure
            switch response {
            case .ok:
                s.runs[r].outcome = 1
                jump(.completeStage)
            case .okDecoded: jump(.workStage)
            case .failure:
                s.runs[r].outcome = 2
                jump(.completeStage)
            case .redirect, .retryNow:
                s.runs[r].exchange += 1
                jump(.submitLook)
            case .retryLater:
                s.runs[r].exchange += 1
                jump(.againStage)
            }
        default: break
        }
        return true
    }

    private mutating func finishTransfer(_ index: Int, result: UInt8) {
        s.runs[r].transfers[index].phase = .done
        take(.transfer)
        s.threads[t].result = result
        let run = s.threads[t].run
        call(.finishLook, then: .network)
        guard c.hasQueue else { return }
        call(.done, then: .finishLook)
        releaseSlot()
        if s.threads[t].run != run { fatalError("the model has one run where it has a queue") }
    }

    private mutating func again(_ label: Label) -> Bool {
        switch label {
        case .againStage:
            s.threads[t].exchange = s.runs[r].exchange
            enter(.waiting(UInt64(s.runs[r].exchange)))
            jump(.againTimer)
        case .againTimer:
            s.runs[r].retryTimers |= bit(s.threads[t].exchange)
            s.runs[r].driver = .timer
            jump(.againStore)
        case .againStore:
            s.runs[r].waits |= bit(s.threads[t].exchange)
            jump(.againNote)
        case .againNote:
            if s.runs[r].life.isRetired { dropExtras() }
            jump(.againLook)
        case .againLook:
            if mayGoOn { ret() } else { jump(.againDrop) }
        case .againDrop:
            dropWait(bit(s.threads[t].exchange))
            jump(.againTake)
        case .againTake:
            if flaw == .retryTailStoresIdle {
                enter(.idle)
            } else if stage == .waiting(UInt64(s.threads[t].exchange)) {
                enter(.idle)
                s.runs[r].driver = .over
            }
            ret()
        default: break
        }
        return true
    }

    private mutating func timer(_ label: Label, _ choice: Int) -> Bool {
        switch label {
        case .timer:
            let (run, kind, exchange) = (choice / 8, choice % 8 / 4, UInt8(choice % 4 + 1))
            s.threads[t].run = UInt8(run)
            s.threads[t].exchange = exchange
            if kind == 0 {
                guard s.runs[run].queueTimers & bit(exchange) != 0 else { return false }
                s.runs[run].queueTimers &= ~bit(exchange)
                call(.queueFired, then: .timer)
            } else {
                guard s.runs[run].retryTimers & bit(exchange) != 0 else { return false }
                s.runs[run].retryTimers &= ~bit(exchange)
                call(.retryFired, then: .timer)
            }
        case .queueFired:
            guard removeFromQueue(s.threads[t].exchange, driver: .thread(t)) else {
                ret()
                return true
            }
            s.runs[r].outcome = 2
            jump(.completeStage)
        case .retryFired:
            if flaw == .retryTailStoresIdle {
                s.runs[r].driver = .thread(t)
                jump(.submitLook)
                return true
            }
            guard stage == .waiting(UInt64(s.threads[t].exchange)) else {
                ret()
                return true
            }
            enter(.idle)
            take(.timer)
            jump(.submitLook)
        default: break
        }
        return true
    }

    private mutating func work(_ label: Label, _ choice: Int) -> Bool {
        switch label {
        case .workStage:
            enter(.working)
            s.runs[r].hasJob = true
            s.runs[r].driver = .job
            ret()
        case .worker:
            guard s.runs[choice].hasJob else { return false }
            s.threads[t].run = UInt8(choice)
            s.runs[choice].hasJob = false
            take(.job)
            call(.workLook, then: .worker)
        case .workLook:
            guard mayGoOn || flaw == .decodeUnchecked else {
                abandon()
                return true
            }
            stageBegins()
            jump(.work)
        case .work:
            s.runs[r].outcome = 1
            jump(.completeStage)
        case .completeStage:
            enter(.idle)
            if flaw == .lateAdmission {
                // The last call is admitted here already, and only made on the executor.
                if s.runs[r].life.admitEnding() == .refused {
                    ret()
                    return true
                }
            }
            jump(.complete)
        case .complete:
            s.runs[r].driver = .lane
            push(2)
            ret()
        default: break
        }
        return true
    }

    // MARK: The delivery executor

    private mutating func lane(_ label: Label) -> Bool {
        switch label {
        case .lane:
            guard s.laneCount > 0 else { return false }
            let item = s.lane[0]
            for index in 1..<12 { s.lane[index - 1] = s.lane[index] }
            s.lane[11] = 0
            s.laneCount -= 1
            s.threads[t].run = item >> 4
            switch item & 15 {
            case 1: call(flaw == .handlersReadEarly ? .eventRead : .eventAdmit, then: .lane)
            case 2: call(.endAdmit, then: .lane)
            default: call(.sayCancelled, then: .lane)
            }
        case .eventRead:
            if s.runs[r].isDestroying { fail(.handlersRace) }
            jump(.eventAdmit)
        case .eventAdmit:
            guard s.runs[r].life.admitCall() == .admitted else {
                s.threads[t].calls = 0
                ret()
                return true
            }
            noteAdmission()
            jump(flaw == .noSharedGate ? .call : .eventClosed)
        case .eventClosed: jump(CallAdmission(.admitted, bagHasEnded: closedBag) == .withdraw ? .eventWithdraw : .call)
        case .eventWithdraw:
            s.threads[t].calls = 0
            s.runs[r].life.withdrawAdmission(reason: Reason.ownerReleased, keepsWork: keepsWork(Reason.ownerReleased))
            s.threads[t].reason = Reason.ownerReleased
            s.runs[r].isAdmitted = false
            noteReason(r, Reason.ownerReleased)
            if flaw == .withdrawForgotten { ret() } else { jump(.tearDown) }
        case .call:
            beginCall()
            jump(.calling)
            if c.cancelsInCall {
                s.threads[t].reason = Reason.explicit
                call(.cancelGate, then: .calling)
            }
        case .calling:
            s.runs[r].isInCall = false
            s.threads[t].calls += 1
            if flaw == .secondEventCallNotAsked, s.threads[t].calls < c.closures {
                noteAdmission()
                jump(.call)
            } else {
                jump(.callOut)
            }
        case .callOut:
            s.runs[r].isAdmitted = false
            let isLast = s.threads[t].calls == c.closures
            if isLast { s.threads[t].calls = 0 }
            if s.runs[r].life.endCall() == .tearDown {
                s.threads[t].calls = 0
                jump(.tearDown)
            } else if isLast {
                ret()
            } else {
                jump(.eventAdmit)
            }
        default: break
        }
        return true
    }

    private mutating func noteAdmission() {
        s.runs[r].isAdmitted = true
        s.runs[r].wasAdmittedLate = s.runs[r].isHushed || s.runs[r].isSilencedByBag
    }

    private mutating func beginCall() {
        if s.runs[r].isInCall { fail(.callsOverlap) }
        if s.runs[r].isSilent { fail(.calledAfterCancel) }
        if s.runs[r].wasAdmittedLate { fail(s.runs[r].isHushed ? .calledAfterCancel : .calledAfterBagEnd) }
        if s.runs[r].retirements > 0 { fail(.calledAfterRetirement) }
        if s.runs[r].isDestroying || s.runs[r].destructions > 0 { fail(.handlersRace) }
        s.runs[r].isInCall = true
    }

    private mutating func ending(_ label: Label) -> Bool {
        switch label {
        case .endAdmit:
            if flaw == .gateDropped {
                // Looks whether it may, and goes through later.
                jump(s.runs[r].life.phase == .open ? .endClosed : .endRefused)
                return true
            }
            if flaw == .lateAdmission {
                // What counts is when it would have had to be admitted.
                noteAdmission()
                if s.runs[r].life.isEnding { jump(.endLeave) } else { jump(.endRefused) }
                return true
            }
            guard s.runs[r].life.admitEnding() == .admitted else {
                jump(.endRefused)
                return true
            }
            noteAdmission()
            jump(flaw == .noSharedGate ? .endLeave : .endClosed)
        case .endClosed:
            let admission = CallAdmission(.admitted, bagHasEnded: closedBag)
            jump(admission == .withdraw && flaw != .gateDropped ? .endWithdraw : .endLeave)
        case .endWithdraw:
            s.runs[r].life.withdrawAdmission(reason: Reason.ownerReleased, keepsWork: keepsWork(Reason.ownerReleased))
            s.threads[t].reason = Reason.ownerReleased
            s.runs[r].isAdmitted = false
            noteReason(r, Reason.ownerReleased)
            if flaw == .withdrawForgotten { ret() } else { call(.tearDown, then: .endRefused) }
        case .endRefused:
            // `finishMuted`, for a detached run that came to its own end.
            if s.runs[r].life.isMuted { jump(.workEnded) } else { ret() }
        case .endLeave:
            if flaw == .leavesNoBagAtEnding { jump(.endCall) } else { call(.leaveOwn, then: .endCall) }
        case .endCall:
            beginCall()
            if s.runs[r].memberships[0] == .listed { fail(.calledInBag) }
            s.threads[t].calls += 1
            if s.threads[t].calls > 1 {
                s.runs[r].furtherCalls += 1
            } else if s.runs[r].outcome == 1 {
                s.runs[r].successes += 1
            } else {
                s.runs[r].failures += 1
            }
            if s.runs[r].outcome == 0 { fail(.calledWithoutOutcome) }
            if s.runs[r].successes + s.runs[r].failures > 1 { fail(.successTwice) }
            jump(.endCalling)
            if c.cancelsInCall {
                s.threads[t].reason = Reason.explicit
                call(.cancelGate, then: .endCalling)
            }
        case .endCalling:
            s.runs[r].isInCall = false
            guard s.threads[t].calls < c.closures else {
                jump(.endDestroy)
                return true
            }
            if flaw == .secondCallNotAsked {
                noteAdmission()
                jump(.endCall)
            } else {
                jump(.endFurther)
            }
        case .endFurther:
            guard s.runs[r].life.admitFurtherCall() == .admitted else {
                jump(.endDestroy)
                return true
            }
            noteAdmission()
            jump(.endFurtherClosed)
        case .endFurtherClosed:
            let admission = CallAdmission(further: .admitted, bagHasEnded: closedBag, wasCancelledInBag: false)
            jump(admission == .call ? .endFurtherCancelled : .endDestroy)
        case .endFurtherCancelled:
            guard !s.bags[0].isLocked, !s.bags[1].isLocked else { return false }
            let isCancelled = wasCancelledInBag && flaw != .furtherCallIgnoresCancelAll
            let admission = CallAdmission(further: .admitted, bagHasEnded: false, wasCancelledInBag: isCancelled)
            jump(admission == .call ? .endCall : .endDestroy)
        case .endDestroy:
            s.threads[t].calls = 0
            s.runs[r].destructions += 1
            if s.runs[r].destructions > 1 { fail(.destroyedTwice) }
            jump(.endGate)
        case .endGate:
            s.runs[r].isAdmitted = false
            if flaw == .gateDropped { s.runs[r].life.phase = .ended } else { s.runs[r].life.end() }
            jump(.endSay)
        case .endSay:
            sayEnd(s.runs[r].outcome == 1 ? Reason.succeeded : Reason.failed)
            jump(.retire)
        case .sayCancelled:
            if s.runs[r].successes + s.runs[r].failures > 0 { fail(.twoEndings) }
            if s.runs[r].expectedReason != s.runs[r].life.reason + 1 { fail(.wrongReason) }
            sayEnd(s.runs[r].life.reason)
            jump(.said)
        default: break
        }
        return true
    }

    private mutating func sayEnd(_ reason: UInt8) {
        guard c.hasOnEnd else { return }
        if s.runs[r].retirements > 0 { fail(.calledAfterRetirement) }
        if s.runs[r].destructions == 0 { fail(.neverDestroyed) }
        s.runs[r].ends += 1
        s.runs[r].endReason = reason
        if s.runs[r].ends > 1 { fail(.onEndTwice) }
    }
}
