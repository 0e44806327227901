extension RequestURL {
    /// Path and query, as they go into the request line (RFC 9112 section 3.2.1).
    package var target: String {
        let start = string.utf8.firstIndex(of: UInt8(ascii: ":")).map { string.utf8.index($0, offsetBy: 3) } ?? string.startIndex
        let rest = string[start...]
        guard let end = rest.utf8.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else { return "/" }
        return rest.utf8[end] == UInt8(ascii: "?") ? "/" + rest[end...] : String(rest[end...])
    }

    /// A mark with nothing behind it.
    package var hasEmptyQuery: Bool {
        string.utf8.firstIndex(of: UInt8(ascii: "?")).map { string.utf8.index(after: $0) == string.utf8.endIndex } ?? false
    }

    /// Without the query.
    package var path: String { String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") })) }
}
