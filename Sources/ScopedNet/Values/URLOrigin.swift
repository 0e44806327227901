/// The scheme, host and port of an absolute URL: what has to be equal for two URLs to be of one origin (RFC 6454).
package struct URLOrigin: Sendable, Hashable {
    /// In lower case.
    package let scheme: String
    /// In lower case. An IPv6 address keeps its brackets.
    package let host: String
    /// Given, or the scheme's default (80 or 443), or 0 for a scheme without one.
    package let port: Int

    /// Nil when the text is no absolute URL with a host, or has something that no URL has and that parsers disagree about: a
    /// space, a control, in the authority a backslash or a second `@`.
    package init?(_ url: String) {
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return nil }
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = url[..<colon].lowercased()
        let rest = url[colon...].utf8.dropFirst()
        guard Self.isScheme(scheme), rest.starts(with: "//".utf8) else { return nil }
        let authority = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard !authority.contains(UInt8(ascii: "\\")) else { return nil }
        let at = authority.firstIndex(of: UInt8(ascii: "@"))
        let hostStart = at.map { authority.index(after: $0) } ?? authority.startIndex
        guard !authority[hostStart...].contains(UInt8(ascii: "@")) else { return nil }
        let defaultPort = scheme == "http" ? 80 : scheme == "https" ? 443 : 0
        guard let (host, port) = Self.hostAndPort(Substring(authority[hostStart...]), defaultPort: defaultPort) else { return nil }
        self.scheme = scheme
        self.host = host.lowercased()
        self.port = port
    }

    private static func isScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
                UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    private static func hostAndPort(_ text: Substring, defaultPort: Int) -> (Substring, Int)? {
        let hostEnd: Substring.Index
        if text.utf8.first == UInt8(ascii: "[") {
            guard let bracket = text.utf8.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            hostEnd = text.utf8.index(after: bracket)
        } else {
            hostEnd = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        }
        let host = text[..<hostEnd]
        guard !host.isEmpty else { return nil }
        let portText = text[hostEnd...].utf8
        if portText.isEmpty { return (host, defaultPort) }
        guard portText.first == UInt8(ascii: ":") else { return nil }
        let digits = portText.dropFirst()
        // `host:` with no digits means the default port (RFC 3986 section 3.2.3).
        if digits.isEmpty { return (host, defaultPort) }
        guard digits.count <= 5, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = Int(Substring(digits)), port <= 65_535
        else { return nil }
        return (host, port)
    }
}
