/// How old a stored response is, and for how long it is good (RFC 9111 section 4.2). In seconds.
package struct Freshness: Sendable, Equatable {
    /// Where the lifetime is from.
    package enum Source: Sendable, Equatable {
        /// ``CachePolicy/timeToLive``.
        case policy
        case maxAge, expires
        /// A tenth of the time since it was last changed.
        case heuristic
        /// Nothing says how long: the lifetime is zero.
        case none
    }

    package let source: Source
    package let lifetime: Double
    /// Since the server made it.
    package let age: Double
    /// The wall clock here shows an earlier time than when the response came, so that the age is anybody's guess.
    package let isClockBehind: Bool

    /// What is left of the lifetime; below zero for how long it is over.
    package var remaining: Double { lifetime - age }
    package var isFresh: Bool { remaining > 0 && !isClockBehind }
    /// For how long the lifetime is over; unbounded when nobody knows.
    package var staleness: Double { isClockBehind ? .infinity : max(0, -remaining) }

    package init(_ stored: StoredResponse, now: WallTime, policy: CachePolicy) {
        self.init(
            stored.facts, status: stored.head.status, times: (stored.requestTime, stored.responseTime), now: now, policy: policy)
    }

    init(_ facts: StoredFacts, status: Int, times: (request: WallTime, response: WallTime), now: WallTime, policy: CachePolicy) {
        if let timeToLive = policy.timeToLive, (200..<300).contains(status) {
            (source, lifetime) = (.policy, timeToLive.deltaSeconds)
        } else if policy.usesHeuristics, let guess = facts.heuristicLifetime {
            (source, lifetime) = (.heuristic, guess)
        } else {
            (source, lifetime) = (facts.lifetime.source, facts.lifetime.seconds)
        }
        // Section 4.2.3. The clock may have been set back since: then the response would stay young for as long again.
        let apparentAge = max(0, times.response - facts.date)
        let responseDelay = max(0, times.response - times.request)
        let correctedAge = facts.ageWhenReceived + responseDelay
        let resident = now - times.response
        age = min(max(apparentAge, correctedAge) + max(0, resident), DeltaSeconds.largest)
        isClockBehind = resident < -Self.clockTolerance
    }

    /// How far the clock may be set back before stored times mean nothing: more than the small corrections that keep clocks right.
    static let clockTolerance = 10.0

    /// The statuses that may be stored and reused without a word about it (RFC 9110 section 15.1).
    static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
}
