#if TestServer
/// Everything a server has seen, as plain counting: no lock, no I/O.
struct Ledger: Sendable {
    private(set) var requests: [RecordedRequest] = []
    private var requestsByPath: [String: Int] = [:]
    private var taken = 0

    private(set) var connectionsAccepted = 0
    private(set) var openConnections = 0
    private(set) var maxOpenConnections = 0
    private(set) var concurrentRequests = 0
    private(set) var maxConcurrentRequests = 0
    private(set) var stalledResponses = 0
    private(set) var bytesSent = 0
    var isStopping = false

    /// Counts a connection, and gives it its number.
    mutating func connectionOpened() -> Int {
        connectionsAccepted += 1
        openConnections += 1
        maxOpenConnections = max(maxOpenConnections, openConnections)
        return connectionsAccepted
    }

    mutating func connectionClosed() {
        openConnections -= 1
    }

    mutating func requestBegan() {
        concurrentRequests += 1
        maxConcurrentRequests = max(maxConcurrentRequests, concurrentRequests)
    }

    mutating func requestEnded() {
        concurrentRequests -= 1
    }

    mutating func responseStalled() {
        stalledResponses += 1
    }

    mutating func responseResumed() {
        stalledResponses -= 1
    }

    mutating func sent(_ bytes: Int) {
        bytesSent += bytes
    }

    mutating func record(_ request: RecordedRequest) {
        requests.append(request)
        requestsByPath[request.path, default: 0] += 1
    }

    /// The oldest request nobody has taken yet.
    mutating func take() -> RecordedRequest? {
        guard taken < requests.count else { return nil }
        defer { taken += 1 }
        return requests[taken]
    }

    func requestCount(path: String?) -> Int {
        guard let path else { return requests.count }
        return requestsByPath[path, default: 0]
    }
}
#endif
