#if canImport(ScopedNet)
@testable import ScopedNet
#endif

/// The callback executor: `ManagedRun+Delivery`, `ManagedRun+Calls` and `RunDelivery`.
extension Machine {
    mutating func lane(_ label: Label) -> Bool {
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

    mutating func noteAdmission() {
        s.runs[r].isAdmitted = true
        s.runs[r].wasAdmittedLate = s.runs[r].isHushed || s.runs[r].isSilencedByBag
    }

    mutating func beginCall() {
        if s.runs[r].isInCall { fail(.callsOverlap) }
        if s.runs[r].isSilent { fail(.calledAfterCancel) }
        if s.runs[r].wasAdmittedLate { fail(s.runs[r].isHushed ? .calledAfterCancel : .calledAfterBagEnd) }
        if s.runs[r].retirements > 0 { fail(.calledAfterRetirement) }
        if s.runs[r].isDestroying || s.runs[r].destructions > 0 { fail(.handlersRace) }
        s.runs[r].isInCall = true
    }

    mutating func ending(_ label: Label) -> Bool {
        switch label {
        case .endAdmit:
            if flaw == .gateDropped {
                // Looks whether it may, and goes through later.
                jump(s.runs[r].life.phase == .open ? .endClosed : .endRefused)
                return true
            }
            if flaw == .lateAdmission {
                // It counts when it would have had to be admitted.
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

    mutating func sayEnd(_ reason: UInt8) {
        guard c.hasOnEnd else { return }
        if s.runs[r].retirements > 0 { fail(.calledAfterRetirement) }
        if s.runs[r].destructions == 0 { fail(.neverDestroyed) }
        s.runs[r].ends += 1
        s.runs[r].endReason = reason
        if s.runs[r].ends > 1 { fail(.onEndTwice) }
    }
}
