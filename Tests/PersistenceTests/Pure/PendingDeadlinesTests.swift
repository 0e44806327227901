import CleanSlate
import SystemSupport
import Testing

@testable import Persistence

/// One clock for many waits: when it is set, what it lets go, and that it holds nothing afterwards.
@Suite(.leavesNothing) struct PendingDeadlinesTests {
    private func milliseconds(_ count: Int) -> Duration { .milliseconds(count) }

    @Test func theClockIsSetToTheEarliest() {
        var pending = PendingDeadlines<String>()
        #expect(pending.alarm == nil)
        let (first, setsFirst) = pending.insert("a", deadline: milliseconds(20))
        let (_, setsLater) = pending.insert("b", deadline: milliseconds(30))
        let (_, setsEarlier) = pending.insert("c", deadline: milliseconds(10))
        #expect((setsFirst, setsLater, setsEarlier) == (true, false, true))
        #expect(pending.alarm == milliseconds(10))
        pending.remove(first)
        let none = pending.expire(now: milliseconds(9))
        let due = pending.expire(now: milliseconds(25))
        let last = pending.expire(now: milliseconds(30))
        #expect(none.isEmpty && due == ["c"] && last == ["b"])
        #expect(pending.alarm == nil && pending.isEmpty)
    }

    @Test func whatEndsInTimeNeverExpires() {
        var pending = PendingDeadlines<Int>()
        for number in 0..<1_000 {
            let (id, _) = pending.insert(number, deadline: milliseconds(number))
            pending.remove(id)
        }
        // The clock rings once, for the first, and finds nothing.
        #expect(pending.alarm == .zero)
        let due = pending.expire(now: milliseconds(2_000))
        #expect(due.isEmpty && pending.alarm == nil)
    }

    @Test func whatIsDueComesInOrder() {
        var pending = PendingDeadlines<Int>()
        for number in [3, 1, 2] { _ = pending.insert(number, deadline: milliseconds(number)) }
        let due = pending.expire(now: milliseconds(5))
        #expect(due == [1, 2, 3])
    }

    /// A store is closed between the job of a lookup and its wait.
    @Test(.timeLimit(.minutes(5))) func aWaitThatComesAfterTheEndHasItsLimit() async {
        let clock = DeadlineClock()
        let earlier = clock.begin(limit: .milliseconds(10)) {}
        clock.end(of: earlier)
        clock.end()
        await withCheckedContinuation { continuation in
            _ = clock.begin(limit: .milliseconds(20)) { continuation.resume() }
        }
    }

    @Test(.timeLimit(.minutes(5))) func aWaitExpiresOnceAndOthersEndInTime() async {
        let clock = DeadlineClock()
        let (expired, heard) = AsyncStream.makeStream(of: Int.self)
        for number in 0..<100 {
            let id = clock.begin(limit: .seconds(60)) { heard.yield(-number) }
            clock.end(of: id)
        }
        _ = clock.begin(limit: .milliseconds(20)) { heard.yield(2) }
        _ = clock.begin(limit: .milliseconds(1)) { heard.yield(1) }
        clock.end()
        var all: [Int] = []
        for await number in expired {
            all.append(number)
            if all.count == 2 { break }
        }
        #expect(all == [1, 2])
    }
}
