#if TestServer
extension LoopbackServer {
    /// Everything recorded so far, in order.
    ///
    /// A request is recorded when its body is complete, when the script answers it before that, or when the client leaves
    /// half-way.
    public var requests: [RecordedRequest] { core.ledger.read(\.requests) }

    /// Connections accepted since the beginning.
    public var connectionsAccepted: Int { core.ledger.read(\.connectionsAccepted) }

    /// Connections open now.
    public var openConnections: Int { core.ledger.read(\.openConnections) }

    /// The most connections that were open at one time.
    public var maxOpenConnections: Int { core.ledger.read(\.maxOpenConnections) }

    /// Requests begun and not yet answered to the end.
    public var concurrentRequests: Int { core.ledger.read(\.concurrentRequests) }

    /// The most requests that were being answered at one time.
    public var maxConcurrentRequests: Int { core.ledger.read(\.maxConcurrentRequests) }

    /// Bytes of all responses handed to the kernel: heads, framing and payload.
    public var bytesSent: Int { core.ledger.read(\.bytesSent) }

    /// The next request nobody has taken yet; waits for it when there is none.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func takeRequest() async throws -> RecordedRequest {
        try await core.ledger.wait { $0.take() }
    }

    /// Waits until so many requests were recorded, of all paths or of one.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForRequests(_ count: Int, path: String? = nil) async throws {
        try await core.ledger.wait { $0.requestCount(path: path) >= count ? () : nil }
    }

    /// Waits until the number of open connections is as wanted. What is tried is the newest number after each change.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForOpenConnections(_ isWanted: (Int) -> Bool) async throws {
        try await core.ledger.wait(where: { isWanted($0.openConnections) })
    }

    /// Waits until nothing is being answered: every client has had its response, or has left. What a leak test awaits after it has let go
    /// of the owner.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForClientsToLeave() async throws {
        try await core.ledger.wait { $0.concurrentRequests == 0 ? () : nil }
    }

    /// Waits until at least so many responses stand still.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForStalls(_ count: Int = 1) async throws {
        try await core.ledger.wait { $0.stalledResponses >= count ? () : nil }
    }
}
#endif
