#if canImport(ScopedNet)
@testable import ScopedNet
#endif

/// Bags, and who is in them: `BagStorage`, `ScopeMember` and `ManagedRun+Bags`.
extension Machine {
    mutating func insert(_ label: Label) -> Bool {
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

    mutating func pushMember(_ k: Int, _ b: Int, if isOpen: Bool) {
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

    mutating func leave(_ label: Label) -> Bool {
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
    mutating func close(then next: Label) {
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

    mutating func bag(_ label: Label) -> Bool {
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

    mutating func takeList(_ b: Int) {
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

    mutating func shutFirst() {
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

    mutating func settleFirst() {
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

    mutating func bagReturns(_ b: Int, isEnd: Bool) {
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

    mutating func join(_ label: Label) -> Bool {
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

    mutating func dropExtras() {
        s.runs[r].hasExtraLink = false
        s.runs[r].hasExtraBag = false
        cancelTimers(s.runs[r].waits)
    }
}
