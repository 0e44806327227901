/// Where the resolution of a host's name stands (pure).
struct HostResolution {
    /// The last good answer: a failure does not take it away.
    private(set) var addresses: [IPAddress] = []
    private(set) var hasFailed = false
    private var isUnderWay = false
    private var isWantedAgain = false
    private var failures = 0
    private(set) var retryAt: Duration?

    /// Why there is no address to ask about.
    var reason: NetworkPath.Reason? {
        guard addresses.isEmpty else { return nil }
        return hasFailed ? .nameNotResolved : .resolving
    }

    /// - Returns: whether to resolve now. One that is under way is repeated after it: its answer may be older than the reason to ask.
    mutating func want() -> Bool {
        retryAt = nil
        guard !isUnderWay else {
            isWantedAgain = true
            return false
        }
        isUnderWay = true
        return true
    }

    /// - Returns: whether to resolve once more.
    mutating func finish(_ answer: [IPAddress]?, now: Duration) -> Bool {
        isUnderWay = false
        if let answer, !answer.isEmpty {
            addresses = answer
            hasFailed = false
            failures = 0
        } else {
            hasFailed = true
            failures += 1
            retryAt = now + .seconds(min(1 << min(failures - 1, 6), 60))
        }
        guard isWantedAgain else { return false }
        isWantedAgain = false
        return want()
    }

    mutating func takeRetry(now: Duration) -> Bool {
        guard let retryAt, retryAt <= now else { return false }
        return want()
    }

    /// A life of the member ended, and with it what was under way and what had failed.
    mutating func reset() {
        hasFailed = false
        isUnderWay = false
        isWantedAgain = false
        failures = 0
        retryAt = nil
    }
}
