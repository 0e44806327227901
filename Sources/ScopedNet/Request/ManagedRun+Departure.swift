import Glibc
import Synchronization

/// The departure of a run from its agent.
extension ManagedRun {
    /// After a cancellation: nothing is left to be called.
    func lastWordSaid(onLane: Bool = false) {
        if noteLastWord() { retire(onLane: onLane) }
    }

    /// - Returns: true when the run is to leave the agent now.
    func noteLastWord() -> Bool { step { $0.sayLastWord() } == .retire }

    /// Before the run leaves its bags for its last calls.
    func beginDelivery() {
        if let bag {
            step { $0.count() }
            bag.beginDelivery()
        }
        beginDeliveryInFurtherBags()
    }

    /// The work of a muted run came to its end or was stopped.
    func workEnded(onLane: Bool = false) {
        if step({ $0.endWork() }) == .retire { retire(onLane: onLane) }
    }

    /// The run's last step: no user code of it is pending.
    ///
    /// On a delivery executor the agent's count is settled by its `DeliveryLane`, after it has let the run
    /// go: when `waitUntilIdle()` returns the run is gone too.
    func retire(onLane: Bool = false) {
        guard noteRetired() else { return }
        agent.remove(self)
        if onLane {
            settler.store(UInt(pthread_self()), ordering: .sequentiallyConsistent)
        } else {
            agent.settle(id)
        }
    }

    package func takeSettling() -> (agent: any SettlingAgent, id: UInt64)? {
        let here = UInt(pthread_self())
        guard settler.load(ordering: .relaxed) == here,
            settler.compareExchange(expected: here, desired: 0, ordering: .sequentiallyConsistent).exchanged
        else { return nil }
        return (agent, id)
    }

    /// - Returns: true for the one who is to take the run out of the agent.
    func noteRetired() -> Bool {
        StepDoor.pass(.beforeEnd, id)
        guard step({ $0.retire() }) == .leave else { return false }
        if lifecycle.isCounted { bag?.endDelivery() }
        endLeading()
        releaseTarget()
        dropExtras()
        return true
    }
}
