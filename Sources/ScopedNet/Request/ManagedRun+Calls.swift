import Synchronization

/// The admission of each call: one step of the lifecycle, and then a look at the bags.
extension ManagedRun {
    func admitCall(isFirst: Bool) -> Bool {
        StepDoor.pass(isFirst ? .beforeCall : .betweenCalls, id)
        let admission = step { $0.admitCall() }
        if admission == .admitted { StepDoor.pass(.callAdmitted, id) }
        return begins(CallAdmission(admission, bagHasEnded: admission == .admitted && closedBag != nil))
    }

    func endCall() -> Bool {
        StepDoor.pass(.callEnded, id)
        switch step({ $0.endCall() }) {
        case .goOn: return true
        case .tearDown:
            tearDown(reason)
            return false
        }
    }

    func admitEnding() -> Bool {
        StepDoor.pass(.beforeAdmission, id)
        let admission = step { $0.admitEnding() }
        if admission == .admitted { StepDoor.pass(.afterAdmission, id) }
        return begins(CallAdmission(admission, bagHasEnded: admission == .admitted && closedBag != nil))
    }

    func admitFurtherCall() -> Bool {
        StepDoor.pass(.betweenCalls, id)
        let admission = lifecycle.admitFurtherCall()
        guard admission == .admitted else { return false }
        StepDoor.pass(.furtherCallAdmitted, id)
        return CallAdmission(further: admission, bagHasEnded: closedBag != nil, wasCancelledInBag: wasCancelledInBag) == .call
    }

    func endGate() { step { $0.end() } }

    private func begins(_ admission: CallAdmission) -> Bool {
        switch admission {
        case .call: return true
        case .refuse: return false
        case .withdraw:
            withdraw()
            return false
        }
    }

    /// A bag's end is one store, which every admission looks at after its own step.
    private func withdraw() {
        let reason = closedBag?.endReason ?? .ownerReleased
        let keepsWork = keepsWork(reason)
        StepDoor.pass(.gateAsked, id)
        step { $0.withdrawAdmission(reason: reason.name.rawValue, keepsWork: keepsWork) }
        // As in `closeGate`.
        if keepsWork, !self.keepsWork(reason) { _ = step { $0.cancel(reason: reason.name.rawValue) } }
        tearDown(self.reason)
    }

    /// True while a hook may be called: neither the run nor a bag it is in has been cancelled, whatever goes on for others.
    var mayCall: Bool {
        switch lifecycle.phase {
        case .open, .calling: closedBag == nil
        case .created, .cancelRequested, .ending, .silenced, .ended, .cancelled: false
        }
    }
}
