import Persistence

/// Where one credential is good: a server, or a proxy, and the name it has given to a part of itself (RFC 9110 section 11.5).
public struct ProtectionSpace: Sendable, Hashable {
    /// Scheme, host and port.
    public let origin: RequestURL.Origin
    /// As the server writes it, in any letters; nil for all realms of the origin that have no credential of their own.
    public let realm: String?
    /// A proxy's (407), not a server's (401).
    public let isProxy: Bool

    package init(origin: RequestURL.Origin, realm: String?, isProxy: Bool = false) {
        self.origin = origin
        self.realm = realm
        self.isProxy = isProxy
    }

    /// Makes the space of a server or proxy.
    ///
    /// - Parameters:
    ///   - url: any URL of the server, such as `https://api.example.com`; of a proxy as it is configured.
    ///   - realm: the name as the server writes it; nil, the default, for all realms that have no credential of their own.
    ///   - isProxy: true for a proxy (407). Default: false, a server (401).
    /// - Throws: ``NetworkError`` with code `invalidURL` or `unsupportedScheme`.
    public init(_ url: some URLConvertible, realm: String? = nil, isProxy: Bool = false) throws(NetworkError) {
        self.init(origin: try RequestURL(url.urlReference).origin, realm: realm, isProxy: isProxy)
    }
}

extension ProtectionSpace {
    /// Compares realms by their bytes, as they are on disk: two that only look alike are two.
    public static func == (left: ProtectionSpace, right: ProtectionSpace) -> Bool {
        left.isProxy == right.isProxy && left.origin == right.origin
            && left.realm.map(ExactString.init) == right.realm.map(ExactString.init)
    }

    /// Hashes the realm by its bytes, as `==` compares it.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(origin)
        hasher.combine(realm.map(ExactString.init))
        hasher.combine(isProxy)
    }
}

extension ProtectionSpace: CustomStringConvertible {
    /// The origin and the realm, such as `https://example.com "staff"`; a proxy says so.
    public var description: String {
        let place = isProxy ? "proxy \(origin)" : "\(origin)"
        return realm.map { "\(place) \"\($0.printable)\"" } ?? place
    }
}
