#if TestServer
internal import NIOHTTP1

/// What a proxy asks of its clients, and which nonces it has called stale. Shared by its connections.
final class ProxyAuthorization: Sendable {
    private struct State {
        var nonces = 0
        /// Right answers by method and target.
        var answers: [String: Int] = [:]
    }

    private let credentials: LoopbackProxy.Configuration.Credentials
    private let scheme: LoopbackProxy.Configuration.Scheme
    private let state = Watched(State())

    init?(_ configuration: LoopbackProxy.Configuration) {
        guard let credentials = configuration.credentials else { return nil }
        self.credentials = credentials
        scheme = configuration.scheme
    }

    /// - Returns: the `Proxy-Authenticate` that answers a request; nil for one that goes on.
    func challenge(_ head: HTTPRequestHead) -> String? {
        let field = head.headers.first(name: "proxy-authorization")
        let method = head.method.rawValue
        switch scheme {
        case .basic:
            let challenge = Challenge.basic(user: credentials.user, password: credentials.password)
            return challenge.accepts(field, method: method, target: head.uri) ? nil : challenge.value
        case .digest(let staleNonces):
            return state.update { state in
                let isRight = (0..<state.nonces).suffix(100).contains {
                    digest($0).accepts(field, method: method, target: head.uri)
                }
                defer { state.nonces += 1 }
                guard isRight else { return digest(state.nonces).value }
                let before = state.answers["\(method) \(head.uri)", default: 0]
                state.answers["\(method) \(head.uri)"] = before < staleNonces ? before + 1 : nil
                return before < staleNonces ? digest(state.nonces).value + ", stale=true" : nil
            }
        }
    }

    private func digest(_ nonce: Int) -> Challenge {
        .digest(user: credentials.user, password: credentials.password, nonce: "nonce\(nonce)")
    }
}
#endif
