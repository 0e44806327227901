import CleanSlate
import Foundation
import ScopedNetTesting
import XCTest

/// For the test cases of XCTest what `.leavesNothing` is for suites: after each test descriptors, threads and counted objects of the process are
/// those of the beginning. XCTest runs one test at a time, and none of Swift Testing beside it.
class CleanTestCase: LeakCheckedTestCase {
    private static let baseline: ProcessInventory = {
        // What the run loop, Dispatch and the waiters of XCTest open once and keep.
        let expectation = XCTestExpectation(description: "the platform is warm")
        Task {
            try? await Task.sleep(for: .milliseconds(1))
            DispatchQueue.global().asyncAfter(wallDeadline: .now() + .milliseconds(1)) { expectation.fulfill() }
        }
        _ = XCTWaiter().wait(for: [expectation], timeout: 30)
        // On a busy machine the expectation is fulfilled before the waiter looks, and the run loop has not run: it opens a descriptor when it does.
        RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.005))
        return ProcessInventory.now()
    }()

    /// False for a test that leaks on purpose.
    var isCleanInTheEnd: Bool { true }

    override func invokeTest() {
        let baseline = Self.baseline
        super.invokeTest()
        guard isCleanInTheEnd else { return }
        // Threads end by themselves, a moment after their last session, and tell nobody: so this looks again and again.
        let end = ContinuousClock.now + .seconds(20)
        while let excess = ProcessInventory.now().excess(over: baseline) {
            if ContinuousClock.now >= end { return XCTFail("\(name) left something in the process: \(excess)") }
            RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.005))
        }
    }
}
