import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct AdmissionQueueTests {
    private let queue = AdmissionQueue(limits: ConnectionLimits(), timing: SystemTiming())

    /// A host forgotten while it was idle is limited in streams again as soon as it speaks HTTP/2 again.
    @Test func aForgottenHostGetsItsStreamsBack() {
        queue.noteVersion("2", origin: 1)
        let streams = queue.limit(ofHost: 1)
        #expect(streams != nil)
        for other in 2..<400 as Range<UInt32> { queue.noteVersion("2", origin: other) }
        #expect(queue.limit(ofHost: 1) == nil)
        queue.noteVersion("2", origin: 1)
        #expect(queue.limit(ofHost: 1) == streams)
        queue.noteVersion("1.1", origin: 900)
        #expect(queue.limit(ofHost: 900) == nil)
    }

    /// Budgets that say nothing are not kept for each host ever visited.
    @Test func fullBudgetsAreDropped() {
        for origin in 0..<50_000 as Range<UInt32> { queue.payIn(origin) }
        #expect(queue.budgetCount <= 1025)
        queue.withdrawRetry(7, now: .zero)
        #expect(queue.budgetCount <= 1026)
    }
}
