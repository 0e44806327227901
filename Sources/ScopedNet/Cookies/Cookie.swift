public import FoundationEssentials
import Persistence

/// A cookie as a ``CookieJar`` keeps it (RFC 6265bis section 5.7). (pure)
public struct Cookie: Sendable, Hashable, Codable {
    /// The requests from other sites that it goes along with: none, those that open a page, or all (RFC 6265bis section 5.6.7).
    public enum SameSite: String, Sendable, Hashable, Codable { case strict, lax, none }

    /// What makes two cookies the same one.
    package struct Key: Sendable, Hashable, Codable {
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

        // By bytes, as servers and the store do (RFC 6265 section 5.4 compares octets).
        package static func == (left: Key, right: Key) -> Bool {
            left.isHostOnly == right.isHostOnly && left.name.hasSameBytes(as: right.name) && left.domain.hasSameBytes(as: right.domain)
                && left.path.hasSameBytes(as: right.path)
        }

        package func hash(into hasher: inout Hasher) {
            for text in [name, domain, path] { hasher.combine(ExactString(text)) }
            hasher.combine(isHostOnly)
        }
    }

    package let key: Key
    /// May be empty, for a cookie that is a value alone.
    public var name: String { key.name }
    /// The value as the server sent it; it may be empty.
    public let value: String
    /// Lower case, without a leading dot.
    public var domain: String { key.domain }
    /// The path of the URLs it goes to, with those below it; begins with a slash.
    public var path: String { key.path }
    /// Goes to its ``domain`` alone, not to names below it.
    public var isHostOnly: Bool { key.isHostOnly }
    /// Goes over https alone.
    public let isSecure: Bool
    /// Not for scripts; of no meaning here.
    public let isHTTPOnly: Bool
    /// Nil where the server says nothing.
    public let sameSite: SameSite?
    /// Nil: until the jar is gone.
    public var expiryDate: Date? { expires.map { Date(timeIntervalSince1970: $0) } }
    /// Seconds since 1970; nil: until the jar is gone.
    package let expires: Double?
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
    let isAddress: Bool

    /// The origin of a request.
    package init(_ url: RequestURL) {
        let rest = url.string.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst(3)
        let path = rest.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
            .prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        self.init(scheme: url.scheme, host: url.host, path: String(Substring(path)))
    }

    /// Makes an origin of the parts of a URL.
    ///
    /// - Parameters:
    ///   - scheme: lower case, as of `RequestURL`.
    ///   - host: lower case, as of `RequestURL`; a dot at its end does not count.
    ///   - path: of the URL, percent-encoding untouched; empty is `/`.
    package init(scheme: String, host: String, path: String) {
        isSecure = scheme == "https"
        self.host = host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
        self.path = path.utf8.first == UInt8(ascii: "/") ? path : "/"
        isAddress = IPLiteral(self.host) != nil
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
