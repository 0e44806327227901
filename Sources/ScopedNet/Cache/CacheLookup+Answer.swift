import HTTPTypes

extension CacheLookup {
    /// What the caller gets of a candidate: a 304 to a condition of its own, a part if it asked for one, no body if it asked for none.
    func answer(_ index: Int, isStale: Bool, status: ResponseCache.Status? = nil) -> CachedAnswer {
        let stored = candidates[index]
        let freshness = freshness(stored)
        var head = stored.head
        head.fields.setText(.age, AgeField.text(freshness.age))
        let status = status ?? .hit(freshness)
        func answer(_ head: CacheHead, _ body: ServedBody) -> CachedAnswer {
            CachedAnswer(candidate: index, head: head, body: request.method == .head ? .none : body, isStale: isStale, status: status)
        }
        if (200..<300).contains(stored.head.status), conditionIsMet(stored) { return answer(head.asNotModified, .none) }
        guard case .single(let spec) = range else { return answer(head, .whole) }
        switch stored.content {
        case .pending, .verbatim: return answer(head, .whole)
        case .complete(let length):
            guard stored.head.status == 200, conditionalRangeHolds(stored) else { return answer(head, .whole) }
            guard let asked = spec.resolved(length: length) else { return answer(head.asUnsatisfiable(length: length), .none) }
            return answer(head.asPartial(asked, completeLength: length), .slice(asked.start..<asked.end))
        case .part(let held, let completeLength):
            guard let asked = spec.resolved(length: completeLength), held.contains(asked) else { return answer(head, .whole) }
            let slice = (asked.start - held.start)..<(asked.end - held.start)
            return answer(head.asPartial(asked, completeLength: completeLength), .slice(slice))
        }
    }

    /// Whether the caller has this response already (RFC 9111 section 4.3.2, RFC 9110 section 13.2.2).
    private func conditionIsMet(_ stored: StoredResponse) -> Bool {
        guard request.method == .get || request.method == .head else { return false }
        let lines = request.fields.lines(.ifNoneMatch)
        if !lines.isEmpty {
            if lines.contains(where: { FieldText.trimmed($0[...]) == "*" }) { return true }
            guard let tag = stored.validators.tag else { return false }
            return lines.flatMap(EntityTag.list).contains { $0.matchesWeakly(tag) }
        }
        guard let line = request.fields.onlyLine(.ifModifiedSince), let since = CacheDate.parse(line, now: now) else { return false }
        return (stored.validators.lastModifiedTime ?? stored.date) <= since
    }
}

extension CacheHead {
    /// The 304 that says so: without the fields that describe a body (RFC 9110 section 15.4.5).
    var asNotModified: CacheHead {
        var head = self
        head.status = 304
        if !reason.isEmpty { head.reason = "Not Modified" }
        for name in [HTTPField.Name.contentLength, .contentEncoding, .contentType, .contentRange, .contentLanguage] {
            head.fields.remove(name)
        }
        return head
    }

    /// RFC 9110 section 15.5.17.
    func asUnsatisfiable(length: Int64) -> CacheHead {
        var head = CacheHead(status: 416, reason: reason.isEmpty ? "" : "Range Not Satisfiable")
        for name in [HTTPField.Name.date, .age, .eTag, .lastModified] { head.fields[fields: name] = fields[fields: name] }
        head.fields.setText(.contentRange, ContentRange(range: nil, completeLength: length).description)
        head.fields.setText(.contentLength, "0")
        return head
    }
}
