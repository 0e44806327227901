/// An absolute URL with an authority, taken apart as far as a cache needs it (RFC 3986).
struct CacheURL: Equatable {
    let origin: URLOrigin
    /// Between `//` and `@`, or nil.
    let userInfo: String?
    /// Untouched but for an empty path, which is `/`.
    let path: String
    /// With its `?`, or empty. Untouched.
    let query: String

    /// Nil when the text is no such URL, or one that parsers disagree about.
    init?(_ text: String) {
        let text = Self.withoutFragment(text)
        guard let origin = URLOrigin(text), let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let rest = text[colon...].utf8.dropFirst(3)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let at = authority.firstIndex(of: UInt8(ascii: "@"))
        let target = String(Substring(rest[authority.endIndex...]))
        self.init(origin: origin, userInfo: at.map { String(Substring(authority[..<$0])) }, target: target)
    }

    private init(origin: URLOrigin, userInfo: String?, target: String) {
        self.origin = origin
        self.userInfo = userInfo
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        path = mark == target.startIndex ? "/" : String(target[..<mark])
        query = String(target[mark...])
    }

    /// The URL of a reference found in a response to this one (RFC 3986 section 5.2), or nil when it is none.
    func resolving(_ reference: String) -> CacheURL? {
        let reference = Self.withoutFragment(String(FieldText.trimmed(reference[...])))
        guard reference.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
        if reference.isEmpty { return self }
        if Self.hasScheme(reference) { return CacheURL(reference)?.withoutDotSegments }
        if reference.utf8.starts(with: "//".utf8) { return CacheURL("\(origin.scheme):\(reference)")?.withoutDotSegments }
        if reference.utf8.first == UInt8(ascii: "?") { return CacheURL(origin: origin, userInfo: userInfo, target: path + reference) }
        if reference.utf8.first == UInt8(ascii: "/") {
            return CacheURL(origin: origin, userInfo: userInfo, target: reference).withoutDotSegments
        }
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? "/"
        return CacheURL(origin: origin, userInfo: userInfo, target: folder + reference).withoutDotSegments
    }

    /// The same for another account.
    func with(userInfo: String?) -> CacheURL { CacheURL(origin: origin, userInfo: userInfo, target: path + query) }

    /// The same path and query at another origin.
    func at(_ origin: URLOrigin) -> CacheURL { CacheURL(origin: origin, userInfo: userInfo, target: path + query) }

    /// Scheme, host, port unless it is the scheme's own, path and query.
    var text: String { "\(origin.scheme)://\(origin.authority)\(path)\(query)" }

    /// RFC 3986 section 5.2.4.
    private var withoutDotSegments: CacheURL {
        var kept: [Substring.UTF8View] = []
        let segments = path[...].utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch String(Substring(segment)) {
            case ".": if isLast { kept.append(""[...].utf8) }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append(""[...].utf8) }
            default: kept.append(segment)
            }
        }
        return CacheURL(origin: origin, userInfo: userInfo, target: kept.map { "/" + Substring($0) }.joined() + query)
    }

    private static func withoutFragment(_ text: String) -> String {
        text.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(text[..<$0]) } ?? text
    }

    /// A colon before the first slash, question mark or end belongs to a scheme.
    private static func hasScheme(_ text: String) -> Bool {
        let first = text.utf8.first { [UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "?")].contains($0) }
        return first == UInt8(ascii: ":")
    }
}
