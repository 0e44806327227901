import ScopedNetTestServer

extension ExchangeTable {
    /// What becomes of a URL on its way into the request target.
    static var urls: [Exchange] {
        let cases: [(String, String)] = [
            ("bare", "http://{home}"), ("query", "http://{home}?a=1"), ("fragment", "http://{home}/url/x#part"),
            ("fragmentAlone", "http://{home}#part"),
            ("emptyQuery", "http://{home}/url/x?"), ("emptyFragment", "http://{home}/url/x#"), ("questions", "http://{home}/url/x?a?b"),
            ("escaped", "http://{home}/url/%41%2f%2F%20"), ("lowerEscapes", "http://{home}/url/%c3%a9"), ("space", "http://{home}/url/a b"),
            ("umlaut", "http://{home}/url/é"), ("umlautQuery", "http://{home}/url/x?q=é"), ("emoji", "http://{home}/url/\u{1F600}"),
            ("percent", "http://{home}/url/100%"), ("percentQuery", "http://{home}/url/x?100%zz"), ("dots", "http://{home}/url/a/../b/./c"),
            ("dotsUp", "http://{home}/../../url/x"), ("dotsEscaped", "http://{home}/url/%2e%2e/x"), ("dotEnd", "http://{home}/url/a/.."),
            ("doubleSlash", "http://{home}//url//x"), ("brackets", "http://{home}/url/a[1]"),
            ("bracketsQuery", "http://{home}/url/x?a[]=1&b[c]=2"),
            ("braces", "http://{home}/url/{a}"), ("pipe", "http://{home}/url/a|b"), ("quotes", "http://{home}/url/\"a\""),
            ("angles", "http://{home}/url/<a>"), ("caret", "http://{home}/url/a^b`c"), ("backslash", "http://{home}/url\\x"),
            ("subDelimiters", "http://{home}/url/!$&'()*+,;=:@"), ("plus", "http://{home}/url/x?a+b=c+d"),
            ("semicolon", "http://{home}/url/x;p=1?a=1;b=2"),
            ("upperScheme", "HTTP://{home}/url/x"), ("slashQuery", "http://{home}/url/x?a/b/../c"), ("tilde", "http://{home}/url/~a-_.b"),
            ("nul", "http://{home}/url/%00"), ("tab", "http://{home}/url/a\tb"), ("newline", "http://{home}/url/a\nb"),
            ("leadingSpace", " http://{home}/url/x"),
            ("trailingSpace", "http://{home}/url/x "), ("noScheme", "{home}/url/x"), ("ftp", "ftp://{home}/url/x"),
            ("noHost", "http:///url/x"),
            ("emptyPort", "http://127.0.0.1:/url/x"), ("badPort", "http://127.0.0.1:99999/url/x"),
            ("letterPort", "http://127.0.0.1:8x/url/x"),
            ("leadingZeroPort", "http://127.0.0.1:0{port}/url/x"), ("upperHost", "http://LOCALHOST:{port}/url/x"),
            ("dotHost", "http://localhost.:{port}/url/x"), ("decimalHost", "http://2130706433:{port}/url/x"),
            ("octalHost", "http://0177.0.0.1:{port}/url/x"),
            ("shortHost", "http://127.1:{port}/url/x"), ("hexHost", "http://0x7f000001:{port}/url/x"),
            ("escapedHost", "http://127%2e0.0.1:{port}/url/x"),
            ("idn", "http://b\u{FC}cher.localhost:{port}/url/x"), ("punycode", "http://xn--bcher-kva.localhost:{port}/url/x"),
            ("sharpS", "http://fa\u{DF}.localhost:{port}/url/x"), ("fullWidth", "http://\u{FF11}27.0.0.1:{port}/url/x"),
            ("underscore", "http://a_b.localhost:{port}/url/x"), ("spaceHost", "http://local host:{port}/url/x"),
            ("twoAts", "http://a@b@{home}/url/x"),
            ("openBracket", "http://[::1/url/x"), ("empty", ""), ("colon", "http://:{port}/url/x"), ("oneSlash", "http:/{home}/url/x"),
            ("threeSlashes", "http:///{home}/url/x"), ("noSlashes", "http:{home}/url/x"),
        ]
        return cases.map { name, url in
            Exchange("url/\(name)", Call(url: url)) { _ in .ok("x") }
        }
    }

    /// RFC 3986 section 5.4, both lists, as far as they stay with http.
    static var references: [Exchange] {
        let base = "http://{home}/b/c/d;p?q"
        let cases: [(String, String)] = [
            ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
            ("#s", "/b/c/d;p?q#s"),
            ("g#s", "/b/c/g#s"), ("g?y#s", "/b/c/g?y#s"), (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"), ("g;x?y#s", "/b/c/g;x?y#s"),
            ("", "/b/c/d;p?q"),
            (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"), ("../..", "/"), ("../../", "/"),
            ("../../g", "/g"),
            ("../../../g", "/g"), ("../../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."), (".g", "/b/c/.g"),
            ("g..", "/b/c/g.."),
            ("..g", "/b/c/..g"), ("./../g", "/b/g"), ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"),
            ("g;x=1/./y", "/b/c/g;x=1/y"),
            ("g;x=1/../y", "/b/c/y"), ("g?y/./x", "/b/c/g?y/./x"), ("g?y/../x", "/b/c/g?y/../x"), ("g#s/./x", "/b/c/g#s/./x"),
            ("g#s/../x", "/b/c/g#s/../x"),
        ]
        return cases.enumerated().map { number, entry in
            let call = Call(url: entry.0, base: base, resolved: "http://{home}" + entry.1)
            return Exchange("reference/\(number + 1)", call) { _ in .ok("x") }
        }
    }
}
