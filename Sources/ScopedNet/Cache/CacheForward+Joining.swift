import HTTPTypes

/// Parts of one representation put together (RFC 9111 section 3.4).
extension CacheForward {
    /// The answer to a request for the rest of a beginning, or nil when the response stands for itself.
    func completed(_ reply: ServerReply) -> CacheOutcome? {
        guard let completing, case .part(let held, let heldLength) = candidates[completing].content else { return nil }
        switch reply.head.status {
        case 206: break
        // The beginning is no beginning of what there is now, or there is no rest.
        case 304, 412, 416: return startOver(reply, completing)
        default: return nil
        }
        guard let content = ContentRange(reply.head.fields), let range = content.range, range.start == held.end,
            let length = content.completeLength, range.end == length, heldLength == nil || heldLength == length,
            isSameRepresentation(candidates[completing], reply.head),
            reply.head.contentLength.map({ $0 == range.count }) ?? true
        else { return startOver(reply, completing) }
        let whole = CacheHead.whole(candidates[completing].head, reply, length: length)
        let pieces: [BodyPiece] = [.stored(candidate: completing, 0..<held.count), .received]
        return CacheOutcome(
            answer: .joined(whole, pieces), storage: storageOfWhole(reply, whole, held, length, pieces, completing), status: status(reply)
        ).markedStored
    }

    private func startOver(_ reply: ServerReply, _ index: Int) -> CacheOutcome {
        CacheOutcome(answer: .again(unconditional), storage: .refuse(.partial), removals: [index], status: status(reply))
    }

    private func storageOfWhole(
        _ reply: ServerReply, _ whole: CacheHead, _ held: ByteRange, _ length: Int64, _ pieces: [BodyPiece], _ index: Int
    ) -> StorageDecision {
        let joined = ServerReply(head: whole, requestTime: reply.requestTime, responseTime: reply.responseTime)
        var stored: StoredResponse
        switch joined.stored(for: original, strategy: strategy) {
        case .success(let response): stored = response
        case .failure(let refusal): return .refuse(refusal.reason)
        }
        guard let all = ByteRange(0, length) else { return .refuse(.partial) }
        stored.content = .pending(.part(all, completeLength: length, prefix: held.count, suffix: 0))
        let same = lookup(now: reply.responseTime).matching
        return .store(stored, body: pieces, replacing: same.contains(index) ? same : same + [index])
    }

    /// A part that touches a stored part of the same representation becomes one with it.
    func joinedWithStored(_ stored: StoredResponse) -> (StoredResponse, [BodyPiece])? {
        guard case .pending(.part(let new, let newLength, _, _)) = stored.content else { return nil }
        let parts = candidates.indices.filter { index in
            if case .part = candidates[index].content { true } else { false }
        }
        for index in parts.reversed() where candidates[index].vary.matches(original, hashSecret: strategy.hashSecret) {
            guard case .part(let held, let heldLength) = candidates[index].content, isSameRepresentation(candidates[index], stored.head),
                heldLength == nil || newLength == nil || heldLength == newLength, let union = held.union(new)
            else { continue }
            let prefix = max(0, new.start - held.start)
            let suffix = max(0, held.end - new.end)
            var pieces: [BodyPiece] = [.received]
            if prefix > 0 { pieces.insert(.stored(candidate: index, 0..<prefix), at: 0) }
            if suffix > 0 { pieces.append(.stored(candidate: index, (held.count - suffix)..<held.count)) }
            var joined = stored
            var fields = Freshening.update(candidates[index].head.fields, by: stored.head.fields)
            guard fields.count < StorableFields.maxFields else { continue }
            fields.setText(.contentRange, ContentRange(range: union, completeLength: newLength ?? heldLength).description)
            joined.head.fields = fields
            joined.content = .pending(.part(union, completeLength: newLength ?? heldLength, prefix: prefix, suffix: suffix))
            return (joined, pieces)
        }
        return nil
    }

    /// A part need not repeat the coding (RFC 9110 section 15.3.7). One that names another is of other bytes, whatever its tag.
    private func isSameCoding(_ stored: CacheHead, _ part: CacheHead) -> Bool {
        guard part.fields.contains(.contentEncoding) else { return true }
        return stored.fields.members(.contentEncoding).map { $0.lowercased() }
            == part.fields.members(.contentEncoding).map { $0.lowercased() }
    }

    private func isSameRepresentation(_ stored: StoredResponse, _ head: CacheHead) -> Bool {
        guard let held = stored.validators.strongTag, let tag = EntityTag(of: head.fields) else { return false }
        return held.matchesStrongly(tag) && isSameCoding(stored.head, head)
    }
}

extension CacheHead {
    /// The head of the whole, with the fields of the newer part in place of those of the older one.
    fileprivate static func whole(_ stored: CacheHead, _ reply: ServerReply, length: Int64) -> CacheHead {
        var head = stored
        head.fields = Freshening.update(stored.fields, by: StorableFields.withoutPerConnection(reply.head.fields))
        if !reply.head.fields.contains(.age) { head.fields.remove(.age) }
        if !reply.head.fields.contains(.date) { head.fields.setText(.date, reply.responseTime.date.description) }
        return head.asWhole(length: length)
    }
}

extension CacheOutcome {
    fileprivate var markedStored: CacheOutcome {
        var outcome = self
        outcome.status.isStored = storage.reason == nil
        outcome.status.detail = storage.reason?.description
        return outcome
    }
}
