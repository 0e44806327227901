#if canImport(ScopedNet)
@testable import ScopedNet
#endif

/// The stages in which work can be taken back: `QueuedRun`, `WaitingRun`, and those who end what is waited for.
extension Machine {
    mutating func submit(_ label: Label) -> Bool {
        switch label {
        case .submitLook:
            guard mayGoOn else {
                abandon()
                return true
            }
            stageBegins()
            advance(.done)
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
                advance(.failed)
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

    var stageIsQueued: Bool { if case .queued = stage { true } else { false } }

    /// `cancelWait(_:of:)`: what is there for it.
    mutating func dropWait(_ which: UInt8) {
        cancelTimers(s.runs[r].waits & which)
    }

    mutating func abandon() {
        noteStop()
        enter(.idle)
        s.runs[r].driver = .over
        ret()
    }

    mutating func releaseSlot() {
        guard c.hasQueue else { return ret() }
        if s.slotsInUse == 0 { fail(.slotReleasedTwice) } else { s.slotsInUse -= 1 }
        // The one that waits is next.
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

    mutating func begin(_ label: Label) -> Bool {
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
        case .beginSuspended: if s.runs[r].life.isSuspended { advance(.suspended) } else { jump(.beginWait) }
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
            advance(s.runs[r].machine.step == .park ? .resumed(hasSlot: true) : .done)
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

    mutating func suspend(_ label: Label) -> Bool {
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
            call(.done, then: .suspendNext)
            advance(.resumed(hasSlot: false))
        case .suspendNext:
            s.threads[t].round += 1
            if s.threads[t].round < c.suspensions * 2 { jump(.suspendLook) } else { ret() }
        default: break
        }
        return true
    }

    // MARK: The network

    mutating func network(_ label: Label, _ choice: Int) -> Bool {
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
            s.runs[r].passed = 1 << Passed.received.rawValue
            advance(.done)
        case .finishDecide: judge()
        default: break
        }
        return true
    }

    mutating func finishTransfer(_ index: Int, result: UInt8) {
        s.runs[r].transfers[index].phase = .done
        take(.transfer)
        s.runs[r].response = result
        let run = s.threads[t].run
        call(.finishLook, then: .network)
        guard c.hasQueue else { return }
        call(.done, then: .finishLook)
        releaseSlot()
        if s.threads[t].run != run { fatalError("the model has one run where it has a queue") }
    }

    mutating func wait(_ label: Label) -> Bool {
        let number = s.threads[t].exchange
        switch label {
        case .waitStage:
            s.threads[t].exchange = waitNumber
            enter(waitStage(waitNumber))
            jump(.waitArm)
        case .waitArm:
            s.runs[r].waitTimers |= bit(number)
            if c.hasPath { s.runs[r].waitPaths |= bit(number) }
            s.runs[r].driver = .timer
            jump(.waitStore)
        case .waitStore:
            s.runs[r].waits |= bit(number)
            jump(.waitNote)
        case .waitNote:
            if s.runs[r].life.isRetired { dropExtras() }
            jump(.waitLook)
        case .waitLook:
            // Over already, it leaves nothing of its own behind.
            if mayGoOn { isWaiting(number) ? ret() : jump(.waitDrop) } else { jump(.waitDrop) }
        case .waitDrop:
            dropWait(bit(number))
            if mayGoOn { ret() } else { jump(.waitTake) }
        case .waitTake:
            if flaw == .retryTailStoresIdle {
                enter(.idle)
            } else if isWaiting(number) {
                enter(.idle)
                s.runs[r].driver = .over
            }
            ret()
        default: break
        }
        return true
    }

    /// The wait between two attempts has the number of the exchange; others have one of their own.
    var waitNumber: UInt8 {
        switch s.runs[r].machine.step {
        case .claimTarget: 5
        case .finishPart: 6
        case .serve, .placeFile: 7
        // With interceptors there is one exchange.
        case .interceptCall: 2
        case .interceptExchange: 3
        case .leaveExchange: 4
        default: s.runs[r].exchange
        }
    }

    func waitStage(_ number: UInt8) -> RunStage { number > 4 ? .waitingForDisk(UInt64(number)) : .waiting(UInt64(number)) }

    func isWaiting(_ number: UInt8) -> Bool {
        if flaw == .staleExchangeAccepted, case .waiting = stage { return true }
        return stage == waitStage(number)
    }

    mutating func timer(_ label: Label, _ choice: Int) -> Bool {
        let (run, kind, number) = (choice / 8 % 2, choice / 16, UInt8(choice % 8))
        switch label {
        case .timer:
            s.threads[t].run = UInt8(run)
            s.threads[t].exchange = number
            if kind == 0 {
                guard s.runs[run].queueTimers & bit(number) != 0 else { return false }
                s.runs[run].queueTimers &= ~bit(number)
                call(.queueFired, then: .timer)
            } else {
                guard s.runs[run].waitTimers & bit(number) != 0 else { return false }
                s.runs[run].waitTimers &= ~bit(number)
                call(.waitFired, then: .timer)
            }
        case .path:
            guard s.runs[run].waitPaths & bit(number) != 0 else { return false }
            s.threads[t].run = UInt8(run)
            s.threads[t].exchange = number
            s.runs[run].waitPaths &= ~bit(number)
            call(.waitFired, then: .path)
        case .queueFired:
            guard removeFromQueue(s.threads[t].exchange, driver: .thread(t)) else {
                ret()
                return true
            }
            advance(.failed)
        case .waitFired:
            if flaw == .retryTailStoresIdle {
                s.runs[r].driver = .thread(t)
                advance(.done)
                return true
            }
            guard isWaiting(s.threads[t].exchange) else {
                ret()
                return true
            }
            enter(.idle)
            // Whatever else would end this wait goes with it.
            dropWait(bit(s.threads[t].exchange))
            take(.timer)
            waitEnded()
        default: break
        }
        return true
    }

    mutating func work(_ label: Label, _ choice: Int) -> Bool {
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
            switch s.runs[r].machine.step {
            case .serveFirst: advance(.done)
            case .replaceError: serveStored()
            default:
                s.runs[r].outcome = 1
                advance(.decoded)
            }
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
}
