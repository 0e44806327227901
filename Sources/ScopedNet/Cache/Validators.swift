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

    /// Makes validators of their parts; `date` is that of the response, if it is known.
    init(tag: EntityTag?, lastModified: String?, lastModifiedTime: WallTime?, date: WallTime?) {
        self.tag = tag
        self.lastModified = lastModified
        self.lastModifiedTime = lastModifiedTime
        isLastModifiedStrong = false
        if let lastModifiedTime, let date { isLastModifiedStrong = date - lastModifiedTime >= 1 }
    }

    /// Reads the fields of a head; `date` is that of the response, if it is known.
    init(_ head: CacheHead, date: WallTime?, now: WallTime) {
        let line = head.fields.onlyLine(.lastModified)
        let time = line.flatMap { CacheDate.parse($0, now: now) }
        self.init(tag: EntityTag(of: head.fields), lastModified: time == nil ? nil : line, lastModifiedTime: time, date: date)
    }
}
