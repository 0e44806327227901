import ScopedNetTestServer

/// The proxies of one client, and the server that speaks TLS behind them: `plain.test` and `secure.test` to the proxies.
struct Proxies: Sendable {
    static let credentials = LoopbackProxy.Configuration.Credentials(user: "ann", password: "secret")

    let secure: LoopbackServer
    let authority: String
    private let proxies: [Exchange.Proxy: LoopbackProxy]

    /// Starts the proxies; `plain` is the port of the server without TLS.
    init(plain: Int) async throws {
        let authority = try TestAuthority()
        self.authority = authority.certificatePEM
        secure = LoopbackServer(.init(tls: try authority.makeServerIdentity(hosts: ["secure.test"]))) { _ in
            .ok("anything").header("X-Answer", "fallback")
        }
        try await secure.start()
        var proxies: [Exchange.Proxy: LoopbackProxy] = [:]
        for kind in Exchange.Proxy.allCases {
            var configuration = LoopbackProxy.Configuration(hosts: ["plain.test": plain, "secure.test": secure.port])
            switch kind {
            case .open: break
            case .refusing: configuration.refusal = 403
            case .basic: configuration.credentials = Self.credentials
            case .digest, .stale:
                configuration.credentials = Self.credentials
                configuration.scheme = .digest(staleNonces: kind == .stale ? 2 : 0)
            }
            let proxy = LoopbackProxy(configuration)
            try await proxy.start()
            proxies[kind] = proxy
        }
        self.proxies = proxies
    }

    func stop() async {
        for proxy in proxies.values { await proxy.stop() }
        await secure.stop()
    }

    func url(_ kind: Exchange.Proxy) -> String { proxies[kind]?.url ?? "" }

    func requests(_ kind: Exchange.Proxy) -> [RecordedRequest] { proxies[kind]?.requests ?? [] }

    func waitForClientsToLeave(_ kind: Exchange.Proxy) async throws {
        try await proxies[kind]?.waitForOpenConnections { $0 == 0 }
        try await secure.waitForClientsToLeave()
    }

    /// The parameters of a digest that nobody can foretell are left out. The proxy has verified them.
    static func normalized(_ field: String) -> String {
        guard field.hasPrefix("Digest ") else { return field }
        let parameters = field.dropFirst(7).split(separator: ",").map { $0.trimmingPrefix(" ") }
        return "Digest "
            + parameters.map { parameter in
                let name = parameter.prefix { $0 != "=" }
                return ["cnonce", "response", "nonce"].contains(name) ? "\(name)=…" : String(parameter)
            }.sorted().joined(separator: ", ")
    }
}
