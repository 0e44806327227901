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
        let control = stored.control
        (source, lifetime) = Self.lifetime(stored, control, policy)
        let age = Self.age(stored, now: now)
        self.age = age.seconds
        isClockBehind = age.isClockBehind
    }

    /// How far the clock may be set back before stored times mean nothing: more than the small corrections that keep clocks right.
    static let clockTolerance = 10.0

    /// The statuses that may be stored and reused without a word about it (RFC 9110 section 15.1).
    static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    /// Section 4.2.3. The clock may have been set back since: then the response would stay young for as long again.
    private static func age(_ stored: StoredResponse, now: WallTime) -> (seconds: Double, isClockBehind: Bool) {
        let apparentAge = max(0, stored.responseTime - stored.date)
        let responseDelay = max(0, stored.responseTime - stored.requestTime)
        let correctedAge = (AgeField.parse(stored.head.fields) ?? 0) + responseDelay
        let resident = now - stored.responseTime
        let age = max(apparentAge, correctedAge) + max(0, resident)
        return (min(age, DeltaSeconds.largest), resident < -clockTolerance)
    }

    private static func lifetime(_ stored: StoredResponse, _ control: CacheControl, _ policy: CachePolicy) -> (Source, Double) {
        if let timeToLive = policy.timeToLive, (200..<300).contains(stored.head.status) { return (.policy, timeToLive.deltaSeconds) }
        if let maxAge = control.maxAge { return (.maxAge, maxAge) }
        switch ExpiresField(stored.head.fields, now: stored.responseTime) {
        case .at(let time): return (.expires, max(0, time - stored.date))
        case .invalid: return (.expires, 0)
        case .absent: break
        }
        guard policy.usesHeuristics, heuristicStatuses.contains(stored.head.status) || control.isPublic,
            let modified = stored.validators.lastModifiedTime
        else { return (.none, 0) }
        return (.heuristic, min(max(0, stored.date - modified) / 10, 86_400))
    }
}

extension CacheControl {
    /// Whether a response with these fields says for how long it is good.
    func hasExplicitLifetime(_ expires: ExpiresField) -> Bool { maxAge != nil || expires != .absent }
}
