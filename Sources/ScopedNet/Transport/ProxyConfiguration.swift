/// Whether requests go through a proxy.
public enum ProxyConfiguration: Sendable, Hashable {
    /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, read once when the session's transport is made.
    case environment
    case none
    /// - Parameters:
    ///   - url: `http://`, `https://`, `socks5://` or `socks5h://` with host and port.
    ///   - credentials: sent as Basic to the proxy only.
    ///   - bypass: hosts that are reached directly: `example.com` (and all below it), addresses, CIDR blocks, or `*`.
    case explicit(url: String, credentials: Credentials? = nil, bypass: [String] = [])

    public struct Credentials: Sendable, Hashable {
        public var user: String
        public var password: String
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }
}
