internal import ScopedNet
import SystemSupport
internal import XCTest

/// The other end of the requests of a check, as a test describes it: a closure that returns when the connections have gone there.
struct Wire: Sendable {
    private let hasGone: @Sendable () async throws -> Void

    init(_ hasGone: @escaping @Sendable () async throws -> Void) { self.hasGone = hasGone }

    /// Awaits the other end, not longer than the deadline, even if it does not hear of being cancelled.
    ///
    /// - Returns: what is wrong, if anything.
    func silence(within deadline: Duration) async -> String? {
        let (answers, answer) = AsyncStream.makeStream(of: String?.self, bufferingPolicy: .bufferingOldest(1))
        let late = "The other end did not see the connections go within \(deadline)."
        let task = Task {
            do {
                try await hasGone()
                answer.yield(nil)
            } catch is CancellationError {
                answer.yield(late)
            } catch { answer.yield("The other end could not be asked: \(error)") }
        }
        let timer = SystemTiming().schedule(after: deadline) { answer.yield(late) }
        defer {
            timer.cancel()
            task.cancel()
        }
        for await first in answers { return first }
        return late
    }

    /// The same, for code that is not asynchronous.
    func silenceRunningTheLoop(within deadline: Duration) -> String? {
        let expectation = XCTestExpectation(description: "the other end saw the connections go")
        let failure = Lock<String?>("The other end was not asked.")
        Task {
            let text = await silence(within: deadline)
            failure.withLock { $0 = text }
            expectation.fulfill()
        }
        // The deadline is the task's; this one only keeps a broken machine from hanging.
        _ = XCTWaiter().wait(for: [expectation], timeout: deadline / .seconds(1) + 30)
        return failure.withLock { $0 }
    }
}
