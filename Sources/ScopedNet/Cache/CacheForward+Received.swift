import HTTPTypes

extension CacheForward {
    /// Decides about the server's response.
    ///
    /// - Parameters:
    ///   - head: with a final status; interim responses are not for the cache.
    ///   - requestTime: when the request was sent, by the wall clock.
    ///   - responseTime: when the head came, by the wall clock.
    /// - Returns: the response to deliver, and what is stored or invalidated.
    package func received(_ head: CacheHead, requestTime: WallTime, responseTime: WallTime) -> CacheOutcome {
        let reply = ServerReply(head: head, requestTime: requestTime, responseTime: responseTime)
        // Its answer is the server's, whatever the status: a 304 is no error and invalidates as well.
        if isInvalidating { return plain(reply) }
        if completing != nil, let outcome = completed(reply) { return outcome }
        if head.status == 304 { return notModified(reply) }
        if let outcome = staleIsBetter(reply) { return outcome }
        if original.method == .head { return headReceived(reply) }
        return plain(reply)
    }

    /// The response is what the caller gets.
    func plain(_ reply: ServerReply) -> CacheOutcome {
        let storage = storage(reply)
        var outcome = CacheOutcome(answer: .received, storage: storage, status: status(reply))
        outcome.status.detail = storage.reason?.description
        outcome.status.isStored = storage.reason == nil
        if isInvalidating {
            outcome.invalidation = Invalidation(original, reply.head, strategy: strategy)
        } else if storage.reason != nil, let selected, contradicts(reply.head) {
            // The server has something else by now, which is not to be stored: what was asked about is wrong all the same.
            outcome.removals = [selected]
        }
        return outcome
    }

    /// Whether the method may change what is stored (RFC 9111 section 4.4).
    private var isInvalidating: Bool { !original.method.isKnownSafe && !strategy.policy.keeps(original.method) }

    private func contradicts(_ head: CacheHead) -> Bool {
        (200..<400).contains(head.status) && head.status != 206 || head.status == 404 || head.status == 410
    }

    func status(_ reply: ServerReply) -> ResponseCache.Status {
        ResponseCache.Status(forward: reason, forwardStatus: reply.head.status)
    }

    func storage(_ reply: ServerReply) -> StorageDecision {
        guard hasKey else { return .refuse(.url) }
        var stored: StoredResponse
        switch reply.stored(for: original, strategy: strategy) {
        case .success(let response): stored = response
        case .failure(let refusal): return .refuse(refusal.reason)
        }
        var body: [BodyPiece] = [.received]
        if let joined = joinedWithStored(stored) { (stored, body) = joined }
        return .store(stored, body: body, replacing: isInvalidating ? [] : replaced(by: stored, now: reply.responseTime))
    }

    /// Which candidates go when this is committed, of those that ``StorageDecision/store(_:body:replacing:)`` names: a part does not take the place
    /// of a whole, which is good for something still.
    package func leaving(_ replacing: [Int], for stored: StoredResponse) -> [Int] {
        guard case .part = stored.content else { return replacing }
        return replacing.filter { index in
            if case .complete = candidates[index].content { false } else { true }
        }
    }

    /// What goes when this one comes: what answered the same request, and the oldest when there are too many.
    private func replaced(by stored: StoredResponse, now: WallTime) -> [Int] {
        let same = candidates.indices.filter { index in
            let candidate = candidates[index]
            if case .verbatim(let old, _) = candidate.content {
                // Answers to other ranges do not stand in each other's way.
                guard case .pending(.verbatim(let new, _)) = stored.content, old == new else { return false }
            } else if case .pending(.verbatim) = stored.content {
                return false
            }
            return candidate.vary.matches(original, hashSecret: strategy.hashSecret)
        }
        let others = candidates.indices.filter { !same.contains($0) }.sorted { StoredResponse.isOlder(candidates[$0], candidates[$1]) }
        return same + others.prefix(max(0, others.count + 1 - strategy.policy.variantLimit))
    }
}

/// A response as it came, and when.
struct ServerReply {
    let head: CacheHead
    let requestTime: WallTime
    let responseTime: WallTime

    /// As it is to be stored, or why it is not.
    func stored(for request: CacheRequest, strategy: CacheStrategy) -> Result<StoredResponse, Refusal> {
        let control = CacheControl(head.fields)
        let stored = StorableFields.head(head, control, receivedAt: responseTime)
        let facts = StoredFacts(stored, control, responseTime: responseTime)
        if let reason = StorageDecision.obstacle(head, facts, to: request, policy: strategy.policy) {
            return .failure(Refusal(reason: reason))
        }
        guard let vary = VaryRule(head.fields, for: request, hashSecret: strategy.hashSecret) else {
            return .failure(Refusal(reason: .varyStar))
        }
        return .success(
            StoredResponse(
                pending: StorageDecision.pending(head, for: request), head: stored, facts: facts, method: request.method,
                requestTime: requestTime, responseTime: responseTime, vary: vary, strategy: strategy))
    }

    struct Refusal: Error {
        let reason: StorageDecision.Reason
    }
}

extension StorageDecision {
    package var reason: Reason? {
        if case .refuse(let reason) = self { reason } else { nil }
    }
}
