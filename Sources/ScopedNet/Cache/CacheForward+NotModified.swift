import HTTPTypes

extension CacheForward {
    /// A 304: about what is stored, about what the caller has, or about nothing that anybody has.
    func notModified(_ reply: ServerReply) -> CacheOutcome {
        let freshening = Freshening.select(reply, validated: validated, candidates: candidates, acceptsBare: acceptsBareNotModified)
        var status = status(reply)
        guard let chosen = freshening.last else {
            // Without a condition of the cache's own, the 304 is for whoever had one.
            guard !validated.isEmpty, !isCallers(reply.head) else {
                return CacheOutcome(answer: .received, storage: .refuse(.notModified), status: status)
            }
            return CacheOutcome(answer: .again(unconditional), storage: .refuse(.notModified), status: status)
        }
        var outcome = CacheOutcome(answer: .received, storage: .refuse(.notModified), status: status)
        let refreshed = apply(reply, to: freshening, &outcome)
        status.isStored = !outcome.updates.isEmpty
        outcome.status = status
        let lookup = lookup(now: reply.responseTime, candidates: refreshed)
        guard lookup.holds(chosen) else {
            outcome.answer = .again(unconditional)
            return outcome
        }
        outcome.answer = .stored(lookup.answer(chosen, isStale: false, status: status))
        return outcome
    }

    /// Merges the fields into the chosen ones and notes what is to be stored. Returns the candidates as the caller gets them.
    func apply(_ reply: ServerReply, to chosen: [Int], _ outcome: inout CacheOutcome) -> [StoredResponse] {
        var candidates = candidates
        for index in chosen {
            var merged = Freshening.merged(candidates[index], reply)
            let isVaryKept = merged.updateVary(reply.head, for: original, strategy: strategy)
            candidates[index] = merged
            let control = merged.control
            if !control.noCacheFields.isEmpty { merged.head.fields = StorableFields.reusable(merged.head.fields, control) }
            let mayBeKept = !control.noStore || control.mustUnderstand && StorageDecision.understoodStatuses.contains(merged.head.status)
            if isVaryKept, mayBeKept, merged.head.fields.count <= StorableFields.maxFields, !strategy.policy.write.isEmpty {
                outcome.updates.append(CandidateUpdate(candidate: index, response: merged))
            } else {
                outcome.removals.append(index)
            }
        }
        return candidates
    }

    /// Whether the caller's own condition explains the 304.
    private func isCallers(_ head: CacheHead) -> Bool {
        guard original.hasCondition else { return false }
        guard let tag = EntityTag(of: head.fields), original.fields.contains(.ifNoneMatch) else { return true }
        return original.fields.lines(.ifNoneMatch).contains { line in
            FieldText.trimmed(line[...]) == "*" || EntityTag.list(line).contains { $0.matchesWeakly(tag) }
        }
    }
}

extension CacheLookup {
    /// Whether the candidate's bytes answer the request, whatever `Vary` says: the server has just said that it is the right one.
    func holds(_ index: Int) -> Bool {
        switch (candidates[index].content, range) {
        case (.complete, .several): candidates[index].head.status != 200
        case (.complete, _): true
        default: selected == index
        }
    }
}

extension StoredResponse {
    /// The response answers this request too, which may have other values than those it was got for. A 304 may bring another `Vary`.
    ///
    /// - Returns: false when the new `Vary` fits no request.
    fileprivate mutating func updateVary(_ reply: CacheHead, for request: CacheRequest, strategy: CacheStrategy) -> Bool {
        guard let rule = VaryRule(head.fields, for: request, hashSecret: strategy.hashSecret) else { return false }
        if rule.names == vary.names {
            vary.extend(to: request, hashSecret: strategy.hashSecret)
        } else {
            // For what other values of the new fields it is good nobody has said.
            vary = rule
        }
        return true
    }
}
