import CleanSlate
import Foundation
import Testing

@testable import ScopedNet

/// The threads that wait for disks, and the queue of both pools.
// Against hangs: waiting for a turn among all other suites counts as well.
@Suite(.leavesNothing, .timeLimit(.minutes(5)))
struct BlockingPoolTests {
    /// The macro cannot call what changes a value.
    private func check<Value: Equatable>(_ value: Value, _ expected: Value, _ location: SourceLocation = #_sourceLocation) {
        #expect(value == expected, sourceLocation: location)
    }

    // MARK: The decisions

    @Test func threadsAreMadeUpToTheWidth() {
        var state = BlockingPoolState<String, Int>(width: 2, share: 2)
        check(state.submit(1, of: "a"), .start)
        check(state.submit(2, of: "b"), .start)
        check(state.submit(3, of: "c"), .none)
        #expect(state.threads == 2)
        let taken = [state.take()?.job, state.take()?.job, state.take()?.job]
        #expect(taken == [1, 2, 3])
        check(state.take() == nil, true)
    }

    @Test func aGroupHasItsShareAtMost() {
        var state = BlockingPoolState<String, Int>(width: 8, share: 2)
        for job in 1...5 { _ = state.submit(job, of: "hung") }
        #expect(state.threads == 2)
        check(state.take()?.job, 1)
        check(state.take()?.job, 2)
        check(state.take() == nil, true)
        // Another group is not behind it.
        check(state.submit(6, of: "well"), .start)
        check(state.take()?.job, 6)
        state.finished("hung")
        check(state.take()?.job, 3)
        check(state.take() == nil, true)
        #expect(state.waitingJobs == 2)
    }

    @Test func threadsThatWaitAreWokenBeforeOthersAreMade() {
        var state = BlockingPoolState<String, Int>(width: 8, share: 8)
        check(state.submit(1, of: "a"), .start)
        check(state.take()?.job, 1)
        state.finished("a")
        state.becameIdle()
        check(state.submit(2, of: "a"), .wake)
        // The one that was woken is spoken for.
        check(state.submit(3, of: "a"), .start)
        state.wokeUp()
        check(state.take()?.job, 2)
        check(state.take()?.job, 3)
        state.finished("a")
        state.finished("a")
        state.left()
        state.left()
        #expect(state.threads == 0)
        #expect(state.idle == 0)
    }

    /// A queue that never becomes empty: what was taken out makes room.
    @Test func aQueueUnderSteadyLoadKeepsItsSize() {
        var queue = JobQueue<Int>()
        for number in 0..<100_000 { queue.append(number) }
        for number in 0..<100_000 { check(queue.popFirst(), number) }
        #expect(queue.capacity <= 1_024)
        for number in 0..<100 { queue.append(number) }
        for number in 0..<100_000 {
            queue.append(number + 100)
            check(queue.popFirst(), number)
        }
        #expect(queue.count == 100)
        #expect(queue.capacity < 2_048)
    }

    // MARK: The pools

    @Test func aWorkPoolUnderSteadyLoadKeepsItsSize() async {
        let pool = WorkPool(width: 1)
        let done = Trace()
        let sizes = Gathered<Int>()
        // Each job is followed by another one, so that the queue is never empty.
        @Sendable func step(_ left: Int) {
            sizes.add(pool.capacity)
            guard left > 0 else { return done.add("end") }
            pool.submit([{ step(left - 1) }])
        }
        for _ in 0..<3 { pool.submit([{ step(20_000) }]) }
        await done.wait(for: 3)
        #expect((sizes.all.max() ?? 0) < 4_096)
    }

    @Test func aGroupThatHangsKeepsNobodyElseWaiting() async throws {
        let pool = BlockingPool(width: 4, share: 2, idleSeconds: 0)
        let (hung, well) = (Canary(), Canary())
        let (hanging, release) = (DispatchSemaphore(value: 0), Trace())
        for _ in 0..<6 {
            pool.submit(.init(hung)) {
                hanging.wait()
                release.add("released")
            }
        }
        for _ in 0..<100 { try await pool.run(.init(well)) {} }
        #expect(pool.threads <= 4)
        #expect(release.lines.isEmpty)
        for _ in 0..<6 { hanging.signal() }
        await release.wait(for: 6)
    }

    private final class Leaving: Sendable {
        let pool: BlockingPool
        let group: Canary
        let trace: Trace

        init(_ pool: BlockingPool, _ group: Canary, _ trace: Trace) { (self.pool, self.group, self.trace) = (pool, group, trace) }

        deinit { pool.submit(.init(group)) { [trace] in trace.add("left") } }
    }

    /// With a job the last reference to an object goes that submits another one: a file that is removed.
    @Test func theEndOfAJobMaySubmitAnother() async throws {
        let (pool, group, trace) = (BlockingPool(width: 1, share: 1, idleSeconds: 0), Canary(), Trace())
        for _ in 0..<100 {
            let object = Leaving(pool, group, trace)
            pool.submit(.init(group)) { trace.add(object.trace === trace ? "done" : "") }
        }
        await trace.wait(for: 200)
        #expect(trace.lines.count { $0 == "left" } == 100)
    }

    @Test func everyJobIsDoneOnceAndIdleThreadsLeave() async throws {
        let pool = BlockingPool(width: 8, share: 8, idleSeconds: 0)
        let done = Gathered<Int>()
        await withTaskGroup { group in
            for owner in 0..<10 {
                group.addTask {
                    let owner = (owner, Canary())
                    for number in 0..<200 { try? await pool.run(.init(owner.1)) { done.add(owner.0 * 200 + number) } }
                }
            }
        }
        #expect(done.all.sorted() == Array(0..<2_000))
        while pool.threads > 0 { await Task.yield() }
    }
}
