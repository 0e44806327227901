import Foundation
import ScopedNetTestServer

/// A client and the servers it alone talks to.
struct Stage: Sendable {
    /// What came of one exchange, on both ends.
    struct Outcome: Sendable {
        var requests: [Witness]
        var reply: Reply
    }

    let client: any Client
    private let home: LoopbackServer
    private let away: LoopbackServer
    private let proxies: Proxies
    private let places: Places

    init(_ client: any Client) async throws {
        self.client = client
        home = LoopbackServer { _ in .ok("anything").header("X-Answer", "fallback") }
        away = LoopbackServer { _ in .ok("away").header("X-Answer", "away") }
        try await home.start()
        try await away.start()
        proxies = try await Proxies(plain: home.port)
        places = Places(home: "127.0.0.1:\(home.port)", away: "localhost:\(away.port)")
    }

    func stop() async {
        await proxies.stop()
        await home.stop()
        await away.stop()
    }

    func play(_ exchange: Exchange) async throws -> Outcome {
        for route in exchange.routes {
            let server =
                switch route.origin {
                case .home: home
                case .away: away
                case .secure: proxies.secure
                }
            server.on(route.path, route.response(places))
        }
        let (seenAtHome, seenAway, seenBehind) = (home.requests.count, away.requests.count, proxies.secure.requests.count)
        let seenByProxy = exchange.proxy.map { proxies.requests($0).count } ?? 0
        var call = exchange.call
        call.url = places.filled(call.url)
        call.base = call.base.map(places.filled)
        call.resolved = call.resolved.map(places.filled)
        for index in call.fields.indices { call.fields[index].value = places.filled(call.fields[index].value) }
        if let proxy = exchange.proxy {
            call.authority = proxies.authority
            call.proxy?.url = proxies.url(proxy)
        }
        var reply = await client.perform(call)
        reply.fields = reply.fields.mapValues(places.emptied)
        try await home.waitForClientsToLeave()
        try await away.waitForClientsToLeave()
        var requests =
            home.requests.dropFirst(seenAtHome).map { ("home", $0) } + away.requests.dropFirst(seenAway).map { ("away", $0) }
        if let proxy = exchange.proxy {
            try await proxies.waitForClientsToLeave(proxy)
            requests += proxies.secure.requests.dropFirst(seenBehind).map { ("secure", $0) }
            requests += proxies.requests(proxy).dropFirst(seenByProxy).map { ("proxy", $0) }
        }
        let ordered = requests.sorted { $0.1.receivedAt < $1.1.receivedAt }
        return Outcome(requests: ordered.map { witness($0, $1) }, reply: reply)
    }

    private func witness(_ origin: String, _ request: RecordedRequest) -> Witness {
        var fields: [String: String] = [:]
        for field in request.headers {
            var value = places.emptied(field.value)
            // Those of equal paths come in any order out of URLSession.
            if field.name.lowercased() == "cookie" { value = value.components(separatedBy: "; ").sorted().joined(separator: "; ") }
            if field.name.lowercased() == "proxy-authorization" { value = Proxies.normalized(value) }
            fields[field.name.lowercased()] = fields[field.name.lowercased()].map { "\($0) | \(value)" } ?? value
        }
        return Witness(
            origin: origin, method: request.method, target: places.emptied(request.target), body: fingerprint(request.body), fields: fields)
    }
}
