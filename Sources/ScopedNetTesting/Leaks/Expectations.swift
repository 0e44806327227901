internal import ScopedNet
internal import Testing
internal import XCTest

/// Makes an object, uses it, lets it go, and expects that it dies (Swift Testing, and asynchronous tests of XCTest).
///
/// It has until the deadline, because a run in flight may hold it until its end; nothing is polled. A failure says which of ScopedNet's
/// objects are alive, where they were made, who holds them, and which closures may have captured the object.
///
/// ```swift
/// await expectDeallocates { FeedModel(session) } after: { $0.load() }
/// ```
public func expectDeallocates<Object: AnyObject>(
    within deadline: Duration = .seconds(1), fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: Int = #line, column: Int = #column,
    _ make: () async throws -> Object, after use: (Object) async throws -> Void = { _ in }
) async rethrows {
    var check = LeakCheck<Object>(isScope: false)
    try await check.makeAndDrop(within: deadline, make, use)
    await check.census.wait(within: deadline) { check.isOver }
    if let failure = check.failure(after: deadline) { record(failure, Place(fileID, filePath, line, column)) }
}

/// Makes an owner, lets it start requests, lets it go while they are in flight, and expects that all of them end with it: cancelled because
/// their owner was released, no result delivered, closures destroyed (Swift Testing, and asynchronous tests of XCTest).
///
/// ```swift
/// try await expectScopeCancels { FeedModel(session) } after: { model in
///     model.load()
///     try await server.waitForRequests(1)
/// } seenBy: {
///     try await server.waitForClientsToLeave()
/// }
/// ```
///
/// - Parameters:
///   - deadline: the time that the end of all requests may take.
///   - fileID: the place of a failure.
///   - filePath: the place of a failure.
///   - line: the place of a failure.
///   - column: the place of a failure.
///   - make: makes the owner.
///   - use: starts the requests, and returns when they are where the test wants them. With none in flight then, such as those of a task that
///     has just been made, they have until the deadline.
///   - wire: returns when the other end has seen the connections go. Cancelled at the deadline.
public func expectScopeCancels<Owner: AnyObject>(
    within deadline: Duration = .seconds(2), fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: Int = #line, column: Int = #column,
    _ make: () async throws -> Owner, after use: (Owner) async throws -> Void, seenBy wire: (@Sendable () async throws -> Void)? = nil
) async rethrows {
    var check = LeakCheck<Owner>(isScope: true)
    try await check.makeAndDrop(within: deadline, make, use)
    await check.census.wait(within: deadline) { check.isOver }
    if let failure = check.failure(after: deadline) { return record(failure, Place(fileID, filePath, line, column)) }
    if let wire, let failure = await Wire(wire).silence(within: deadline) { record(failure, Place(fileID, filePath, line, column)) }
}

/// Runs `body` several times and expects that what is alive stops growing (Swift Testing, and asynchronous tests of XCTest).
///
/// Counted is what ScopedNet made in `body`. The first round may leave things behind that are made once.
///
/// `heapPerRound` is how many bytes the heap of the process may grow with each round; nil looks at objects only. Other tests use the same
/// heap: run such a test alone.
public func expectNoGrowth(
    rounds: Int = 5, heapPerRound: Int? = nil, within deadline: Duration = .seconds(1), fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: Int = #line, column: Int = #column,
    _ body: () async throws -> Void
) async rethrows {
    var growth = GrowthCheck(heapPerRound: heapPerRound)
    for _ in 0..<max(2, rounds) {
        try await growth.census.listen { try await body() }
        let expected = growth.expectedCount
        await growth.census.wait(within: deadline) { growth.census.liveCount <= expected }
        growth.endRound()
    }
    if let failure = growth.failure { record(failure, Place(fileID, filePath, line, column)) }
}

/// Where a check stands in a test.
struct Place {
    let fileID: String
    let filePath: StaticString
    let line: Int
    let column: Int

    init(_ fileID: StaticString, _ filePath: StaticString, _ line: Int, _ column: Int) {
        self.fileID = "\(fileID)"
        self.filePath = filePath
        self.line = line
        self.column = column
    }

    /// A place as XCTest has it: the folder of the file stands for its module.
    init(_ file: StaticString, _ line: UInt) {
        fileID = "\(file)".split(separator: "/").suffix(2).joined(separator: "/")
        filePath = file
        self.line = Int(line)
        column = 1
    }
}

/// Fails the test that runs, whichever of the two frameworks runs it.
func record(_ failure: String, _ place: Place) {
    guard Test.current == nil else {
        let location = SourceLocation(fileID: place.fileID, filePath: "\(place.filePath)", line: place.line, column: place.column)
        Issue.record(Comment(rawValue: failure), sourceLocation: location)
        return
    }
    XCTFail(failure, file: place.filePath, line: UInt(place.line))
}
