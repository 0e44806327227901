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

    /// - Parameters:
    ///   - url: any URL of the server, such as `https://api.example.com`; of a proxy as it is configured.
    ///   - realm: nil for all of them.
    /// - Throws: ``NetworkError`` with code `invalidURL` or `unsupportedScheme`.
    public init(_ url: String, realm: String? = nil, isProxy: Bool = false) throws(NetworkError) {
        self.init(origin: try RequestURL(url).origin, realm: realm, isProxy: isProxy)
    }
}

extension ProtectionSpace: CustomStringConvertible {
    public var description: String {
        let place = isProxy ? "proxy \(origin)" : "\(origin)"
        return realm.map { "\(place) \"\($0.printable)\"" } ?? place
    }
}
