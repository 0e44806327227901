#if TestServer
/// Where a proxied request goes, read from its target (pure).
struct ProxyRoute: Sendable, Hashable {
    var host: String
    var port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Nil when the target names no host, or no port where one is needed.
    init?(method: String, target: String) {
        if method == "CONNECT" {
            self.init(authority: target, defaultPort: nil)
        } else {
            guard let authority = RequestTarget(target).authority else { return nil }
            self.init(authority: authority, defaultPort: 80)
        }
    }

    private init?(authority: String, defaultPort: Int?) {
        let hostEnd: String.Index
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else { return nil }
            hostEnd = authority.index(after: bracket)
            host = String(authority[..<bracket].dropFirst())
        } else {
            hostEnd = authority.firstIndex(of: ":") ?? authority.endIndex
            host = String(authority[..<hostEnd])
        }
        let portText = authority[hostEnd...].dropFirst()
        guard !host.isEmpty, let port = portText.isEmpty ? defaultPort : Int(portText), (1...65_535).contains(port)
        else { return nil }
        self.port = port
    }

    /// The address to connect to: the stand-in where there is one.
    func resolved(with hosts: [String: Int]) -> ProxyRoute {
        guard let port = hosts[host] else { return self }
        var route = self
        route.host = "127.0.0.1"
        route.port = port
        return route
    }
}
#endif
