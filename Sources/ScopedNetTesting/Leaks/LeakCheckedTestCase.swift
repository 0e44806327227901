import ScopedNet
public import XCTest

/// A test case whose tests fail when they leave something of ScopedNet's alive (XCTest).
///
/// What a test makes is looked at after `tearDown`, so let go there of what `setUp` made. (On Linux teardown blocks run before `tearDown`: a
/// check in one would blame what `tearDown` releases.)
///
/// ```swift
/// final class FeedModelTests: LeakCheckedTestCase {
///     func testTheModelGoes() {
///         assertDeallocates { FeedModel(session) } after: { $0.load() }
///     }
/// }
/// ```
open class LeakCheckedTestCase: XCTestCase {
    /// How long requests in flight may take to end. A clean test waits for nothing.
    open var leakDeadline: Duration { .seconds(1) }
    /// What may stay alive.
    open var allowedLeaks: Set<LeakReport.Kind> { [] }

    private var tracked: [(name: String, probe: Probe<AnyObject>, file: StaticString, line: UInt)] = []

    /// The test fails when this object is alive after `tearDown`.
    @discardableResult
    public func track<Object: AnyObject>(_ object: Object, file: StaticString = #filePath, line: UInt = #line) -> Object {
        tracked.append(("\(Object.self)", Probe(object: object), file, line))
        return object
    }

    open override func invokeTest() {
        let census = LeakCensus()
        census.listen { super.invokeTest() }
        let allowed = allowedLeaks
        census.waitRunningTheLoop(within: leakDeadline) {
            census.isClean(allowing: allowed) && self.tracked.allSatisfy { $0.probe.object == nil }
        }
        let report = census.report(allowing: allowed)
        if !report.isEmpty { XCTFail("\(name) left something alive.\n\(report)") }
        for item in tracked where item.probe.object != nil {
            XCTFail("\(item.name) is alive after its test.\n\(report)", file: item.file, line: item.line)
        }
        tracked = []
        if let failure = UnreachableHeap.failure(name) { XCTFail(failure) }
    }
}

extension LeakCensus {
    /// As ``wait(within:until:)``, for code that is not asynchronous.
    func waitRunningTheLoop(within deadline: Duration, until isReached: @escaping () -> Bool) {
        if isReached() { return }
        let expectation = XCTestExpectation(description: "nothing alive")
        // Safety: this thread stands still in `wait` while the task asks, and the task is over, or asks no more, when it goes on.
        nonisolated(unsafe) let isReached = isReached
        Task {
            await wait(within: deadline) { isReached() }
            expectation.fulfill()
        }
        // The deadline is the task's; this one only keeps a broken machine from hanging.
        _ = XCTWaiter().wait(for: [expectation], timeout: deadline / .seconds(1) + 30)
    }
}
