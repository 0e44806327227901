import HTTPTypes

extension CacheLookup {
    /// The answer when a stored response has been selected.
    func decide(about index: Int) -> CacheDecision {
        let stored = candidates[index]
        switch reuse(index) {
        case .fresh: return serve(index, isStale: false)
        case .stale: return serve(index, isStale: true)
        case .staleWhileRevalidate:
            guard !isOffline else { return serve(index, isStale: true) }
            let refresh = policy.read == .thenNetwork ? self : refreshing(index)
            return .serveAndForward(answer(index, isStale: true), refresh.validation(.stale, of: index, isBeside: true))
        case .validate(let reason):
            let mayBeServed = mayBeStale(stored) && acceptsStale(stored)
            if policy.read == .only, policy.servesStaleWhenDisconnected, mayBeServed { return serve(index, isStale: true) }
            if policy.read == .thenNetwork, mayBeServed, !wishes.onlyIfCached {
                return .serveAndForward(answer(index, isStale: true), validation(reason, of: index, isBeside: true))
            }
            return forward(reason, validating: index)
        }
    }

    /// The same question without the caller's own conditions and range: what is stored is refreshed, and it is the whole.
    private func refreshing(_ index: Int) -> CacheLookup {
        guard case .complete = candidates[index].content else { return self }
        var request = request
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] { request.fields.remove(name) }
        return CacheLookup(request, candidates: candidates, now: now, strategy: strategy)
    }

    private func serve(_ index: Int, isStale: Bool) -> CacheDecision {
        let answer = answer(index, isStale: isStale)
        guard policy.read == .thenNetwork, !wishes.onlyIfCached else { return .serve(answer) }
        return .serveAndForward(answer, validation(.request, of: index, isBeside: true))
    }

    /// Nothing stored answers the request.
    func miss() -> CacheDecision {
        if isOffline { return unavailable() }
        if let completable { return .forward(completion(of: completable)) }
        if candidates.isEmpty { return .forward(plain(.uriMiss)) }
        if matching.isEmpty { return .forward(variantValidation()) }
        return .forward(plain(.partial))
    }

    func forward(_ reason: ResponseCache.Status.ForwardReason, validating index: Int?) -> CacheDecision {
        if isOffline { return unavailable() }
        return .forward(index.map { validation(reason, of: $0, isBeside: false) } ?? plain(reason))
    }

    private func unavailable() -> CacheDecision {
        .unavailable(.gatewayTimeout(now: now), ResponseCache.Status(detail: "nothing stored may be used, and the network must not be"))
    }
}
