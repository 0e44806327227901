/// Until when a stored response is of use, for whoever has to choose what to keep. A hint: decisions are made from the fields, by the reader's
/// policy.
package struct CacheHorizon: Sendable, Equatable {
    /// The end of its lifetime, which may lie before it came.
    package var fresh: WallTime
    /// The end of `stale-while-revalidate`; ``fresh`` when there is none.
    package var staleWhileRevalidate: WallTime
    /// The end of `stale-if-error`; ``fresh`` when there is none.
    package var staleIfError: WallTime
    /// Whether the server can say by a 304 that it is still good.
    package var canBeValidated: Bool
}

extension StoredResponse {
    /// The times until which the response is of use, under the policy it is stored with.
    package func horizon(_ policy: CachePolicy) -> CacheHorizon {
        CacheHorizon(
            facts, Freshness(self, now: responseTime, policy: policy), responseTime: responseTime, isInvalidated: isInvalidated)
    }
}

extension CacheHorizon {
    /// Computes the times from the freshness at the moment when the response came.
    init(_ facts: StoredFacts, _ freshness: Freshness, responseTime: WallTime, isInvalidated: Bool) {
        let control = facts.control
        let isUsable = !isInvalidated && (!control.noCache || freshness.source == .policy)
        let fresh = responseTime + (isUsable ? freshness.remaining : 0)
        let mayBeStale = isUsable && !control.mustRevalidate
        self.init(
            fresh: fresh, staleWhileRevalidate: fresh + (mayBeStale ? control.staleWhileRevalidate ?? 0 : 0),
            staleIfError: fresh + (mayBeStale ? control.staleIfError ?? 0 : 0), canBeValidated: !facts.validators.isEmpty)
    }
}
