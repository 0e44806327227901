import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct AdmissionQueueTests {
    private let queue = AdmissionQueue(limits: ConnectionLimits(), timing: SystemTiming())

    /// A host forgotten while it was idle is limited in streams again as soon as it speaks HTTP/2 again.
    @Test func aForgottenHostGetsItsStreamsBack() {
        queue.noteVersion("2", of: shared(1))
        #expect(queue.streamLimit(ofOrigin: 1) == 100)
        for other in 2..<400 as Range<UInt32> { queue.noteVersion("2", of: shared(other)) }
        #expect(queue.streamLimit(ofOrigin: 1) == nil)
        queue.noteVersion("2", of: shared(1))
        #expect(queue.streamLimit(ofOrigin: 1) == 100)
        queue.noteVersion("1.1", of: shared(900))
        #expect(queue.streamLimit(ofOrigin: 900) == nil)
    }

    /// Only what could have been HTTP/2 and is not says that the host has fallen back.
    @Test func aHostThatFallsBackHasConnectionsAgain() {
        queue.noteVersion("2", of: shared(1))
        queue.noteVersion("", of: shared(1))
        queue.noteVersion("1.1", of: AdmissionKey(origin: 1, sharesConnection: false))
        #expect(queue.streamLimit(ofOrigin: 1) == 100)
        queue.noteVersion("1.1", of: shared(1))
        #expect(queue.streamLimit(ofOrigin: 1) == nil)
    }

    private func shared(_ origin: UInt32) -> AdmissionKey { AdmissionKey(origin: origin, sharesConnection: true) }

    /// Budgets that say nothing are not kept for each host ever visited.
    @Test func fullBudgetsAreDropped() {
        for origin in 0..<50_000 as Range<UInt32> { queue.payIn(origin) }
        #expect(queue.budgetCount <= 1025)
        queue.withdrawRetry(7, now: .zero)
        #expect(queue.budgetCount <= 1026)
    }
}
