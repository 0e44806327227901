import HTTPTypes

/// The rules of a private cache (RFC 9111): what is served, sent, stored, refreshed and thrown away. Values in, values out.
///
/// One exchange is three steps: ``decide(_:candidates:now:)`` before the network is asked; ``CacheForward/received(_:requestTime:responseTime:)``
/// or ``CacheForward/failed(now:)`` after; and ``StoredResponse/completed(bodyLength:)`` when the body has come.
package struct CacheStrategy: Sendable {
    package let policy: CachePolicy
    package let hashSecret: SecretHash
    /// Of ``CachePolicy/sensitiveValue``.
    let sensitiveHash: String?

    /// Makes the rules of a policy; `hashSecret` is a keyed hash, the same for as long as the store lives.
    package init(policy: CachePolicy = .standard, hashSecret: @escaping SecretHash) {
        self.policy = policy
        self.hashSecret = hashSecret
        sensitiveHash = policy.sensitiveValue.map { hashSecret(Array($0.utf8)) }
    }

    /// What the candidates of a request are kept by, or nil when its URL makes no key; then nothing is served and nothing stored.
    package func key(for request: CacheRequest) -> CacheKey? {
        CacheKey(request, policy: policy, hashSecret: hashSecret)
    }

    /// Decides before the network is asked.
    ///
    /// - Parameters:
    ///   - request: as the caller wants it sent.
    ///   - candidates: everything stored under the request's key.
    ///   - now: the wall clock.
    /// - Returns: a stored response to serve, or the request to send.
    package func decide(_ request: CacheRequest, candidates: [StoredResponse], now: WallTime) -> CacheDecision {
        let lookup = CacheLookup(request, candidates: candidates, now: now, strategy: self)
        if let reason = lookup.obstacle { return lookup.forward(reason, validating: nil) }
        guard let selected = lookup.selected else { return lookup.miss() }
        if !lookup.isOffline, lookup.completable != nil, lookup.reuse(selected).isForward { return lookup.miss() }
        return lookup.decide(about: selected)
    }
}
