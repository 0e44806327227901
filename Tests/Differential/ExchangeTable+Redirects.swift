import ScopedNetTestServer

extension ExchangeTable {
    /// Each status with each method, to the same origin and to another.
    static var redirects: [Exchange] {
        let calls: [(String, String?)] = [("GET", nil), ("HEAD", nil), ("POST", "a=1"), ("PUT", "a=1"), ("DELETE", nil)]
        var exchanges: [Exchange] = []
        for status in [300, 301, 302, 303, 307, 308] {
            for (method, body) in calls {
                for isSame in [true, false] { exchanges.append(redirect(status, method, body, isSame: isSame)) }
            }
        }
        return exchanges
    }

    private static func redirect(_ status: Int, _ method: String, _ body: String?, isSame: Bool) -> Exchange {
        let id = "redirect/\(status)-\(method)-\(isSame ? "same" : "cross")"
        let asked = call(id, method, fields: body == nil ? [] : [plainText, ("X-Extra", "1")], body: body)
        return Exchange(id, asked) { places in
            .redirect(to: isSame ? "/\(id)/there" : "http://\(places.away)/\(id)/there", status: status)
        }
        .answering("/\(id)/there") { _ in .ok("arrived") }
    }

    /// What must not reach another origin (RFC 9110 section 15.4).
    static var redirectedSecrets: [Exchange] {
        let secrets: [(String, [(String, String)], String)] = [
            ("authorization", [("Authorization", "Bearer t")], "http://{home}/"), ("cookie", [("Cookie", "a=1")], "http://{home}/"),
            ("proxy", [("Proxy-Authorization", "Basic eA==")], "http://{home}/"), ("user", [], "http://u:p@{home}/"),
            ("host", [("Host", "elsewhere")], "http://{home}/"), ("referer", [("Referer", "http://x/")], "http://{home}/"),
            ("origin", [("Origin", "http://x")], "http://{home}/"), ("key", [("X-Api-Key", "k")], "http://{home}/"),
        ]
        return secrets.flatMap { name, fields, prefix in
            ["same", "cross", "back"].map { way in
                let id = "secret/\(name)-\(way)"
                var asked = call(id, fields: fields)
                asked.url = prefix + id
                return Exchange(id, asked) { places in
                    .redirect(to: way == "same" ? "/\(id)/there" : "http://\(places.away)/\(id)/there")
                }
                .answering("/\(id)/there") { _ in .ok("arrived") }
                .answering("/\(id)/there", at: .away) { places in
                    way == "back" ? .redirect(to: "http://\(places.home)/\(id)/there") : .ok("arrived")
                }
            }
        }
    }

    /// Where a `Location` leads.
    static var locations: [Exchange] {
        let ways: [(String, String)] = [
            ("path", "/location/there"), ("relative", "there"), ("dots", "../location/./x/../there"), ("query", "?a=b"),
            ("fragment", "#part"), ("pathFragment", "/location/there#part"), ("host", "//{away}/location/there"),
            ("space", "/location/the re"), ("escapedSpace", "/location/the%20re"), ("umlaut", "/location/thére"),
            ("percent", "/location/100%"), ("brackets", "/location/a[1]|b"), ("backslash", "\\location\\there"), ("empty", ""),
            ("upper", "HTTP://{home}/location/there"), ("user", "http://x:y@{home}/location/there"), ("ftp", "ftp://{home}/there"),
            ("file", "file:///etc/hostname"), ("data", "data:,x"), ("script", "javascript:alert(1)"), ("broken", "http://["),
            ("port", "http://127.0.0.1:99999/"), ("noHost", "http:///location/there"), ("oneSlash", "http:/location/there"),
            ("spaces", "   /location/there   "), ("absoluteDots", "http://{home}/a/../location/there"),
            ("queryQuestion", "/location/there?a?b=c&d=%zz"),
        ]
        let single = ways.map { name, location in
            let id = "location/\(name)"
            return Exchange(id, call(id, suffix: "?first=1")) { places in
                ScriptedResponse(status: 302, headers: ["Location": places.filled(location)], body: .bytes(Array("moved".utf8)))
            }
            .answering("/location/there") { _ in .ok("arrived") }
        }
        return single + chains
    }

    private static var chains: [Exchange] {
        let missing = Exchange("location/missing", call("location/missing")) { _ in .status(302).header("X-A", "1") }
        let two = Exchange("location/two", call("location/two")) { _ in
            .status(302).header("Location", "/location/one-of-two").header("Location", "/location/two-of-two")
        }
        let inherits = Exchange("location/keepsFragment", call("location/keepsFragment", suffix: "#mine")) { _ in
            .redirect(to: "/location/there")
        }
        let toItself = Exchange("location/itself", call("location/itself")) { _ in .redirect(to: "/location/itself") }
        let onSuccess = Exchange("location/on200", call("location/on200")) { _ in .ok("here").header("Location", "/location/there") }
        let onCreated = Exchange("location/on201", call("location/on201", "POST", fields: [plainText], body: "x")) { _ in
            ScriptedResponse(status: 201, headers: ["Location": "/location/there"])
        }
        return [missing, two, inherits, toItself, onSuccess, onCreated, chain(3), chain(20), chain(21)]
    }

    private static func chain(_ length: Int) -> Exchange {
        let id = "location/chain\(length)"
        var exchange = Exchange(id, call(id)) { _ in .redirect(to: "/\(id)/1") }
        for step in 1..<length {
            exchange = exchange.answering("/\(id)/\(step)") { _ in .redirect(to: "/\(id)/\(step + 1)") }
        }
        return exchange.answering("/\(id)/\(length)") { _ in .ok("arrived") }
    }
}
