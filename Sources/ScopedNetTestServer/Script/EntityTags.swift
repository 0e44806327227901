#if TestServer
/// The value of `If-Match` or `If-None-Match` (pure). Compared weakly: `W/` makes no difference (RFC 9110, section 8.8.3.2).
struct EntityTags: Sendable {
    private let tags: [Substring]

    init(_ value: String) {
        tags = value.split(separator: ",").map { Self.strong($0.drop { $0 == " " }) }
    }

    func contains(_ tag: String?) -> Bool {
        guard let tag else { return false }
        return tags.contains("*") || tags.contains(Self.strong(tag[...]))
    }

    private static func strong(_ tag: Substring) -> Substring {
        let tag = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
        return tag.last == " " ? tag.prefix { $0 != " " } : tag
    }
}
#endif
