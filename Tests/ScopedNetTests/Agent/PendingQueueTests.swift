import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct PendingQueueTests {
    private typealias Queue = PendingQueue<Int, String>

    private func makeQueue(total: Int = 2, perHost: Int = 2, waiting: Int = 100, ageingStep: Duration = .seconds(5)) -> Queue {
        Queue(limits: .init(total: total, perHost: perHost, waiting: waiting), ageingStep: ageingStep)
    }

    /// Calls mutating functions where `#expect` cannot.
    private func submit(
        _ item: Int, _ host: String = "a", _ priority: Priority = .normal, at now: Duration = .zero, to queue: inout Queue
    ) -> Queue.Submission {
        queue.submit(item, host: host, priority: priority, now: now)
    }

    private func finish(_ host: String = "a", at now: Duration = .zero, in queue: inout Queue) -> Int? {
        queue.finished(host: host, now: now)
    }

    // THR-7
    @Test func startsUpToTheHostsLimit() {
        var queue = makeQueue(total: 10, perHost: 2)
        #expect(submit(1, to: &queue) == .start)
        #expect(submit(2, to: &queue) == .start)
        #expect(submit(3, to: &queue) == .queued(position: 1))
        #expect(submit(4, "b", to: &queue) == .start)
        #expect(queue.activeCount == 3)
        #expect(queue.activeCount(host: "a") == 2)
        #expect(queue.activeCount(host: "c") == 0)
        #expect(queue.waitingCount == 1)
        #expect(finish("b", in: &queue) == nil)
        #expect(finish("a", in: &queue) == 3)
        #expect(queue.waitingCount == 0)
    }

    @Test func startsUpToTheTotalLimit() {
        var queue = makeQueue(total: 2, perHost: 2)
        #expect(submit(1, "a", to: &queue) == .start)
        #expect(submit(2, "b", to: &queue) == .start)
        #expect(submit(3, "c", to: &queue) == .queued(position: 1))
        #expect(finish("a", in: &queue) == 3)
        #expect(finish("b", in: &queue) == nil)
        #expect(finish("c", in: &queue) == nil)
        #expect(queue.activeCount == 0)
    }

    @Test func refusesWhenFull() {
        var queue = makeQueue(total: 1, waiting: 2)
        #expect(submit(1, to: &queue) == .start)
        #expect(submit(2, to: &queue) == .queued(position: 1))
        #expect(submit(3, to: &queue) == .queued(position: 2))
        #expect(submit(4, "b", to: &queue) == .refused)
        #expect(finish(in: &queue) == 2)
        #expect(submit(4, "b", to: &queue) == .queued(position: 2))
    }

    // YTK-9
    @Test func higherPrioritiesComeFirstAndEqualOnesInOrder() {
        var queue = makeQueue(total: 1)
        #expect(submit(0, to: &queue) == .start)
        for (item, priority) in [Priority.low, .veryHigh, .normal, .veryLow, .high, .low, .veryHigh].enumerated() {
            _ = submit(item + 1, "a", priority, to: &queue)
        }
        let order = (0..<7).map { _ in finish(in: &queue) }
        #expect(order == [2, 7, 5, 3, 1, 6, 4])
    }

    @Test func anotherPriorityCountsAsIfItHadAlwaysBeenThat() {
        var queue = makeQueue(total: 1)
        #expect(submit(0, to: &queue) == .start)
        for item in 1...3 { _ = submit(item, "a", .normal, to: &queue) }
        _ = submit(4, "a", .low, to: &queue)
        _ = submit(5, "a", .high, to: &queue)
        for (item, priority) in [(4, Priority.normal), (2, .high), (3, .low), (9, .veryHigh)] {
            queue.setPriority(priority, of: item, at: queue.place(of: item) ?? 3, nanoseconds: 0)
        }
        let order = (0..<5).map { _ in finish(in: &queue) }
        #expect(order == [2, 5, 1, 4, 3])
    }

    @Test func hostsTakeTurns() {
        var queue = makeQueue(total: 1, perHost: 1)
        #expect(submit(-1, "a", to: &queue) == .start)
        for item in 0..<10 { _ = submit(item, "a", to: &queue) }
        for item in 10..<13 { _ = submit(item, "b", to: &queue) }
        _ = submit(20, "c", to: &queue)
        var running = "a"
        var order: [Int] = []
        while let next = finish(running, in: &queue) {
            order.append(next)
            running = next < 10 ? "a" : next < 13 ? "b" : "c"
        }
        #expect(order == [10, 20, 0, 11, 1, 12, 2, 3, 4, 5, 6, 7, 8, 9])
    }

    @Test func aHostWithTenThousandWaitingHoldsBackNobody() {
        var queue = PendingQueue<Int, String>(limits: .init(total: 4, perHost: 4))
        for item in 0..<10_000 { _ = queue.submit(item, host: "busy", priority: .veryHigh, now: .zero) }
        #expect(submit(10_000, "quiet", .veryHigh, to: &queue) == .queued(position: 9_997))
        #expect(finish("busy", in: &queue) == 10_000)
    }

    @Test func waitingRaisesThePriorityStepByStep() {
        var queue = makeQueue(total: 1)
        _ = submit(0, to: &queue)
        _ = submit(1, "a", .veryLow, to: &queue)
        for (time, priority) in [
            (Duration.zero, Priority.veryLow), (.nanoseconds(4_999_999_999), .veryLow), (.seconds(5), .low), (.seconds(14), .normal),
            (.seconds(15), .high), (.seconds(20), .veryHigh), (.seconds(1_000_000), .veryHigh),
        ] {
            _ = queue.setLimit(host: "elsewhere", nil, now: time)
            #expect(queue.effectivePriority(of: 1) == priority, "\(time)")
        }
        #expect(queue.effectivePriority(of: 0) == nil)
    }

    @Test func anAgedItemOvertakes() {
        var queue = makeQueue(total: 1)
        _ = submit(0, to: &queue)
        _ = submit(1, "a", .low, at: .zero, to: &queue)
        _ = submit(2, "a", .normal, at: .seconds(1), to: &queue)
        // At 5 s both are normal, and the first one has waited longer.
        #expect(finish(at: .milliseconds(4_999), in: &queue) == 2)
        _ = submit(3, "a", .normal, at: .seconds(5), to: &queue)
        #expect(finish(at: .seconds(5), in: &queue) == 1)
    }

    @Test func anAgedItemOvertakesAcrossHosts() {
        var queue = makeQueue(total: 1)
        _ = submit(0, "a", to: &queue)
        _ = submit(1, "b", .veryLow, at: .zero, to: &queue)
        for item in 2..<6 { _ = submit(item, "a", .high, at: .seconds(13), to: &queue) }
        #expect(finish("a", at: .seconds(14), in: &queue) == 2)
        // From 15 s on `b` is high too, but `a` was there first; then it is the turn of `b`.
        #expect(finish("a", at: .seconds(15), in: &queue) == 3)
        #expect(finish("a", at: .seconds(15), in: &queue) == 1)
    }

    @Test func withoutAgeingNothingRises() {
        var queue = makeQueue(total: 1, ageingStep: .zero)
        _ = submit(0, to: &queue)
        _ = submit(1, "a", .veryLow, to: &queue)
        _ = submit(2, "b", .low, at: .seconds(1_000_000), to: &queue)
        #expect(finish(at: .seconds(2_000_000), in: &queue) == 2)
    }

    // YTK-9
    @Test func nothingStarvesUnderAConstantStreamOfUrgentItems() {
        var queue = makeQueue(total: 1, perHost: 1, waiting: 10_000)
        _ = submit(-1, "busy", to: &queue)
        _ = submit(-2, "busy", .veryLow, to: &queue)
        _ = submit(-3, "quiet", .veryLow, to: &queue)
        var running = "busy"
        var started: [Int: Int] = [:]
        for second in 0..<60 {
            _ = submit(second * 2, "busy", .veryHigh, at: .seconds(second), to: &queue)
            _ = submit(second * 2 + 1, "busy", .veryHigh, at: .seconds(second), to: &queue)
            let next = finish(running, at: .seconds(second), in: &queue)
            running = next == -3 ? "quiet" : "busy"
            if let next { started[next] = second }
        }
        // 20 s make both of them as urgent as can be; `quiet` is next then, and `busy` has 40 older ones to go.
        #expect((started[-3] ?? 99) <= 21)
        #expect((started[-2] ?? 99) <= 45)
    }

    @Test func removedItemsNeverStart() {
        var queue = makeQueue(total: 1)
        for item in 0..<6 { _ = submit(item, to: &queue) }
        for (item, waits) in [(3, true), (1, true), (5, true), (3, false), (0, false), (99, false)] {
            let removed = queue.remove(item)
            #expect(removed == waits, "\(item)")
        }
        #expect(queue.waitingCount == 2)
        #expect(finish(in: &queue) == 2)
        #expect(finish(in: &queue) == 4)
        #expect(finish(in: &queue) == nil)
    }

    @Test func anItemIsRemovedFromItsOwnPlaceOnly() {
        var queue = makeQueue(total: 1)
        for item in 0..<3 { _ = submit(item, to: &queue) }
        let place = queue.lastPlace
        for (item, place) in [(1, place), (2, place + 1), (2, -1), (2, -5), (2, Int32.max)] {
            let removed = queue.remove(item, at: place)
            #expect(!removed, "\(item) at \(place)")
        }
        let removed = queue.remove(2, at: place)
        #expect(removed)
        // The place is another's now, and nobody else's.
        _ = submit(3, to: &queue)
        #expect(queue.lastPlace == place)
        let again = queue.remove(2, at: place)
        #expect(!again)
        #expect(finish(in: &queue) == 1)
        #expect(finish(in: &queue) == 3)
    }

    @Test func manyAreRemovedAtOnceAndTheOthersKeepTheirTurns() {
        var queue = makeQueue(total: 1, perHost: 1)
        _ = submit(0, "a", to: &queue)
        var places: [Int: Int32] = [:]
        for item in 1...12 {
            _ = submit(item, ["a", "b", "c"][item % 3], item > 9 ? .high : .normal, to: &queue)
            places[item] = queue.lastPlace
        }
        // One is named twice, one runs, one is unknown.
        var removed: [Int] = []
        queue.removeAll(
            of: [1, 4, 7, 10, 4, 2, 11, 0, 99, 6], find: { item in places[item].map { (item, $0) } }, removed: { removed.append($0) })
        #expect(removed == [1, 4, 7, 10, 2, 11, 6])
        #expect(queue.waitingCount == 5)
        var started: [Int] = []
        var hosts = ["a"]
        while let host = hosts.popLast() {
            guard let next = finish(host, in: &queue) else { break }
            started.append(next)
            hosts.append(["a", "b", "c"][next % 3])
        }
        #expect(started == [12, 5, 3, 8, 9])
        #expect(queue.activeCount == 0)
    }

    @Test func aRemovedItemMayComeAgain() {
        var queue = makeQueue(total: 1)
        _ = submit(0, to: &queue)
        _ = submit(1, to: &queue)
        _ = submit(2, to: &queue)
        _ = queue.remove(1)
        #expect(submit(1, to: &queue) == .queued(position: 2))
        #expect(finish(in: &queue) == 2)
        #expect(finish(in: &queue) == 1)
    }

    @Test func removeAllGivesBackWhatWaits() {
        var queue = makeQueue(total: 1)
        for item in 0..<5 { _ = submit(item, "\(item % 2)", item == 3 ? .veryHigh : .low, to: &queue) }
        let removed = queue.removeAll()
        #expect(removed == [1, 2, 3, 4])
        #expect(queue.waitingCount == 0)
        #expect(queue.activeCount == 1)
        #expect(finish("0", in: &queue) == nil)
    }

    @Test func aHigherLimitOfAHostStartsWhatWaits() {
        var queue = makeQueue(total: 5, perHost: 1)
        for item in 0..<4 { _ = submit(item, "a", item == 3 ? .high : .normal, to: &queue) }
        _ = submit(10, "b", to: &queue)
        let more = queue.setLimit(host: "a", 3, now: .zero)
        #expect(more == [3, 1])
        let all = queue.setLimit(host: "a", 100, now: .zero)
        #expect(all == [2])
        #expect(queue.activeCount == 5)
        // Lower again: nothing new until enough have finished.
        let none = queue.setLimit(host: "a", nil, now: .zero)
        #expect(none.isEmpty)
        #expect(submit(20, "a", to: &queue) == .queued(position: 1))
        for _ in 0..<3 { #expect(finish("a", in: &queue) == nil) }
        #expect(finish("a", in: &queue) == 20)
    }

    // MARK: Siblings

    private func makePair() -> PendingQueue<Int, Int> {
        PendingQueue(limits: .init(total: 20, perHost: 2), sibling: { $0 ^ 1 })
    }

    private func submit(_ item: Int, _ host: Int, to queue: inout PendingQueue<Int, Int>) -> PendingQueue<Int, Int>.Submission {
        queue.submit(item, host: host, priority: .normal, now: .zero)
    }

    @Test func siblingsShareTheCommonLimit() {
        var queue = makePair()
        #expect(submit(1, 0, to: &queue) == .start)
        #expect(submit(2, 1, to: &queue) == .start)
        #expect(submit(3, 0, to: &queue) == .queued(position: 1))
        #expect(submit(4, 1, to: &queue) == .queued(position: 2))
        #expect(submit(5, 2, to: &queue) == .start)
        // What one leaves goes to the other first, so that neither keeps all.
        #expect(queue.finished(host: 1, now: .zero) == 3)
        #expect(queue.finished(host: 0, now: .zero) == 4)
    }

    @Test func aSiblingWithALimitOfItsOwnCountsForItself() {
        var queue = makePair()
        for item in 0..<2 { #expect(submit(item, 0, to: &queue) == .start) }
        for item in 2..<6 { #expect(submit(item, 1, to: &queue) == .queued(position: item - 1)) }
        #expect(queue.setLimit(host: 1, 3, now: .zero) == [2, 3, 4])
        #expect(submit(6, 0, to: &queue) == .queued(position: 2))
        #expect(queue.finished(host: 0, now: .zero) == 6)
        // Shared again: three and two run, and two may.
        #expect(queue.setLimit(host: 1, nil, now: .zero).isEmpty)
        for host in [0, 0, 1] { #expect(queue.finished(host: host, now: .zero) == nil) }
        #expect(submit(7, 0, to: &queue) == .queued(position: 2))
        #expect(queue.finished(host: 1, now: .zero) == 7)
        #expect(queue.finished(host: 0, now: .zero) == 5)
    }

    @Test func aForgottenSiblingIsFoundAgain() {
        var queue = makePair()
        for item in 0..<2 { #expect(submit(item, 1, to: &queue) == .start) }
        for host in 0...600 where host != 1 {
            #expect(submit(1_000 + host, host == 0 ? 10_000 : host + 2, to: &queue) == .start)
            #expect(queue.finished(host: host == 0 ? 10_000 : host + 2, now: .zero) == nil)
        }
        #expect(submit(2, 0, to: &queue) == .queued(position: 1))
        #expect(queue.finished(host: 1, now: .zero) == 2)
        #expect(queue.finished(host: 0, now: .zero) == nil)
    }

    @Test func aLimitOutlivesTheHostsWork() {
        var queue = makeQueue(total: 10, perHost: 1)
        _ = queue.setLimit(host: "a", 3, now: .zero)
        #expect(submit(1, to: &queue) == .start)
        #expect(finish(in: &queue) == nil)
        for item in 2..<5 { #expect(submit(item, to: &queue) == .start) }
        #expect(submit(5, to: &queue) == .queued(position: 1))
    }

    @Test func onlySoManyIdleLimitsAreRemembered() {
        var queue = makeQueue(total: 10, perHost: 1)
        for number in 0...256 { _ = queue.setLimit(host: "\(number)", 3, now: .zero) }
        // The first one made room.
        #expect(submit(1, "0", to: &queue) == .start)
        #expect(submit(2, "0", to: &queue) == .queued(position: 1))
        #expect(submit(3, "1", to: &queue) == .start)
        #expect(submit(4, "1", to: &queue) == .start)
    }

    @Test func resizingStartsWhatWaits() {
        var queue = makeQueue(total: 1, perHost: 1)
        for item in 0..<6 { _ = submit(item, item < 3 ? "a" : "b", to: &queue) }
        let three = queue.resize(.init(total: 3, perHost: 2, waiting: 100), now: .zero)
        #expect(Set(three) == [1, 3] || Set(three) == [3, 4] || Set(three) == [3, 1])
        #expect(queue.activeCount == 3)
        let all = queue.resize(.init(total: 100, perHost: 100, waiting: 0), now: .zero)
        #expect(all.count == 3)
        #expect(queue.activeCount == 6)
    }

    @Test func aLimitOfZeroHoldsEverything() {
        var queue = makeQueue(total: 0)
        #expect(submit(1, to: &queue) == .queued(position: 1))
        #expect(submit(2, "b", to: &queue) == .queued(position: 2))
        let started = queue.resize(.init(total: 2, perHost: 2, waiting: 10), now: .zero)
        #expect(started == [1, 2])
    }

    @Test func timesThatStepBackDoNoHarm() {
        var queue = makeQueue(total: 1)
        _ = submit(0, at: .seconds(100), to: &queue)
        _ = submit(1, "a", .low, at: .seconds(50), to: &queue)
        _ = submit(2, "a", .normal, at: .seconds(-1_000_000_000_000_000), to: &queue)
        #expect(finish(at: .zero, in: &queue) == 2)
        #expect(finish(at: .seconds(Int64.max), in: &queue) == 1)
    }

    @Test func resizingForgetsNoIdleHostForEver() {
        var queue = makeQueue(total: 1_000, perHost: 1)
        for number in 0..<200 { _ = queue.setLimit(host: "\(number)", 3, now: .zero) }
        _ = queue.resize(.init(total: 1_000, perHost: 1, waiting: 10), now: .zero)
        for number in 1_000..<1_256 { _ = queue.setLimit(host: "\(number)", 3, now: .zero) }
        // All of the first ones made room.
        for number in 0..<200 {
            #expect(submit(number, "\(number)", to: &queue) == .start)
            #expect(submit(1_000 + number, "\(number)", to: &queue) != .start)
        }
    }

    /// What a waiting item costs: its slot, and an entry of a dictionary (a key and an index, at a load of 3/8 at worst).
    @Test func waitingIsCheap() {
        #expect(MemoryLayout<WaitingItems<UInt64>.Slot>.stride <= 56)
        #expect(MemoryLayout<HostTable<UInt64>.Slot>.stride <= 112)
    }
}
