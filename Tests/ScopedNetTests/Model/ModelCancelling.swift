#if canImport(ScopedNet)
@testable import ScopedNet
#endif

/// Cancels, tear-downs and departures: `ManagedRun` and `ManagedRun+Departure`.
extension Machine {
    mutating func cancel(_ label: Label) -> Bool {
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

    mutating func noteReason(_ run: Int, _ reason: UInt8) {
        if s.runs[run].expectedReason == 0 { s.runs[run].expectedReason = reason + 1 }
    }

    mutating func tearDown(_ label: Label) -> Bool {
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

    mutating func abort(_ label: Label) -> Bool {
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
    mutating func removeFromQueue(_ exchange: UInt8, driver: Driver) -> Bool {
        guard exchange != 0, s.runs[r].waiting == exchange else { return false }
        if driver == .over { noteStop() }
        s.runs[r].waiting = 0
        s.runs[r].driver = driver
        return true
    }

    mutating func cancelTransfer(_ exchange: UInt8) {
        let index = Int(exchange)
        guard s.runs[r].transfers[index].phase == .running else { return }
        noteStop()
        s.runs[r].transfers[index].isCancelled = true
    }

    /// The work of a detached run stops for nobody but who asks for that.
    mutating func noteStop() { if c.release == .detached, !s.runs[r].mayStop { fail(.detachedStopped) } }

    mutating func cancelTimers(_ which: UInt8) {
        s.runs[r].queueTimers &= ~which
        s.runs[r].waitTimers &= ~which
        s.runs[r].waitPaths &= ~which
        s.runs[r].waits &= ~which
    }

    mutating func depart(_ label: Label) -> Bool {
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
}
