import ScopedNetTestServer

extension ExchangeTable {
    /// A cookie is set, and the redirect behind it shows what is sent back.
    static var cookies: [Exchange] {
        let cases: [(String, [String])] = [
            ("plain", ["a=1"]), ("two", ["a=1", "b=2"]), ("again", ["a=1", "a=2"]), ("quoted", ["a=\"1 2\""]), ("empty", ["a="]),
            ("noName", ["=1"]), ("noEquals", ["alone"]), ("equals", ["a=b=c"]), ("spaces", [" a = 1 "]), ("umlaut", ["a=é"]),
            ("comma", ["a=1,b=2"]), ("path", ["a=1; Path=/cookie"]), ("otherPath", ["a=1; Path=/elsewhere"]),
            ("pathPrefix", ["a=1; Path=/coo"]),
            ("root", ["a=1; Path=/"]), ("relativePath", ["a=1; Path=x"]), ("order", ["a=1; Path=/", "b=2; Path=/cookie"]),
            ("secure", ["a=1; Secure"]), ("httpOnly", ["a=1; HttpOnly"]), ("expired", ["a=1; Max-Age=0"]),
            ("removed", ["a=1", "a=; Max-Age=0"]),
            ("past", ["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]), ("future", ["a=1; Expires=Fri, 01 Jan 2038 00:00:00 GMT"]),
            ("badDate", ["a=1; Expires=someday"]), ("ageBeforeDate", ["a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]),
            ("domain", ["a=1; Domain=127.0.0.1"]), ("foreign", ["a=1; Domain=example.com"]), ("part", ["a=1; Domain=0.0.1"]),
            ("lax", ["a=1; SameSite=Lax"]), ("strict", ["a=1; SameSite=Strict"]), ("none", ["a=1; SameSite=None"]),
            ("hostPrefix", ["__Host-a=1; Path=/"]), ("securePrefix", ["__Secure-a=1"]), ("unknown", ["a=1; Priority=High; X"]),
            ("case", ["a=1; PATH=/; hTTPoNLY"]), ("control", ["a=1\u{1}2"]), ("long", ["a=" + String(repeating: "v", count: 4_000)]),
            ("tooLong", ["a=" + String(repeating: "v", count: 5_000)]), ("semicolons", ["a=1;;;"]), ("tab", ["a=1\t2"]),
        ]
        let same = cases.map { name, values in
            let id = "cookie/\(name)"
            return Exchange(id, call(id)) { _ in
                values.reduce(ScriptedResponse.redirect(to: "/\(id)/next")) { $0.header("Set-Cookie", $1) }
            }
            .answering("/\(id)/next") { _ in .ok("next") }
        }
        return same + [elsewhere, own]
    }

    private static var elsewhere: Exchange {
        Exchange("cookie/elsewhere", call("cookie/elsewhere")) { places in
            .redirect(to: "http://\(places.away)/cookie/elsewhere").header("Set-Cookie", "a=1; Path=/")
        }
    }

    /// The caller's own field and the jar's.
    private static var own: Exchange {
        Exchange("cookie/own", call("cookie/own", fields: [("Cookie", "mine=1")])) { _ in
            .redirect(to: "/cookie/own/next").header("Set-Cookie", "a=1; Path=/")
        }
        .answering("/cookie/own/next") { _ in .ok("next") }
    }
}
