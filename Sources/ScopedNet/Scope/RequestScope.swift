/// A scope that cannot be copied and so cannot outlive the place that made it: for functions and actors.
public struct RequestScope: ~Copyable, Sendable {
    /// The bag of this scope; it ends with it.
    public let bag: DeallocBag

    /// Makes a scope with an empty bag. The label names it in events; by default it is the file and line of the call.
    public init(label: String? = nil, fileID: StaticString = #fileID, line: Int = #line) {
        bag = DeallocBag(label: label, fileID: fileID, line: line)
    }

    /// Ends the scope before its place does.
    @discardableResult
    public consuming func end() -> DeallocBag.CancelSummary { bag.end(.ownerReleased) }

    deinit { bag.end(.ownerReleased) }
}

/// Runs `body` with a scope that ends when it returns or throws: whatever still runs in it is cancelled.
@discardableResult
public func withRequestScope<Result>(
    isolation: isolated (any Actor)? = #isolation, label: String? = nil, fileID: StaticString = #fileID, line: Int = #line,
    _ body: (borrowing RequestScope) async throws -> Result
) async rethrows -> Result {
    let scope = RequestScope(label: label, fileID: fileID, line: line)
    return try await body(scope)
}
