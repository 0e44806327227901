import HTTPTypes

/// Which fields of a response are kept (RFC 9111 section 3.1).
enum StorableFields {
    /// Whether a field says something about one connection, or is meant for one proxy (RFC 9110 section 7.6.1).
    private static func isPerConnection(_ name: String) -> Bool {
        switch name {
        case "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "proxy-connection", "te",
            "transfer-encoding", "upgrade":
            true
        default: false
        }
    }

    /// The most field lines that are stored with a response. Each 304 may add names to it, and swift-http-types ends the process beyond 65,535.
    static let maxFields = 1_000

    /// What the cache itself decides by. Fields for all recipients must not be listed in `Connection` (RFC 9110 section 7.6.1); one that is, or that
    /// `no-cache` lists, would take its own rules away.
    private static let essential: Set<String> = [
        "age", "cache-control", "content-encoding", "content-length", "content-range", "content-type", "date", "etag", "expires",
        "last-modified", "vary",
    ]

    /// Without what belongs to the connection, as named by the RFC and by `Connection` itself.
    static func withoutPerConnection(_ fields: HTTPFields) -> HTTPFields {
        let listed = Set(fields.members(.connection).map { $0.lowercased() }).subtracting(essential)
        var kept = HTTPFields()
        for field in fields where !isPerConnection(field.name.canonicalName) && !listed.contains(field.name.canonicalName) {
            kept.append(field)
        }
        return kept
    }

    /// What may be given out again without asking: without the fields that `no-cache="..."` names as well.
    static func reusable(_ fields: HTTPFields, _ control: CacheControl) -> HTTPFields {
        var kept = withoutPerConnection(fields)
        for name in control.noCacheFields where !essential.contains(name.canonicalName) { kept.remove(name) }
        return kept
    }

    /// The head to store. A recipient with a clock says when a response came that does not say it itself (RFC 9110 section 6.6.1).
    static func head(_ head: CacheHead, _ control: CacheControl, receivedAt time: WallTime) -> CacheHead {
        var stored = CacheHead(status: head.status, reason: head.reason, fields: reusable(head.fields, control))
        if head.contentLength == nil { stored.fields.remove(.contentLength) }
        if !stored.fields.contains(.date) { stored.fields.setText(.date, time.date.description) }
        return stored
    }
}
