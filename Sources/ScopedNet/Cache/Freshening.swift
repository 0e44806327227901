import HTTPTypes

/// Which stored responses a 304 is about, and what it makes of them (RFC 9111 sections 4.3.4 and 3.2).
enum Freshening {
    /// Finds the candidates to update, the newest last; the last one is the answer. Empty when the 304 is about none of them.
    ///
    /// `acceptsBare` is true where a 304 without a validator can only mean the one that was asked about.
    static func select(_ reply: ServerReply, validated: [Int], candidates: [StoredResponse], acceptsBare: Bool) -> [Int] {
        let ordered = validated.sorted { StoredResponse.isOlder(candidates[$0], candidates[$1]) }
        let received = Validators(reply.head, now: reply.responseTime)
        if let tag = received.tag {
            let strong = ordered.filter { candidates[$0].validators.tag?.matchesStrongly(tag) ?? false }
            if !strong.isEmpty { return strong }
            // A server that compresses on the fly weakens the tag of the 200 and leaves that of the 304 as it was: the opaque part is its word.
            if let weak = ordered.last(where: { candidates[$0].validators.tag?.matchesWeakly(tag) ?? false }) { return [weak] }
        }
        if let modified = received.lastModifiedTime {
            // The date says nothing where tags differ.
            let dated = ordered.last { index in
                let held = candidates[index].validators
                return held.lastModifiedTime == modified && (received.tag == nil || held.tag == nil)
            }
            return dated.map { [$0] } ?? []
        }
        guard received.tag == nil else { return [] }
        return acceptsBare ? ordered.suffix(1) : []
    }

    /// Fields that describe the stored body, or the message that came.
    private static let kept: Set<String> = ["content-encoding", "content-length", "content-range", "content-type"]

    /// The stored response with the fields of the newer one, and its age counted from now.
    static func merged(_ stored: StoredResponse, _ reply: ServerReply) -> StoredResponse {
        var merged = stored
        let fields = StorableFields.withoutPerConnection(reply.head.fields)
        var head = stored.head
        head.fields = update(stored.head.fields, by: fields)
        // An age that other caches have counted is over with the validation, and so is the date it was counted from.
        if !fields.contains(.age) { head.fields.remove(.age) }
        if !fields.contains(.date) { head.fields.setText(.date, reply.responseTime.date.description) }
        merged.requestTime = reply.requestTime
        merged.responseTime = reply.responseTime
        merged.head = head
        merged.isInvalidated = false
        return merged
    }

    /// All lines of each name that the newer fields have, in place of the older ones.
    static func update(_ older: HTTPFields, by newer: HTTPFields) -> HTTPFields {
        var replaced = Set(newer.map(\.name.canonicalName)).subtracting(kept)
        if saysTheSame(older, newer) { replaced.remove(HTTPField.Name.eTag.canonicalName) }
        var fields = HTTPFields()
        // One pass over each: to set name by name would take a second where there are a thousand of them.
        for field in older where !replaced.contains(field.name.canonicalName) { fields.append(field) }
        for field in newer where replaced.contains(field.name.canonicalName) { fields.append(field) }
        return fields
    }

    /// Tags that differ in strength only: the stored one says what is known of the stored bytes.
    private static func saysTheSame(_ older: HTTPFields, _ newer: HTTPFields) -> Bool {
        guard let old = EntityTag(of: older), let new = EntityTag(of: newer) else { return false }
        return old.matchesWeakly(new)
    }
}
