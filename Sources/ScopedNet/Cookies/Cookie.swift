/// A cookie as it is kept (RFC 6265bis section 5.7). (pure)
package struct Cookie: Sendable, Hashable {
    /// What makes two cookies the same one.
    package struct Key: Sendable, Hashable {
        package let name: String
        package let domain: String
        package let path: String
        package let isHostOnly: Bool

        package init(name: String, domain: String, path: String, isHostOnly: Bool) {
            self.name = name
            self.domain = domain
            self.path = path
            self.isHostOnly = isHostOnly
        }
    }

    package let key: Key
    package let value: String
    /// Seconds since 1970; nil: until the session ends.
    package let expires: Double?
    package let isSecure: Bool
    package let isHTTPOnly: Bool
    package let sameSite: SetCookie.SameSite?
    /// Seconds since 1970; that of the cookie it replaced.
    package var created: Double
    package var lastUsed: Double

    package func isExpired(at now: Double) -> Bool { expires.map { $0 <= now } ?? false }

    /// As it stands in `Cookie`: a cookie without a name is its value.
    package var pair: String { key.name.isEmpty ? value : key.name + "=" + value }
}

/// The URL a cookie comes from or goes to. (pure)
package struct CookieOrigin: Sendable, Hashable {
    package let isSecure: Bool
    /// Lower case; an IP address is told from a name.
    package let host: String
    package let path: String
    private let isAddress: Bool

    /// - Parameters:
    ///   - scheme, host: lower case, as of `RequestURL`.
    ///   - path: of the URL, percent-encoding untouched; empty is `/`.
    package init(scheme: String, host: String, path: String) {
        isSecure = scheme == "https"
        self.host = host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
        self.path = path.utf8.first == UInt8(ascii: "/") ? path : "/"
        isAddress = IPLiteral(host) != nil
    }

    /// The path as far as its last slash, without it (section 5.1.4).
    package var defaultPath: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Section 5.1.3: the domain itself, or a name below it.
    package func domainMatches(_ domain: String) -> Bool {
        host == domain || (!isAddress && host.utf8.count > domain.utf8.count && host.hasSuffix("." + domain))
    }

    package func pathMatches(_ cookiePath: String) -> Bool { Self.path(path, matches: cookiePath) }

    /// Section 5.1.4.
    static func path(_ path: String, matches cookiePath: String) -> Bool {
        guard path.utf8.starts(with: cookiePath.utf8) else { return false }
        let rest = path.utf8.dropFirst(cookiePath.utf8.count)
        return rest.isEmpty || cookiePath.utf8.last == UInt8(ascii: "/") || rest.first == UInt8(ascii: "/")
    }
}
