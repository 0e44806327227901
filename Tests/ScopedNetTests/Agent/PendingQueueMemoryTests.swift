import CleanSlate
import Testing

@testable import ScopedNet

/// Which hosts a queue remembers: those with something to do, and the latest idle ones, by which of them has kept its own limit.
@Suite(.leavesNothing) struct PendingQueueMemoryTests {
    private typealias Queue = PendingQueue<Int, String>

    /// One more than is remembered.
    private let many = HostTable<String>.maxIdle + 1

    private func queue(total: Int = 64, waiting: Int = 1_000) -> Queue {
        var queue = Queue(limits: .init(total: total, waiting: waiting))
        _ = queue.setLimit(host: "a", 3, now: .zero)
        return queue
    }

    @Test func aLimitOfItsOwnIsKnown() {
        var queue = queue()
        #expect(queue.limit(ofHost: "a") == 3)
        #expect(queue.limit(ofHost: "b") == nil)
        _ = queue.submit(1, host: "b", priority: .normal, now: .zero)
        #expect(queue.limit(ofHost: "b") == nil)
    }

    @Test func hostsThatHaveFinishedPushOutTheOldest() {
        var queue = queue()
        for number in 0..<many {
            _ = queue.submit(number, host: "h\(number)", priority: .normal, now: .zero)
            _ = queue.finished(host: "h\(number)", now: .zero)
        }
        #expect(queue.limit(ofHost: "a") == nil)
    }

    @Test func soDoHostsThatWereRefused() {
        var queue = queue(total: 0, waiting: 0)
        for number in 0..<many {
            let answer = queue.submit(number, host: "h\(number)", priority: .normal, now: .zero)
            #expect(answer == .refused)
        }
        #expect(queue.limit(ofHost: "a") == nil)
    }

    @Test func soDoHostsWhoseItemsWereTakenOut() throws {
        var queue = queue(total: 1)
        _ = queue.submit(-1, host: "busy", priority: .normal, now: .zero)
        for number in 0..<many {
            _ = queue.submit(number, host: "h\(number)", priority: .normal, now: .zero)
            let isOut = queue.remove(number, at: queue.lastPlace)
            #expect(isOut)
        }
        #expect(queue.limit(ofHost: "a") == nil)
        // None of them stands in the way.
        _ = queue.submit(7, host: "b", priority: .normal, now: .zero)
        let next = queue.finished(host: "busy", now: .zero)
        #expect(next == 7)
    }

    @Test func aCommonLimitIsKept() {
        var queue = PendingQueue<Int, Int>(limits: .init(waiting: 1_000), sibling: { $0 ^ 1 })
        _ = queue.setCommonLimit(host: 2, 3, now: .zero)
        for number in 0..<many {
            _ = queue.submit(number, host: 2 * number + 10, priority: .normal, now: .zero)
            _ = queue.finished(host: 2 * number + 10, now: .zero)
        }
        #expect(queue.commonLimit(ofHost: 2) == 3 && queue.commonLimit(ofHost: 3) == 3)
        // Taken away, both are forgotten like all others.
        _ = queue.setCommonLimit(host: 3, nil, now: .zero)
        #expect(queue.commonLimit(ofHost: 2) == nil && queue.commonLimit(ofHost: 3) == nil)
    }

    @Test func aHostWithSomethingRunningIsNotIdle() {
        var queue = queue()
        let answer = queue.submit(-1, host: "a", priority: .normal, now: .zero)
        #expect(answer == .start)
        for number in 0..<many {
            _ = queue.submit(number, host: "h\(number)", priority: .normal, now: .zero)
            _ = queue.finished(host: "h\(number)", now: .zero)
        }
        #expect(queue.limit(ofHost: "a") == 3 && queue.activeCount(host: "a") == 1)
        _ = queue.finished(host: "a", now: .zero)
        #expect(queue.activeCount == 0)
    }
}
