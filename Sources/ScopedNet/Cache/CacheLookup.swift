import HTTPTypes

/// One request, what is stored for it, and the time: what all parts of a decision look at.
struct CacheLookup {
    let request: CacheRequest
    let wishes: CacheControl
    let candidates: [StoredResponse]
    let now: WallTime
    let strategy: CacheStrategy
    let range: RangeField?
    /// Whether the URL makes a key. What has candidates has one.
    let hasKey: Bool
    /// Candidates that answer such a request by `Vary` and were stored under a policy like this one, the newest last.
    let matching: [Int]

    var policy: CachePolicy { strategy.policy }

    init(_ request: CacheRequest, candidates: [StoredResponse], now: WallTime, strategy: CacheStrategy) {
        self.request = request
        hasKey = !candidates.isEmpty || CacheURL(request.url) != nil
        self.candidates = candidates
        self.now = now
        self.strategy = strategy
        wishes = CacheControl(request: request.fields)
        range = RangeField(request)
        matching = candidates.indices.filter { index in
            let candidate = candidates[index]
            if case .pending = candidate.content { return false }
            return candidate.version == strategy.policy.version && candidate.sensitiveValue == strategy.sensitiveHash
                && candidate.vary.matches(request, hashSecret: strategy.hashSecret)
        }.sorted { StoredResponse.isOlder(candidates[$0], candidates[$1]) }
    }

    /// Whether the network is out of bounds.
    var isOffline: Bool { wishes.onlyIfCached || policy.read == .only }

    /// Why the cache has nothing to say about the request at all.
    var obstacle: ResponseCache.Status.ForwardReason? {
        if !hasKey { return .bypass }
        guard request.method == .get || request.method == .head || policy.keeps(request.method) else { return .method }
        if policy.read == .none || request.hasOriginCondition || request.isUnkeyed(policy) { return .bypass }
        return wishes.noStore ? .request : nil
    }

    /// The newest that holds what is asked for (RFC 9111 section 4).
    var selected: Int? { matching.last { canAnswer(candidates[$0]) } }

    /// Whether the stored bytes are those that are asked for, or all.
    private func canAnswer(_ stored: StoredResponse) -> Bool {
        switch stored.content {
        case .pending: return false
        case .complete:
            // Several ranges are an answer of several parts: the server's business.
            return range != .several || stored.head.status != 200
        case .part(let held, let completeLength):
            guard case .single(let spec) = range, conditionalRangeHolds(stored) else { return false }
            return spec.resolved(length: completeLength).map(held.contains) ?? false
        case .verbatim(let asked, _):
            return request.method == .get && !request.fields.contains(.ifRange) && request.fields.onlyLine(.range) == asked
        }
    }

    /// A beginning that can be completed, when it is newer than what is whole.
    var completable: Int? {
        guard request.method == .get, !request.fields.contains(.range), !request.hasCondition, let index = matching.last,
            case .part(let held, _) = candidates[index].content, held.start == 0, candidates[index].validators.strongTag != nil
        else { return nil }
        return index
    }

    /// `If-Range`: the range counts only if the representation is the one the caller has a part of (RFC 9110 section 13.1.5).
    func conditionalRangeHolds(_ stored: StoredResponse) -> Bool {
        guard request.fields.contains(.ifRange) else { return true }
        guard let condition = request.fields.onlyLine(.ifRange) else { return false }
        let validators = stored.validators
        if let tag = EntityTag(condition) { return validators.tag?.matchesStrongly(tag) ?? false }
        guard validators.isLastModifiedStrong, let time = CacheDate.parse(condition, now: now) else { return false }
        return time == validators.lastModifiedTime
    }
}

extension RangeSpec {
    func resolved(length: Int64?) -> ByteRange? { length.map { resolved(length: $0) } ?? resolvedWithoutLength }
}
