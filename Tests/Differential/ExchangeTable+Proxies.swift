import Foundation
import ScopedNetTestServer

extension ExchangeTable {
    /// By way of a proxy: forwarded or through a tunnel, with every kind of body, refused and let through.
    static var proxies: [Exchange] {
        let ways: [(String, Exchange.Proxy, Call.Proxy)] = [
            ("open", .open, Call.Proxy()), ("openNamed", .open, user(.basic)), ("openAny", .open, user(.any)),
            ("basic", .basic, user(.basic)), ("basicAny", .basic, user(.any)), ("basicNobody", .basic, Call.Proxy()),
            ("basicWrong", .basic, user(.basic, password: "wrong")), ("basicAnyWrong", .basic, user(.any, password: "wrong")),
            ("digest", .digest, user(.any)), ("digestBasic", .digest, user(.basic)), ("digestNobody", .digest, Call.Proxy()),
            ("digestWrong", .digest, user(.any, password: "wrong")), ("stale", .stale, user(.any)),
            ("refusing", .refusing, Call.Proxy()), ("refusingAny", .refusing, user(.any)),
        ]
        let bodies: [(String, String, String?)] = [
            ("GET", "none", nil), ("HEAD", "none", nil), ("DELETE", "none", nil), ("POST", "none", nil), ("POST", "short", "a=1"),
            ("POST", "long", String(repeating: "0123456789", count: 20_000)), ("PUT", "short", "a=1"), ("PATCH", "short", "a=1"),
        ]
        return ways.flatMap { way, kind, proxy in
            ["http", "https"].flatMap { scheme in
                bodies.map { method, label, body in
                    exchange("proxy/\(way)-\(scheme)-\(method)-\(label)", kind, proxy, scheme, method, body)
                }
            }
        }
    }

    private static func user(_ scheme: Call.Proxy.Scheme, password: String = "secret") -> Call.Proxy {
        Call.Proxy(user: "ann", password: password, scheme: scheme)
    }

    private static func exchange(
        _ id: String, _ kind: Exchange.Proxy, _ proxy: Call.Proxy, _ scheme: String, _ method: String, _ body: String?
    ) -> Exchange {
        var asked = call(id, method, fields: body == nil ? [] : [plainText], body: body)
        asked.url = scheme == "http" ? "http://plain.test/\(id)" : "https://secure.test/\(id)"
        asked.proxy = proxy
        var exchange = Exchange(id, asked) { _ in .ok("behind").header("X-A", "1") }
            .answering("/" + id, at: .secure) { _ in .ok("tunnelled").header("X-A", "2") }
        exchange.proxy = kind
        return exchange
    }
}
