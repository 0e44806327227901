import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct WaitSetTests {
    private final class Item: Cancellable {
        func cancel() { Issue.record("a set cancels nothing") }
    }

    @Test func eachBelongsToOneWait() {
        var (waits, items) = (WaitSet(), (0..<4).map { _ in Item() })
        waits.set(items[0], .timer, of: 1)
        waits.set(items[1], .timer, of: 2)
        waits.set(items[2], .path, of: 1)
        #expect(waits.take(.path, of: 2) == nil)
        #expect(waits.take(.timer, of: 2) as? Item === items[1])
        #expect(waits.take(.timer, of: 2) == nil, "it was taken")
        #expect(waits.takeWait(1).count == 2 && waits.isEmpty)
        items = []
    }

    @Test func queueLimitRatePlaceAndInterceptorsOutliveTheWait() {
        var waits = WaitSet()
        for kind in WaitSet.Kind.allCases { waits.set(Item(), kind, of: 7) }
        #expect(waits.takeWait(7).count == WaitSet.Kind.allCases.count - 5)
        for kind in [WaitSet.Kind.queue, .permit, .call, .exchange, .reader] { #expect(waits.take(kind, of: 7) != nil) }
        #expect(waits.isEmpty)
    }

    @Test func allAreTakenAtTheEnd() {
        var waits = WaitSet()
        for number in 1...3 as ClosedRange<UInt64> { waits.set(Item(), .answer, of: number) }
        #expect(waits.takeAll().count == 3 && waits.isEmpty && waits.takeWait(1).isEmpty)
    }
}
