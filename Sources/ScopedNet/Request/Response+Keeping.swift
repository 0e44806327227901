extension Response {
    /// The time for which a layer may keep a product of this response, such as a picture.
    package enum Keeping: Sendable, Equatable {
        /// It came with `no-store`.
        case never
        /// Its remaining lifetime in seconds (RFC 9111 section 4.2); zero where it is stale, or nothing is said.
        case fresh(seconds: Double)
    }

    /// As the response cache judges it, for as long as nothing is said otherwise.
    package var keeping: Keeping {
        let now = WallTime.now
        let facts = StoredFacts(CacheHead(status: status, fields: headers), responseTime: now)
        if facts.control.noStore { return .never }
        if let left = cacheStatus?.timeToLive, cacheStatus?.isHit == true { return .fresh(seconds: Double(max(0, left))) }
        let freshness = Freshness(facts, status: status, times: (now, now), now: now, policy: .standard)
        return .fresh(seconds: facts.control.noCache ? 0 : max(0, freshness.remaining))
    }
}
