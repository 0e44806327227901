extension ProxyConfiguration {
    /// The proxies that environment variables name, as curl and most tools read them.
    ///
    /// | scheme | variables, the first one set counts |
    /// |---|---|
    /// | `http` | `http_proxy`, `all_proxy`, `ALL_PROXY` |
    /// | `https` | `https_proxy`, `HTTPS_PROXY`, `all_proxy`, `ALL_PROXY` |
    ///
    /// `HTTP_PROXY` in capitals is not read: a web server that runs a CGI program puts the client's header field `Proxy` into a
    /// variable of that name, so that anybody could choose this program's proxy ("httpoxy").
    ///
    /// A variable that is set to the empty text says "no proxy" for its scheme. `no_proxy`, else `NO_PROXY`, lists the hosts that are
    /// reached directly. The environment is given as a value: read it once per session.
    public struct Environment: Sendable, Hashable {
        /// How a host is reached.
        public enum Choice: Sendable, Hashable {
            /// Without a proxy.
            case direct
            /// Through a proxy, given as a URL (`http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`). One that the transport
            /// does not understand makes the request fail; it is never silently left out.
            case proxy(String)
        }

        private let environment: [String: String]
        private let noProxy: NoProxyList

        /// - Parameter environment: the variables; others than those named above are not kept.
        public init(_ environment: [String: String]) {
            self.environment = environment.filter { name, _ in
                name != "HTTP_PROXY" && name.lowercased().hasSuffix("_proxy")
            }
            self.noProxy = NoProxyList(environment["no_proxy"] ?? environment["NO_PROXY"] ?? "")
        }

        /// An environment without proxies.
        public static let none = ProxyConfiguration.Environment([:])

        /// Chooses the way to a host.
        ///
        /// - Parameters:
        ///   - scheme: the scheme of the URL, in any case.
        ///   - host: the host of the URL; an IPv6 address with or without brackets.
        ///   - port: the port of the URL, or the scheme's default.
        /// - Returns: a proxy, or none.
        public func choice(scheme: String, host: String, port: Int) -> Choice {
            guard let proxy = proxy(scheme: scheme.lowercased()), !noProxy.contains(host: host, port: port) else { return .direct }
            return .proxy(proxy)
        }

        private func proxy(scheme: String) -> String? {
            let names = scheme == "http" ? ["http_proxy"] : ["\(scheme)_proxy", "\(scheme.uppercased())_PROXY"]
            let values = (names + ["all_proxy", "ALL_PROXY"]).lazy.compactMap { environment[$0] }
            guard let value = values.first.map(Self.trimmed), !value.isEmpty else { return nil }
            return value.contains("://") ? value : "http://" + value
        }

        private static func trimmed(_ value: String) -> String {
            let start = value.drop { $0.isWhitespace }
            guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
            return String(start[...end])
        }
    }
}
