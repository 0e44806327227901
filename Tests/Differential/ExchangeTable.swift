import Foundation
import ScopedNetTestServer

/// What is played. Each group is a table of its own.
enum ExchangeTable {
    static var all: [Exchange] {
        methods + statuses + redirects + redirectedSecrets + locations + codings + framings + fields + malformed + cookies + credentials
            + ranges + urls + references + proxies
    }

    /// A call of the path that the exchange's name says.
    static func call(
        _ id: String, _ method: String = "GET", fields: [(String, String)] = [], body: String? = nil, suffix: String = ""
    ) -> Call {
        Call(
            url: "http://{home}/\(id)\(suffix)", method: method, fields: fields.map { Call.Field(name: $0.0, value: $0.1) },
            body: body.map { Data($0.utf8) })
    }

    static let plainText = ("Content-Type", "text/plain")

    // MARK: Requests

    private static var methods: [Exchange] {
        let bodies: [(String, String?)] = [
            ("none", nil), ("empty", ""), ("short", "a=1&b=2"), ("long", String(repeating: "0123456789", count: 10_000)),
        ]
        let names = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "QUERY"]
        let pairs = names.flatMap { name in bodies.map { (name, $0.0, $0.1) } } + [("HEAD", "none", nil), ("TRACE", "none", nil)]
        return pairs.map { name, label, body in
            let id = "method/\(name)-\(label)"
            return Exchange(id, call(id, name, fields: body == nil ? [] : [plainText], body: body)) { _ in .ok("done").header("X-A", "1") }
        }
    }

    private static var statuses: [Exchange] {
        let codes =
            [200, 201, 202, 203, 205, 206, 208, 226, 300, 305, 306, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413, 414]
            + [415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504, 505, 507, 508, 511, 599, 699]
            + [999]
        return codes.map { code in
            let id = "status/\(code)"
            return Exchange(id, call(id)) { _ in
                ScriptedResponse(status: code, headers: ["X-Code": "\(code)"], body: .bytes(Array("s".utf8)))
            }
        }
    }

    // MARK: What goes along with a request

    private static var credentials: [Exchange] {
        let cases: [(String, String, [(String, String)])] = [
            ("given", "http://{home}/", [("Authorization", "Bearer t")]), ("user", "http://u:p@{home}/", []),
            ("userAlone", "http://u@{home}/", []), ("escaped", "http://u%40x:p%3A%2F@{home}/", []), ("empty", "http://:@{home}/", []),
            ("both", "http://u:p@{home}/", [("Authorization", "Bearer t")]),
            ("proxyField", "http://{home}/", [("Proxy-Authorization", "x")]),
        ]
        return cases.map { name, prefix, fields in
            let id = "credentials/\(name)"
            var asked = call(id, fields: fields)
            asked.url = prefix + id
            return Exchange(id, asked) { _ in .ok("in") }
        } + challenges
    }

    /// 401 and 407 with nobody to ask: the answer is handed on as it is.
    private static var challenges: [Exchange] {
        let fields = [
            ("basic", "Basic realm=\"r\""), ("digest", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""), ("unknown", "Strange x"),
            ("two", "Basic realm=\"a\", Digest realm=\"b\", nonce=\"n\""), ("broken", "Basic realm=\"never closed"), ("none", ""),
        ]
        return fields.map { name, challenge in
            let id = "challenge/\(name)"
            return Exchange(id, call(id)) { _ in
                let refusal = ScriptedResponse(status: 401, body: .bytes(Array("no".utf8)))
                return challenge.isEmpty ? refusal : refusal.header("WWW-Authenticate", challenge)
            }
        }
    }

    private static var ranges: [Exchange] {
        let asked = ["bytes=0-3", "bytes=4-", "bytes=-2", "bytes=0-1,4-5", "bytes=100-", "bytes=x-y", "lines=1-2"]
        let answered = asked.map { range in
            let id = "range/\(range.replacing("=", with: "_").replacing(",", with: "+"))"
            return Exchange(id, call(id, fields: [("Range", range)])) { _ in
                ScriptedResponse.ok("0123456789").with { $0.acceptsRanges = true }
            }
        }
        let ignored = Exchange("range/ignored", call("range/ignored", fields: [("Range", "bytes=2-3")])) { _ in .ok("0123456789") }
        let stranger = Exchange("range/other", call("range/other", fields: [("Range", "bytes=2-3")])) { _ in
            ScriptedResponse(status: 206, headers: ["Content-Range": "bytes 7-8/10"], body: .bytes(Array("78".utf8)))
        }
        let unasked = Exchange("range/unasked", call("range/unasked")) { _ in
            ScriptedResponse(status: 206, headers: ["Content-Range": "bytes 0-1/10"], body: .bytes(Array("01".utf8)))
        }
        return answered + [ignored, stranger, unasked]
    }
}
