import HTTPTypes

/// What a stored response can be recognised by (RFC 9110 section 8.8).
struct Validators: Equatable {
    var tag: EntityTag?
    /// As the server spelled it: a server may compare the text.
    var lastModified: String?
    var lastModifiedTime: WallTime?
    /// ``lastModified`` is so much earlier than `Date` that no second change can hide behind it (RFC 9110 section 8.8.2.2).
    var isLastModifiedStrong: Bool

    var isEmpty: Bool { tag == nil && lastModified == nil }
    var strongTag: EntityTag? { tag.flatMap { $0.isWeak ? nil : $0 } }

    init(_ head: CacheHead, now: WallTime) {
        self.init(head, date: head.date(now: now), now: now)
    }

    /// - Parameter date: that of the response, if it is known.
    init(_ head: CacheHead, date: WallTime?, now: WallTime) {
        tag = EntityTag(of: head.fields)
        let line = head.fields.onlyLine(.lastModified)
        lastModifiedTime = line.flatMap { CacheDate.parse($0, now: now) }
        lastModified = lastModifiedTime == nil ? nil : line
        isLastModifiedStrong = false
        if let modified = lastModifiedTime, let date { isLastModifiedStrong = date - modified >= 1 }
    }
}
