import HTTPTypes

/// The field `Expires` (RFC 9111 section 5.3).
enum ExpiresField: Equatable {
    case absent
    /// No date, or two of them: the response has already expired.
    case invalid
    case at(WallTime)

    init(_ fields: HTTPFields, now: WallTime) {
        let lines = fields.lines(.expires)
        guard let line = lines.first else {
            self = .absent
            return
        }
        guard lines.count == 1, let time = CacheDate.parse(line, now: now) else {
            self = .invalid
            return
        }
        self = .at(time)
    }
}
