import HTTPTypes
import ScopedNet
import SystemSupport

/// What `-v` shows as sent: a redirect makes another request of the run's, and so does a challenge that is answered.
final class ShownRequest: Sendable {
    struct Exchange: Sendable {
        var method: HTTPRequest.Method
        var url: String
        var fields: HTTPFields
    }

    private struct State {
        var current: Exchange?
        /// Where redirects lead. The library asks about one before it tells of it, and observers may hear of that later.
        var next: [Exchange] = []
    }

    private let state = Lock(State())

    /// The library asks, before it follows: nothing else says what the next request will be.
    func willFollow(_ hop: RequestHooks.RedirectProposal) {
        let request = hop.proposed
        let exchange = Exchange(method: request.method, url: request.url, fields: request.headers)
        state.withLock { $0.next.append(exchange) }
    }

    /// The redirect is on its way.
    func followed() {
        state.withLock { state in
            guard !state.next.isEmpty else { return }
            state.current = state.next.removeFirst()
        }
    }

    /// The scheme of the answer is all that is told of it, and all that could be shown.
    func answered(_ scheme: String, isProxy: Bool) {
        let name: HTTPField.Name = isProxy ? .proxyAuthorization : .authorization
        state.withLock { state in
            guard var exchange = state.current else { return }
            exchange.fields[name] = "\(scheme) \(SecretMask.placeholder)"
            state.current = exchange
        }
    }

    /// What goes out now; at first what the run was made with.
    func started(_ run: Run.Info) -> Exchange {
        state.withLock { state in
            let exchange = state.current ?? Exchange(method: run.method, url: run.url, fields: run.headers)
            state.current = exchange
            return exchange
        }
    }
}
