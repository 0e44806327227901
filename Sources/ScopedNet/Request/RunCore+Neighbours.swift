import Synchronization

// A run, as its neighbours see it.

extension RequestAgent {
    package func liveRuns() -> [RunCore] { liveEntries().compactMap { $0 as? RunCore } }
}

extension RunCore: EventSource {
    package var wantsProgress: Bool { exchanges.wantsProgress }
}

extension RunCore: AdmissionWaiter {
    package var queuedExchange: TransferID? {
        guard case .queued(let number) = stage else { return nil }
        return TransferID(number: number)
    }

    package func didLeaveQueue() { _ = leave(stage, for: .idle) }
}

extension RunCore: CoalescedMember {
    func setFollowersLevel(_ level: UInt8) -> Bool {
        guard followersLevel.exchange(level, ordering: .sequentiallyConsistent) != level else { return false }
        session.admission.reprioritize(self)
        return true
    }

    func followersHaveGone() {
        // Also one whose callback is running still: it is about to be cancelled.
        if lifecycle.goesOn { _ = cancel(reason) }
    }
}

extension RunCore: RateWaiter {}
extension RunCore: SessionBound {}
