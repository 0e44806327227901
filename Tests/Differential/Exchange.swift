import Foundation
import ScopedNetTestServer

/// Where the scripted servers of one client are. In URLs and fields of the table stand `{home}` and `{away}`, as each client has servers of its
/// own: what they recorded can be told apart, and no client waits for another.
struct Places: Sendable {
    /// `127.0.0.1:PORT`.
    var home: String
    /// `localhost:PORT` of another server: another origin, and another host.
    var away: String

    func filled(_ text: String) -> String {
        text.replacing("{home}", with: home).replacing("{away}", with: away).replacing("{port}", with: port)
    }

    /// What was recorded, with the names again.
    func emptied(_ text: String) -> String {
        text.replacing(home, with: "{home}").replacing(away, with: "{away}").replacing(":" + port, with: ":{port}")
    }

    private var port: String { home.split(separator: ":").last.map(String.init) ?? "" }
}

/// What a client is asked to do.
struct Call: Codable, Sendable {
    struct Field: Codable, Sendable {
        var name: String
        var value: String
    }

    /// The proxy on the way.
    struct Proxy: Codable, Sendable {
        enum Scheme: String, Codable, Sendable {
            /// With the first request.
            case basic
            /// In answer to a challenge, whatever that asks for.
            case any
        }

        var url = ""
        var user: String?
        var password = ""
        var scheme = Scheme.basic
    }

    var url: String
    var proxy: Proxy?
    /// The authority of the servers that speak TLS, in PEM; nil where there is none.
    var authority: String?
    /// Where `url` is a reference: what it is resolved against.
    var base: String?
    /// What that gives by RFC 3986 section 5; the curl tool has no base, and is asked for this.
    var resolved: String?
    var method = "GET"
    var fields: [Field] = []
    var body: Data?
}

/// What a client says of it.
struct Reply: Codable, Sendable {
    var status: Int?
    /// Length and checksum.
    var body: String?
    /// Fields whose names begin with `x-`, by their names in lower case.
    var fields: [String: String] = [:]
    /// The class of the error.
    var error: String?
    /// In the client's words, for whoever reads the log.
    var detail = ""
}

/// What a server recorded of one request.
struct Witness: Sendable {
    var origin: String
    var method: String
    var target: String
    var body: String
    var fields: [String: String]
}

/// One exchange of the table.
struct Exchange: Sendable {
    enum Origin: Sendable { case home, away, secure }

    /// Which of the proxies of a client is on the way.
    enum Proxy: CaseIterable, Sendable { case open, basic, digest, stale, refusing }

    struct Route: Sendable {
        var origin: Origin
        var path: String
        var response: @Sendable (Places) -> ScriptedResponse
    }

    /// `group/name`, which the explanations refer to.
    var id: String
    var call: Call
    var routes: [Route]
    /// Then URLSession, which knows no credentials for one, does not take part.
    var proxy: Proxy?

    /// Makes an exchange; `response` answers the path of the call.
    init(_ id: String, _ call: Call, _ response: @escaping @Sendable (Places) -> ScriptedResponse) {
        self.id = id
        self.call = call
        routes = [Route(origin: .home, path: "/" + id, response: response)]
    }

    func answering(_ path: String, at origin: Origin = .home, _ response: @escaping @Sendable (Places) -> ScriptedResponse) -> Exchange {
        var exchange = self
        exchange.routes.append(Route(origin: origin, path: path, response: response))
        return exchange
    }
}

/// Length and FNV-1a: enough to tell bodies apart, and short enough to print.
func fingerprint(_ bytes: some Collection<UInt8>) -> String {
    let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    return "\(bytes.count) bytes" + (bytes.isEmpty ? "" : ", " + String(hash, radix: 16))
}
