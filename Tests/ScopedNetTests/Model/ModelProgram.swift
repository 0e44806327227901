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
    // awaitRate, awaitSlot
    case submitLook, submitStore, submitEnter, queueTimer, queueTimerStore, queueTimerNote, queueTimerLook, queueTimerDrop,
        queueLook
    case queueTake
    // AdmissionQueue.grant and beginTransfer
    case granted, slotBack
    case beginLook, beginSuspended, beginPark, beginParked, beginUnpark, beginWait, beginStage, beginStart, beginSecondLook, beginCancel
    case beginSuspension, begun
    case applyLook, applyTell, applyLookAgain
    // The network: didFinishWith, judge
    case network, finishLook, finishDecide
    // WaitingRun.wait
    case waitStage, waitArm, waitStore, waitNote, waitLook, waitDrop, waitTake
    // deliver
    case completeStage, complete
    case worker, workStage, workLook, work
    case timer, path, waitFired, queueFired
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
    case staleExchangeAccepted
}

/// Takes one atomic step. This file says who does what next; what a step does stands in `ModelBags`, `ModelCancelling`, `ModelSteps`, `ModelStages`
/// and `ModelDelivery`.
struct Machine {
    var s: ModelState
    let c: Setup
    let flaw: Flaw
    let t: Int

    // MARK: Control

    var r: Int { Int(s.threads[t].run) }
    var top: Int { Int(s.threads[t].depth) - 1 }

    mutating func jump(_ label: Label) { s.threads[t].frames[top] = label }

    mutating func call(_ label: Label, then next: Label) {
        jump(next)
        guard s.threads[t].depth < 9 else { fatalError("the model's stack is too small") }
        s.threads[t].frames[Int(s.threads[t].depth)] = label
        s.threads[t].depth += 1
    }

    mutating func ret() {
        s.threads[t].frames[top] = .done
        s.threads[t].depth -= 1
    }

    mutating func fail(_ violation: Violation) { if s.violation == .none { s.violation = violation } }

    mutating func take(_ expected: Driver) {
        if s.runs[r].driver != expected { fail(.twoDrivers) }
        s.runs[r].driver = .thread(t)
    }

    mutating func push(_ kind: UInt8) {
        guard s.laneCount < 12 else { fatalError("the model's lane is too short") }
        s.lane[Int(s.laneCount)] = UInt8(r) << 4 | kind
        s.laneCount += 1
    }

    // MARK: What the engine computes

    func bit(_ exchange: UInt8) -> UInt8 { 1 << exchange }
    var stage: RunStage { RunStage(word: UInt64(s.runs[r].stage)) }
    mutating func enter(_ stage: RunStage) { s.runs[r].stage = UInt8(truncatingIfNeeded: stage.word) }

    func keepsWork(_ reason: UInt8) -> Bool {
        c.release == .detached && (reason == Reason.ownerReleased || reason == Reason.requestReleased)
    }

    func isClosed(_ bag: Int) -> Bool { s.bags[bag].isClosed || (c.isChild && bag == 1 && s.bags[0].isClosed) }

    var closedBag: Bool {
        (s.runs[r].knowsBag & 1 != 0 && isClosed(c.bag(0))) || (s.runs[r].hasExtraBag && isClosed(c.bag(1)))
    }

    /// Under the lock of each bag: the list was taken away since the run left it.
    var wasCancelledInBag: Bool {
        for link in 0..<2 where s.runs[r].knowsBag & 1 << UInt8(link) != 0 {
            let epoch = s.bags[c.bag(link)].epoch
            if s.runs[r].epochs[link] != epoch, s.runs[r].epochs[link] != epoch &- 1 { return true }
        }
        return false
    }

    /// One step: the gate's word and the bags' only ever go one way, so what is read is what held when the gate was read.
    var mayGoOn: Bool {
        let gate = s.runs[r].life
        guard gate.mayGoOn, !gate.isOver, c.release != .detached else { return gate.mayGoOn }
        return !closedBag
    }

    /// A stage begins. Not after a cancel.
    mutating func stageBegins() {
        if s.runs[r].isHalted || (s.runs[r].isSilencedByBag && c.release != .detached) { fail(.stageBegunAfterCancel) }
    }

    // MARK: Steps

    /// How many ways the next step of a thread can go.
    static func choices(_ label: Label) -> Int {
        switch label {
        case .network: 24
        case .timer: 32
        case .path: 16
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
        case .waitStage, .waitArm, .waitStore, .waitNote, .waitLook, .waitDrop, .waitTake: return wait(label)
        case .completeStage, .complete, .worker, .workStage, .workLook, .work: return work(label, choice)
        case .timer, .path, .waitFired, .queueFired: return timer(label, choice)
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

    mutating func start(_ label: Label) -> Bool {
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
            advance(
                c.failsPreparation ? .failed : .began(c.intercepts ? .call : c.isRefresh ? .refresh : c.claimsTarget ? .download : .request)
            )
        default: break
        }
        return true
    }

    mutating func hold() {
        if s.runs[r].isHeld { fail(.heldTwice) }
        s.runs[r].isHeld = true
    }
}
