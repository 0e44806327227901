extension CacheLookup {
    /// Whether a stored response may be given without asking the server (RFC 9111 sections 4 and 5.2).
    enum Reuse: Equatable {
        case fresh
        /// Past its lifetime, but the caller has said that it will do.
        case stale
        /// Past its lifetime, and to be refreshed meanwhile (RFC 5861 section 3).
        case staleWhileRevalidate
        /// Not before the server has said so.
        case validate(ResponseCache.Status.ForwardReason)

        var isForward: Bool {
            if case .validate = self { true } else { false }
        }
    }

    func freshness(_ stored: StoredResponse) -> Freshness { Freshness(stored, now: now, policy: policy) }

    func reuse(_ index: Int) -> Reuse {
        let stored = candidates[index]
        let control = stored.control
        let freshness = freshness(stored)
        let isOwnersWord = freshness.source == .policy && freshness.isFresh
        if stored.isInvalidated || control.noCache && !isOwnersWord { return .validate(.stale) }
        if let objection = objection(freshness, isImmutable: control.immutable) { return .validate(objection) }
        if freshness.isFresh { return .fresh }
        if control.mustRevalidate { return .validate(.stale) }
        if let maxStale = wishes.maxStale, freshness.staleness <= maxStale { return .stale }
        if let window = control.staleWhileRevalidate, freshness.staleness <= window, wishes.maxAge == nil, wishes.minFresh == nil {
            return .staleWhileRevalidate
        }
        return .validate(.stale)
    }

    /// What the request has against a response of this age (RFC 9111 section 5.2.1).
    private func objection(_ freshness: Freshness, isImmutable: Bool) -> ResponseCache.Status.ForwardReason? {
        if wishes.noCache { return .request }
        let isReload = policy.read == .revalidate || wishes.maxAge == 0
        // What never changes while it is fresh would only cost a round trip (RFC 8246 section 2).
        if isReload, !isImmutable || !freshness.isFresh { return .request }
        if let maxAge = wishes.maxAge, maxAge > 0, freshness.age > maxAge { return .request }
        if let minFresh = wishes.minFresh, freshness.remaining < minFresh { return .request }
        return nil
    }

    /// Whether a stored response may be given stale at all, if there is a good reason (RFC 9111 section 4.2.4).
    func mayBeStale(_ stored: StoredResponse) -> Bool {
        let control = stored.control
        return !stored.isInvalidated && !control.noCache && !control.mustRevalidate
    }

    /// Whether the request takes a response that is past its lifetime.
    func acceptsStale(_ stored: StoredResponse) -> Bool {
        if wishes.noCache || wishes.minFresh != nil { return false }
        return wishes.maxAge.map { freshness(stored).age <= $0 } ?? true
    }
}
