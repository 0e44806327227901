import CleanSlate
import Dispatch
import Testing

@testable import Persistence

/// The threads that wait for a disk, when there are none any more.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct DiskThreadsTests {
    private func askBlocking<Value: Sendable>(_ threads: DiskThreads, _ job: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: threads.answer(job)) }
        }
    }

    private func askWithClosure<Value: Sendable>(_ threads: DiskThreads, _ job: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in threads.answer(job) { continuation.resume(returning: $0) } }
    }

    /// Each way of asking.
    private func answers<Value: Sendable>(_ threads: DiskThreads, _ job: @escaping @Sendable () -> Value) async -> [Value?] {
        [await threads.answer(job), await askBlocking(threads, job), await askWithClosure(threads, job)]
    }

    @Test func aClosedStoresDiskIsWaitedForNoLonger() async {
        let threads = DiskThreads(name: "test-disk", threads: 3, limit: .milliseconds(50))
        threads.end()
        #expect(await answers(threads) { 1 } == [1, 1, 1])
        let letGo = DispatchSemaphore(value: 0)
        #expect(await answers(threads) { letGo.wait() }.allSatisfy { $0 == nil })
        // All that may be held are held.
        #expect(await answers(threads) { 2 } == [nil, nil, nil])
        for _ in 0..<3 { letGo.signal() }
        while await threads.answer({ 3 }) == nil { await Task.yield() }
    }

    @Test(arguments: [false, true]) func whereNoThreadCanBeMadeNobodyAsksTheDisk(_ hasEnded: Bool) async {
        let threads = DiskThreads(name: "test-disk", threads: 2, limit: .seconds(60)) { _, _ in false }
        if hasEnded { threads.end() }
        let answers = await answers(threads) { Issue.record("on the caller's thread") }
        #expect(answers.allSatisfy { $0 == nil })
        threads.end()
    }
}
