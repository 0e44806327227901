/// Whether a stale response is better than an error (RFC 9111 section 4.2.4, RFC 5861 section 4).
enum AfterFailure {
    enum Failure: Equatable {
        case noResponse
        case status(Int)
    }

    enum Verdict: Equatable {
        /// The error is the answer.
        case pass
        case serveStale
        /// The server has forbidden to use what is stored without its word, so that there is nothing to give (RFC 9111 section 5.2.2.2).
        case unavailable
    }

    /// What RFC 5861 calls an error.
    static let errors: Set<Int> = [500, 502, 503, 504]

    static func decide(_ failure: Failure, stored: StoredResponse, _ lookup: CacheLookup) -> Verdict {
        guard lookup.mayBeStale(stored) else { return failure == .noResponse ? .unavailable : .pass }
        // One error is no better than another.
        guard stored.head.status < 500 else { return .pass }
        let freshness = lookup.freshness(stored)
        let windows = [stored.control.staleIfError, lookup.wishes.staleIfError].compactMap(\.self)
        // Somebody has said for how long: then that is the answer, both ways.
        if !windows.isEmpty, !lookup.wishes.noCache {
            return windows.contains { freshness.staleness <= $0 } ? .serveStale : .pass
        }
        guard lookup.policy.servesStaleWhenDisconnected, failure != .status(500), lookup.acceptsStale(stored) else { return .pass }
        return .serveStale
    }
}
