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
    private let places: Places

    init(_ client: any Client) async throws {
        self.client = client
        home = LoopbackServer { _ in .ok("anything").header("X-Answer", "fallback") }
        away = LoopbackServer { _ in .ok("away").header("X-Answer", "away") }
        try await home.start()
        try await away.start()
        places = Places(home: "127.0.0.1:\(home.port)", away: "localhost:\(away.port)")
    }

    func stop() async {
        await home.stop()
        await away.stop()
    }

    func play(_ exchange: Exchange) async throws -> Outcome {
        for route in exchange.routes {
            let server = route.origin == .home ? home : away
            server.on(route.path, route.response(places))
        }
        let (seenAtHome, seenAway) = (home.requests.count, away.requests.count)
        var call = exchange.call
        call.url = places.filled(call.url)
        call.base = call.base.map(places.filled)
        call.resolved = call.resolved.map(places.filled)
        for index in call.fields.indices { call.fields[index].value = places.filled(call.fields[index].value) }
        var reply = await client.perform(call)
        reply.fields = reply.fields.mapValues(places.emptied)
        try await home.waitForClientsToLeave()
        try await away.waitForClientsToLeave()
        let requests =
            home.requests.dropFirst(seenAtHome).map { ("home", $0) } + away.requests.dropFirst(seenAway).map { ("away", $0) }
        let ordered = requests.sorted { $0.1.receivedAt < $1.1.receivedAt }
        return Outcome(requests: ordered.map { witness($0, $1) }, reply: reply)
    }

    private func witness(_ origin: String, _ request: RecordedRequest) -> Witness {
        var fields: [String: String] = [:]
        for field in request.headers {
            var value = places.emptied(field.value)
            // Those of equal paths come in any order out of URLSession.
            if field.name.lowercased() == "cookie" { value = value.components(separatedBy: "; ").sorted().joined(separator: "; ") }
            fields[field.name.lowercased()] = fields[field.name.lowercased()].map { "\($0) | \(value)" } ?? value
        }
        return Witness(
            origin: origin, method: request.method, target: places.emptied(request.target), body: fingerprint(request.body), fields: fields)
    }
}
