import ScopedNet
internal import Synchronization
public import Testing

/// A test, or each test of a suite, fails when it leaves something of ScopedNet's alive (Swift Testing). See ``Testing/Trait/noLeaks``.
public struct NoLeaksTrait: TestTrait, SuiteTrait, TestScoping {
    let allowed: Set<LeakReport.Kind>
    let deadline: Duration
    let checksHeap: Bool

    /// True: on a suite it holds for each of its tests.
    public var isRecursive: Bool { true }

    /// Runs the test with a census of its own, and records an issue for what is alive afterwards.
    @concurrent
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let census = LeakCensus()
        let result: Result<Void, any Error>
        do { result = .success(try await census.listen { try await function() }) } catch { result = .failure(error) }
        // In a task of its own: that of a test may have been cancelled, by its time limit or by itself, and would wait for nothing.
        let report = await Task { await census.settle(within: deadline, allowing: allowed) }.value
        if !report.isEmpty {
            Issue.record("\(test.displayName ?? test.name) left something alive.\n\(report)", sourceLocation: test.sourceLocation)
        }
        if checksHeap, let failure = UnreachableHeap.failure(test.name) { Issue.record("\(failure)", sourceLocation: test.sourceLocation) }
        try result.get()
    }
}

extension Trait where Self == NoLeaksTrait {
    /// Requests, runs, bags, sessions and streamed bodies that a test makes are gone when it ends, or soon after. Tests that run side by side
    /// do not see each other.
    ///
    /// ```swift
    /// @Test(.noLeaks) func aPageLoads() async throws { … }
    /// ```
    ///
    /// Under the address sanitizer memory that nothing points to any more is looked for too.
    public static var noLeaks: Self { noLeaks() }

    /// The trait with exceptions.
    ///
    /// - Parameters:
    ///   - allowed: kinds that may stay.
    ///   - deadline: how long what is in flight may take to end. A clean test waits for nothing.
    ///   - checksHeap: false leaves out the sanitizer's look at the memory of the whole process, where tests beside this one hold memory in
    ///     ways the sanitizer does not see (pointers with tags in them).
    /// - Returns: the trait.
    public static func noLeaks(
        allowing allowed: Set<LeakReport.Kind> = [], within deadline: Duration = .seconds(1), checksHeap: Bool = true
    ) -> Self {
        NoLeaksTrait(allowed: allowed, deadline: deadline, checksHeap: checksHeap)
    }
}

extension UnreachableHeap {
    private static let hasReported = Atomic<Bool>(false)
    private static let nextLook = Atomic<UInt64>(0)

    /// The sanitizer finds the same memory again with each look: only the first test that meets it fails. Looks take a fifth of the time at
    /// most (one stops all threads, and may take long where suppressions have to be looked up): short tests share one.
    static func failure(_ test: String) -> String? {
        guard isChecked, !hasReported.load(ordering: .relaxed) else { return nil }
        let clock = SystemTiming()
        let began = clock.now()
        let due = nextLook.load(ordering: .relaxed)
        // Tests that end meanwhile leave it to this one.
        guard began >= due, nextLook.compareExchange(expected: due, desired: .max, ordering: .relaxed).exchanged else { return nil }
        let isLeaking = hasLeaks()
        let ended = clock.now()
        nextLook.store(ended &+ 4 &* (ended &- began), ordering: .relaxed)
        guard isLeaking, !hasReported.exchange(true, ordering: .relaxed) else { return nil }
        return
            "Memory that nothing points to was found after \(test); a test before or beside it may be the one. The sanitizer's report says more."
    }
}
