import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct IPLiteralTests {
    @Test(
        arguments: [
            ("9.9.9.9", [9, 9, 9, 9]), ("255.100.10.0", [255, 100, 10, 0]), ("[10.0.0.1]", [10, 0, 0, 1]),
            ("::ffff:10.0.0.1", [10, 0, 0, 1]),
            ("::", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            ("::A:F:a:f:0:9", [0, 0, 0, 0, 0, 0xA, 0, 0xF, 0, 0xA, 0, 0xF, 0, 0, 0, 9]),
            ("1:2:3:4:5:6:7::", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0]),
            ("fe80::1%eth0", [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ] as [(String, [UInt8])])
    func whatIsAnAddress(text: String, bytes: [UInt8]) { #expect(IPLiteral(text)?.bytes == bytes) }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.0004", "1..2.3.4", ".1.2.3.4", "1.2.3.", "1.2.3.a", "[1.2.3.4", "::01234",
        "::g", "::12345",
        ":::", "1::2::3",
        "1:2:3:4:5:6:7", "1:2:3:4::5:6:7:8", "1:2:3:4:5:6:7:8::", "1:2:3:4:5:6:7:8:9", "1.2.3.4::", "::1.2.3",
    ])
    func whatIsNone(text: String) { #expect(IPLiteral(text) == nil) }

    @Test func prefixesAreCountedInBits() throws {
        let (network, inside, outside) = (
            try #require(IPLiteral("10.0.64.0")), try #require(IPLiteral("10.0.127.255")), try #require(IPLiteral("10.0.128.0"))
        )
        #expect(inside.hasPrefix(18, of: network) && !inside.hasPrefix(19, of: network) && !outside.hasPrefix(17, of: network))
        #expect(outside.hasPrefix(16, of: network) && outside.hasPrefix(0, of: network))
        #expect(network.hasPrefix(32, of: network) && !network.hasPrefix(33, of: network) && !network.hasPrefix(-1, of: network))
        #expect(!network.hasPrefix(0, of: try #require(IPLiteral("::"))))
    }
}

@Suite(.leavesNothing) struct URLOriginTests {
    @Test(
        arguments: [
            ("http://h/!~", "http", "h", 80), ("HTTPS://H", "https", "h", 443), ("z9+-.://h", "z9+-.", "h", 0),
            ("http://h:9999?q", "http", "h", 9999),
            ("http://h:65535#f", "http", "h", 65_535), ("http://h:00080/", "http", "h", 80), ("http://h:/", "http", "h", 80),
            ("http://u:p@[::1]:8/", "http", "[::1]", 8), ("http://h/À", "http", "h", 80),
        ] as [(String, String, String, Int)])
    func whatTwoURLsShare(url: String, scheme: String, host: String, port: Int) {
        let origin = URLOrigin(url)
        #expect(origin?.scheme == scheme && origin?.host == host && origin?.port == port)
    }

    @Test(arguments: [
        "", "h", "http:h", "http:/h", "http://", "http://:80", "1http://h", "://h", "ht_tp://h", "http://h:65536", "http://h:000080",
        "http://h:8a", "http://h:+8",
        "http://[::1", "http://[::1]8", "http://h /", "http://h/\u{7f}", "http://a@b@c/", "http://a\\b/",
    ])
    func whatHasNoOrigin(url: String) { #expect(URLOrigin(url) == nil) }
}
