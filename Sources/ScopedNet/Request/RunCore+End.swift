import Glibc
import Synchronization

/// How the run leaves the agent.
extension RunCore {
    // A cancelled run leaves the agent when its last word is said and no work goes on; whichever is last takes it out.
    private static let said: UInt8 = 1
    private static let workOver: UInt8 = 2
    /// Its bag counts it among those that are being delivered.
    private static let counted: UInt8 = 4

    /// After a cancellation: nothing is left to be called.
    func lastWordSaid(onLane: Bool = false) {
        if noteLastWord() { retire(onLane: onLane) }
    }

    /// - Returns: true when the run is to leave the agent now.
    func noteLastWord() -> Bool {
        let parts = departure.bitwiseOr(Self.said, ordering: .sequentiallyConsistent).newValue
        return parts & Self.workOver != 0 || !isMuted
    }

    /// Before the run leaves its bags for its last calls.
    func beginDelivery() {
        if let bag {
            departure.bitwiseOr(Self.counted, ordering: .sequentiallyConsistent)
            bag.beginDelivery()
        }
        beginDeliveryInFurtherBags()
    }

    /// The work of a muted run came to its end or was stopped.
    func workEnded(onLane: Bool = false) {
        let parts = departure.bitwiseOr(Self.workOver, ordering: .sequentiallyConsistent).newValue
        if parts & Self.said != 0 { retire(onLane: onLane) }
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

    package func takeSettling() -> (agent: RequestAgent, id: UInt64)? {
        let here = UInt(pthread_self())
        guard settler.load(ordering: .relaxed) == here,
            settler.compareExchange(expected: here, desired: 0, ordering: .sequentiallyConsistent).exchanged
        else { return nil }
        return (agent, id)
    }

    /// - Returns: true for the one who is to take the run out of the agent.
    func noteRetired() -> Bool {
        StepDoor.pass(.beforeEnd, id)
        guard !retired.exchange(true, ordering: .sequentiallyConsistent) else { return false }
        if departure.load(ordering: .sequentiallyConsistent) & Self.counted != 0 { bag?.endDelivery() }
        endFlight()
        releaseTarget()
        dropExtras()
        return true
    }
}
