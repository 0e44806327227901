internal import Foundation
public import Testing

/// Runs the tests of a suite on a thread of their own, one after the other. See ``Testing/Trait/onOwnThread``.
public struct OwnThreadTrait: SuiteTrait, TestTrait, TestScoping {
    private let executor = OwnThreadExecutor()

    /// Runs the test, or all tests of the suite, on the thread.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(executor) { try await function() }
    }
}

extension Trait where Self == OwnThreadTrait {
    /// For tests that compute for long without a suspension: the pool of tasks has one thread for each core, and two such tests would keep all
    /// others from their turns, and from their time limits.
    public static var onOwnThread: Self { OwnThreadTrait() }
}

/// Runs jobs in the order they come in, on a thread that is there while there are any.
private final class OwnThreadExecutor: TaskExecutor {
    private struct Queue {
        var jobs: [UnownedJob] = []
        var isRunning = false
    }

    private let lock = NSLock()
    // Safety: read and written under `lock`.
    private nonisolated(unsafe) var queue = Queue()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = lock.withLock {
            defer { queue.isRunning = true }
            queue.jobs.append(job)
            return !queue.isRunning
        }
        if isFirst { Thread.detachNewThread { [self] in run() } }
    }

    private func run() {
        while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    private func next() -> UnownedJob? {
        lock.withLock {
            guard !queue.jobs.isEmpty else {
                queue.isRunning = false
                return nil
            }
            return queue.jobs.removeFirst()
        }
    }
}
