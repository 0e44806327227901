import HTTPTypes

extension CacheForward {
    /// The response to a HEAD is what a GET would have said: it refreshes what is stored, or shows that it is wrong (RFC 9111 section 4.3.5).
    func headReceived(_ reply: ServerReply) -> CacheOutcome {
        var outcome = CacheOutcome(answer: .received, storage: .refuse(.method), status: status(reply))
        guard reply.head.status == 200 else { return outcome }
        let matching = lookup(now: reply.responseTime).matching
        let (same, other) = partition(matching, reply)
        for index in other {
            var contradicted = candidates[index]
            contradicted.isInvalidated = true
            outcome.updates.append(CandidateUpdate(candidate: index, response: contradicted))
        }
        let refreshed = apply(reply, to: same, &outcome)
        outcome.status.isStored = outcome.updates.contains { same.contains($0.candidate) }
        // The stored head has fields that a server may leave out of the answer to a HEAD (RFC 9110 section 9.3.2).
        guard let chosen = same.last, chosen == matching.last, case .complete = candidates[chosen].content else { return outcome }
        outcome.answer = .stored(
            lookup(now: reply.responseTime, candidates: refreshed).answer(chosen, isStale: false, status: outcome.status))
        return outcome
    }

    /// Those that the head could be of, and the others.
    private func partition(_ indices: [Int], _ reply: ServerReply) -> (same: [Int], other: [Int]) {
        var parts: (same: [Int], other: [Int]) = ([], [])
        for index in indices where (200..<300).contains(candidates[index].head.status) {
            if isOf(candidates[index], reply) { parts.same.append(index) } else { parts.other.append(index) }
        }
        return parts
    }

    private func isOf(_ stored: StoredResponse, _ reply: ServerReply) -> Bool {
        let received = Validators(reply.head, now: reply.responseTime)
        let held = stored.validators
        if let tag = received.tag, held.tag != tag { return false }
        if let modified = received.lastModifiedTime, held.lastModifiedTime != modified { return false }
        guard let length = reply.head.contentLength else { return true }
        switch stored.content {
        case .complete(let held): return length == held
        case .part(_, let completeLength): return length == completeLength
        case .pending, .verbatim: return false
        }
    }
}
