internal import ScopedNetTesting
public import Testing

/// A suite that leaves the process as it found it. See ``Testing/Trait/leavesNothing``.
public struct LeavesNothingTrait: SuiteTrait, TestTrait, TestScoping {
    let objects: NoLeaksTrait?
    let deadline: Duration

    /// True: it holds for the tests of a suite, too.
    public var isRecursive: Bool { true }

    /// Once around the suite, and once around each case of each of its tests.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { test.isSuite || testCase != nil ? self : nil }

    /// Runs the test, and records an issue for what it leaves behind.
    @concurrent
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard test.isSuite else {
            guard let objects else { return try await function() }
            return try await objects.provideScope(for: test, testCase: testCase, performing: function)
        }
        await SuitesUnderWay.shared.begin()
        let result: Result<Void, any Error>
        do { result = .success(try await function()) } catch { result = .failure(error) }
        if let excess = await SuitesUnderWay.shared.end(within: deadline) {
            Issue.record("When all suites had ended, \(test.name) the last of them, something was left: \(excess)")
        }
        try result.get()
    }
}

extension Trait where Self == LeavesNothingTrait {
    /// What the tests of a suite make is gone when each of them ends, by a census of its own; and when the last of all suites has ended,
    /// descriptors, threads, easy handles and all other counted objects are those of the beginning.
    public static var leavesNothing: Self { leavesNothing() }

    /// The trait with exceptions.
    ///
    /// With `objects: false` it leaves out the census of each test, for suites that measure or that race (a census synchronizes), or that
    /// leak on purpose. Their objects are counted at the end of all suites only. What is in flight may take until `deadline` to end; a
    /// clean test waits for nothing.
    public static func leavesNothing(objects: Bool = true, within deadline: Duration = .seconds(20)) -> Self {
        LeavesNothingTrait(objects: objects ? .noLeaks(within: deadline, checksHeap: false) : nil, deadline: deadline)
    }
}
