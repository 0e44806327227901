/// Whether requests go through a proxy.
public enum ProxyConfiguration: Sendable, Hashable {
    /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, read once when the session's transport is made.
    case environment
    /// No proxy, whatever the environment says.
    case none
    /// - Parameters:
    ///   - url: `http://`, `https://`, `socks5://` or `socks5h://` with host and port.
    ///   - credentials: sent to the proxy only, by libcurl; for a tunnel with `CONNECT`.
    ///   - bypass: hosts that are reached directly: `example.com` (and all below it), addresses, CIDR blocks, or `*`.
    case explicit(url: String, credentials: Credentials? = nil, bypass: [String] = [])

    /// A name and a password for the proxy.
    public struct Credentials: Sendable, Hashable {
        /// The name. One with a colon cannot be sent by Basic.
        public var user: String
        /// The password. It is sent to the proxy alone, and neither an error nor a description of this value shows it.
        public var password: String
        /// Whether they go out as Basic at once. Default: true. With false the first request of each connection is refused (407), and then
        /// answered by Digest where the proxy offers that, else by Basic; a name with a colon by Digest alone.
        public var isPreemptive: Bool

        /// Makes credentials, which go out as Basic at once unless `isPreemptive` is false.
        public init(user: String, password: String, isPreemptive: Bool = true) {
            self.user = user
            self.password = password
            self.isPreemptive = isPreemptive
        }
    }
}

extension ProxyConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The case and its values, with the user and password of the URL masked.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .none: "none"
        case .explicit(let url, let credentials, let bypass):
            "explicit(url: \"\(Self.masked(url))\", credentials: \(credentials.map { "\($0)" } ?? "nil"), bypass: \(bypass))"
        }
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// The values as `dump` prints them, with the user and password of the URL masked.
    public var customMirror: Mirror {
        guard case .explicit(let url, let credentials, let bypass) = self else { return Mirror(self, children: []) }
        return Mirror(
            self, children: ["url": Self.masked(url), "credentials": credentials as Any, "bypass": bypass], displayStyle: .enum)
    }

    /// By the last `@`, as libcurl reads it: such a URL may lack its scheme, and a password need not be encoded.
    private static func masked(_ url: String) -> String {
        guard let at = url.utf8.lastIndex(of: UInt8(ascii: "@")) else { return url.printable }
        let scheme = url[..<at].firstRange(of: "://").map { url[..<$0.upperBound] } ?? ""
        return "\(scheme)\(SecretMask.placeholder)\(url[at...])".printable
    }
}

extension ProxyConfiguration.Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, with the password masked.
    public var description: String { "credentials(user: \(user.printable), password: \(SecretMask.placeholder))" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// The properties as `dump` prints them, with the password masked.
    public var customMirror: Mirror {
        Mirror(self, children: ["user": user, "password": SecretMask.placeholder, "isPreemptive": isPreemptive], displayStyle: .struct)
    }
}
