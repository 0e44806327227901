/// Makes an object, uses it, lets it go, and asserts that it dies (XCTest). In an asynchronous test await
/// ``expectDeallocates(within:fileID:filePath:line:column:_:after:)``, which does the same.
///
/// Waiting runs the run loop of this thread, so that the main queue goes on.
///
/// ```swift
/// assertDeallocates { FeedModel(session) } after: { $0.load() }
/// ```
@available(*, noasync, message: "In an asynchronous test await expectDeallocates.")
public func assertDeallocates<Object: AnyObject>(
    within deadline: Duration = .seconds(1), file: StaticString = #filePath, line: UInt = #line,
    _ make: () throws -> Object, after use: (Object) throws -> Void = { _ in }
) rethrows {
    var check = LeakCheck<Object>(isScope: false)
    try check.makeAndDrop(within: deadline, make, use)
    let whole = check
    check.census.waitRunningTheLoop(within: deadline) { whole.isOver }
    if let failure = check.failure(after: deadline) { record(failure, Place(file, line)) }
}

/// Makes an owner, lets it start requests, lets it go, and asserts that they end with it (XCTest). In an asynchronous test await
/// ``expectScopeCancels(within:fileID:filePath:line:column:_:after:seenBy:)``, which does the same.
///
/// - Parameters:
///   - deadline: the time that the end of all requests may take.
///   - file: the place of a failure.
///   - line: the place of a failure.
///   - make: makes the owner.
///   - use: starts the requests, and returns when they are where the test wants them. With none in flight then, such as those of a task that
///     has just been made, they have until the deadline.
///   - wire: returns when the other end has seen the connections go, such as `{ try await server.waitForClientsToLeave() }`. Cancelled at
///     the deadline, which then fails the test.
@available(*, noasync, message: "In an asynchronous test await expectScopeCancels.")
public func assertScopeCancels<Owner: AnyObject>(
    within deadline: Duration = .seconds(2), file: StaticString = #filePath, line: UInt = #line,
    _ make: () throws -> Owner, after use: (Owner) throws -> Void, seenBy wire: (@Sendable () async throws -> Void)? = nil
) rethrows {
    var check = LeakCheck<Owner>(isScope: true)
    try check.makeAndDrop(within: deadline, make, use)
    let whole = check
    check.census.waitRunningTheLoop(within: deadline) { whole.isOver }
    if let failure = check.failure(after: deadline) { return record(failure, Place(file, line)) }
    if let wire, let failure = Wire(wire).silenceRunningTheLoop(within: deadline) { record(failure, Place(file, line)) }
}

/// Runs `body` several times and asserts that what is alive stops growing (XCTest). In an asynchronous test await
/// ``expectNoGrowth(rounds:heapPerRound:within:fileID:filePath:line:column:_:)``, which does the same.
@available(*, noasync, message: "In an asynchronous test await expectNoGrowth.")
public func assertNoGrowth(
    rounds: Int = 5, heapPerRound: Int? = nil, within deadline: Duration = .seconds(1), file: StaticString = #filePath, line: UInt = #line,
    _ body: () throws -> Void
) rethrows {
    var growth = GrowthCheck(heapPerRound: heapPerRound)
    for _ in 0..<max(2, rounds) {
        try growth.census.listen { try body() }
        let (census, expected) = (growth.census, growth.expectedCount)
        census.waitRunningTheLoop(within: deadline) { census.liveCount <= expected }
        growth.endRound()
    }
    if let failure = growth.failure { record(failure, Place(file, line)) }
}
