import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct ProxyEnvironmentTests {
    @Test(arguments: ["a.example:65536", "10.0.0.1//8", "10.0.0.1/8/", "a.example:-1"]) func brokenElementsAreNoElements(element: String) {
        let environment = ["http_proxy": "http://p:1", "no_proxy": element]
        #expect(choice(environment) == .proxy("http://p:1"))
        #expect(choice(environment, "http", "10.0.0.1") == .proxy("http://p:1"))
    }

    @Test(arguments: ["http://ann:hush@p:1", "ann:hush@p:1", "socks5h://ann:hush@p", "http://ann:hu@sh@p/"])
    func descriptionsMaskTheUserinfoOfTheURL(_ url: String) {
        let proxy = ProxyConfiguration.explicit(url: url, credentials: .init(user: "bob", password: "hush"), bypass: ["a.example"])
        var dumped = ""
        dump(proxy, to: &dumped)
        for text in ["\(proxy)", String(reflecting: proxy), dumped] {
            #expect(!text.contains("hu") && text.contains("a.example") && text.contains("bob"), "\(text)")
        }
        #expect("\(ProxyConfiguration.explicit(url: "http://p:1"))" == #"explicit(url: "http://p:1", credentials: nil, bypass: [])"#)
        #expect("\([ProxyConfiguration.environment, .none])" == "[environment, none]")
    }

    private func choice(_ environment: [String: String], _ scheme: String = "http", _ host: String = "a.example", _ port: Int = 80)
        -> ProxyConfiguration.Environment.Choice
    {
        ProxyConfiguration.Environment(environment).choice(scheme: scheme, host: host, port: port)
    }

    @Test(
        arguments: [
            ([:], "http", nil),
            (["http_proxy": "http://p:1"], "http", "http://p:1"), (["http_proxy": "http://p:1"], "https", nil),
            (["HTTP_PROXY": "http://p:1"], "http", nil), (["HTTP_PROXY": "http://p:1"], "https", nil),
            (["Http_Proxy": "http://p:1"], "http", nil),
            (["HTTP_PROXY": "http://evil:1", "ALL_PROXY": "http://p:1"], "http", "http://p:1"),
            (["https_proxy": "http://p:1"], "https", "http://p:1"), (["HTTPS_PROXY": "http://p:1"], "https", "http://p:1"),
            (["https_proxy": "http://p:1", "HTTPS_PROXY": "http://q:1"], "https", "http://p:1"),
            (["https_proxy": "http://p:1"], "HTTPS", "http://p:1"),
            (["all_proxy": "socks5h://p:1"], "http", "socks5h://p:1"), (["ALL_PROXY": "socks5h://p:1"], "https", "socks5h://p:1"),
            (["all_proxy": "http://p:1", "ALL_PROXY": "http://q:1"], "http", "http://p:1"),
            (["all_proxy": "http://p:1", "http_proxy": "http://q:1"], "http", "http://q:1"),
            (["all_proxy": "http://p:1", "http_proxy": ""], "http", nil), (["all_proxy": "http://p:1", "http_proxy": " "], "http", nil),
            (["all_proxy": "http://p:1", "http_proxy": ""], "https", "http://p:1"),
            (["http_proxy": "p:3128"], "http", "http://p:3128"), (["http_proxy": " p "], "http", "http://p"),
            (["http_proxy": "user:pw@p:3128"], "http", "http://user:pw@p:3128"),
            (["http_proxy": "https://p"], "http", "https://p"),
        ] as [([String: String], String, String?)])
    func variables(_ environment: [String: String], _ scheme: String, _ expected: String?) {
        #expect(choice(environment, scheme) == expected.map { .proxy($0) } ?? .direct)
    }

    @Test func lowerCaseNoProxyWins() {
        let environment = ["http_proxy": "p", "no_proxy": "a.example", "NO_PROXY": "b.example"]
        #expect(choice(environment, "http", "a.example") == .direct)
        #expect(choice(environment, "http", "b.example") == .proxy("http://p"))
        #expect(choice(["http_proxy": "p", "NO_PROXY": "b.example"], "http", "b.example") == .direct)
        #expect(choice(["http_proxy": "p", "no_proxy": "", "NO_PROXY": "b.example"], "http", "b.example") == .proxy("http://p"))
    }

    /// Typed, because the compiler takes eight seconds to find that out.
    private static let lists: [(String, String, Int, Bool)] = [
        ("", "a.example", 80, false), (",, ,", "a.example", 80, false),
        ("*", "a.example", 80, true), ("*", "::1", 80, true), ("x.example, *", "a.example", 80, true), ("*:8080", "a", 80, false),
        ("*:8080", "a", 8080, true),
        ("a.example", "a.example", 80, true), ("a.example", "A.EXAMPLE", 80, true), ("A.Example", "a.example", 80, true),
        ("a.example", "a.example.", 80, true), ("a.example.", "a.example", 80, true),
        ("a.example", "b.a.example", 80, true), ("a.example", "c.b.a.example", 80, true), ("a.example", "ba.example", 80, false),
        ("a.example", "example", 80, false), ("a.example", "a.example.evil", 80, false),
        (".a.example", "b.a.example", 80, true), (".a.example", "a.example", 80, true), (".a.example", "xa.example", 80, false),
        ("*.a.example", "b.a.example", 80, true), ("*.a.example", "a.example", 80, true), ("*a.example", "ba.example", 80, false),
        ("localhost", "localhost", 80, true), ("local", "localhost", 80, false),
        ("x,a.example", "a.example", 80, true), ("x a.example\ty", "a.example", 80, true), ("x;a.example", "a.example", 80, false),
        ("a.example:80", "a.example", 80, true), ("a.example:80", "a.example", 81, false), ("a.example:80", "b.a.example", 80, true),
        ("a.example:", "a.example", 80, false), ("a.example:x", "a.example", 80, false), ("a.example:99999", "a.example", 80, false),
        ("192.0.2.1", "192.0.2.1", 80, true), ("192.0.2.1", "192.0.2.10", 80, false), ("192.0.2.1", "x.192.0.2.1", 80, false),
        ("192.0.2.1:80", "192.0.2.1", 80, true), ("192.0.2.1:80", "192.0.2.1", 443, false), ("2.1", "192.0.2.1", 80, false),
        (".0.2.1", "192.0.2.1", 80, false),
        ("192.0.2.0/24", "192.0.2.255", 80, true), ("192.0.2.0/24", "192.0.3.0", 80, false), ("192.0.2.77/24", "192.0.2.1", 80, true),
        ("192.0.2.0/25", "192.0.2.128", 80, false), ("192.0.2.128/25", "192.0.2.128", 80, true), ("0.0.0.0/0", "8.8.8.8", 80, true),
        ("0.0.0.0/0", "a.example", 80, false), ("0.0.0.0/0", "::1", 80, false), ("192.0.2.1/32", "192.0.2.1", 80, true),
        ("192.0.2.0/33", "192.0.2.0", 80, false), ("192.0.2.0/", "192.0.2.0", 80, false), ("192.0.2.0/-1", "192.0.2.0", 80, false),
        ("192.0.2.0/+8", "192.0.2.0", 80, false), ("192.0.2/24", "192.0.2.0", 80, false), ("a.example/24", "a.example", 80, false),
        ("10.0.0.0/8", "10.255.0.1", 80, true), ("10.0.0.0/8", "10.example", 80, false), ("10.0.0.0/8", "11.0.0.1", 80, false),
        ("::1", "::1", 80, true), ("::1", "[::1]", 80, true), ("[::1]", "::1", 80, true), ("::1", "0:0:0:0:0:0:0:1", 80, true),
        ("[::1]:80", "::1", 80, true), ("[::1]:80", "::1", 81, false), ("::1", "::2", 80, false),
        ("2001:DB8::/32", "2001:db8:ffff::1", 80, true), ("2001:db8::/32", "2001:db9::1", 80, false),
        ("fe80::/10", "fe80::1%eth0", 80, true), ("fe80::/10", "[febf::1]", 80, true), ("fe80::/10", "fec0::1", 80, false),
        ("::ffff:192.0.2.1", "192.0.2.1", 80, true), ("192.0.2.0/24", "::ffff:192.0.2.9", 80, true), ("::/0", "::1", 80, true),
        ("::/129", "::1", 80, false), ("h:65535", "h", 65_535, true), ("h:0", "h", 0, true), ("h:65536", "h", 80, false),
        ("10.0.0.0/9", "10.127.0.1", 80, true), ("10.0.0.0/9", "10.128.0.1", 80, false),
    ]

    @Test(arguments: lists)
    func noProxy(_ list: String, _ host: String, _ port: Int, _ isDirect: Bool) {
        let expected: ProxyConfiguration.Environment.Choice = isDirect ? .direct : .proxy("http://p")
        #expect(choice(["http_proxy": "p", "no_proxy": list], "http", host, port) == expected)
    }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", "+1.2.3.4", "1..2.3", ".1.2.3", "0x1.2.3.4", "٣.2.3.4",
        ":", ":::", "::1::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::", "g::", "::1.2.3",
        "1.2.3.4::", "::1.2.3.4:5", "[::1", "::1]", "[]", "1:2:3:4:5:6:7:", ":1:2:3:4:5:6:7", "::-1", "1:2:3:4:5:6:7:1.2.3.4",
    ])
    func noAddresses(_ text: String) {
        #expect(IPLiteral(text) == nil)
    }

    @Test(
        arguments: [
            ("0.0.0.0", [0, 0, 0, 0]), ("255.255.255.255", [255, 255, 255, 255]),
            ("::", [UInt8](repeating: 0, count: 16)), ("1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]),
            ("1:2:3:4:5:6:7::", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0]),
            ("::2:3:4:5:6:7:8", [0, 0, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]),
            ("64:ff9b::192.0.2.33", [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 33]),
            ("1:2:3:4:5:6:1.2.3.4", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 1, 2, 3, 4]), ("::ffff:1.2.3.4", [1, 2, 3, 4]),
        ] as [(String, [UInt8])])
    func addresses(_ text: String, _ bytes: [UInt8]) {
        #expect(IPLiteral(text)?.bytes == bytes)
    }
}
