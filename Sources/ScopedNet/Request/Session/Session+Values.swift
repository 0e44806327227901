import SystemSupport

/// Several requests at once, for their values.
extension Session {
    /// Starts requests and awaits their values, in the order of the requests.
    ///
    /// ```swift
    /// let stories = try await session.values(of: ids.map { session.get("item/\($0)", as: Story.self) }, atMost: 4)
    /// ```
    ///
    /// The first error ends the wait, and cancels on the wire what is still under way. When the task is cancelled all requests are.
    ///
    /// - Parameters:
    ///   - requests: of this session or of others.
    ///   - limit: the number that is started at a time, at least 1. Default: all at once; the session's limits on connections hold anyway.
    ///   - bag: ends the requests too, if given.
    ///   - fileID: the origin of the runs, for observers.
    ///   - line: the origin of the runs, for observers.
    /// - Returns: the values, in the order of the requests.
    /// - Throws: the error that came first.
    public func values<Value: Sendable>(
        of requests: some Sequence<Request<Value>>, atMost limit: Int = .max, in bag: DeallocBag? = nil, fileID: StaticString = #fileID,
        line: Int = #line
    ) async throws(NetworkError) -> [Value] {
        try await ConcurrentRequests.values(of: Array(requests), atMost: limit) { await $0.result(in: bag, fileID, line) }
    }

    /// Starts requests with values of different types and awaits them all.
    ///
    /// ```swift
    /// let (user, posts) = try await session.values(of: session.get("me", as: User.self), session.get("posts", as: [Post].self))
    /// ```
    ///
    /// The first error cancels the others on the wire. When the task is cancelled all requests are.
    ///
    /// - Throws: the error that came first.
    public func values<each Value: Sendable>(
        of request: repeat Request<each Value>, in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> (repeat each Value) {
        try await ConcurrentRequests.values(of: repeat each request, in: bag, fileID, line)
    }
}
