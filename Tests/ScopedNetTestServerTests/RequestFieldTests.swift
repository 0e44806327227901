import CleanSlate
import NIOCore
import Testing

@testable import ScopedNetTestServer

/// Fields of requests as the server reads them: ranges, entity tags, credentials.
@Suite(.leavesNothing) struct RequestFieldTests {
    @Test(arguments: [
        ("bytes=0-3", ByteRange.Resolved.part(0..<4)), ("bytes=3-3", .part(3..<4)), ("bytes=8-", .part(8..<10)),
        ("bytes=-2", .part(8..<10)),
        ("bytes=-99", .part(0..<10)), ("bytes=9-99", .part(9..<10)), ("bytes=10-", .unsatisfiable), ("bytes=10-12", .unsatisfiable),
        ("bytes=-0", .unsatisfiable), ("bytes=3-2", .whole), ("bytes=-", .whole), ("bytes=1", .whole), ("bytes=1-2-3", .whole),
        ("bytes=a-3", .whole), ("bytes=1-b", .whole), ("bytes=2,5-7", .whole), ("lines=1-2", .whole), ("", .whole),
    ])
    func rangesAreResolved(header: String, resolved: ByteRange.Resolved) { #expect(ByteRange(header: header).resolve(in: 10) == resolved) }

    @Test func nothingHasNoLastBytes() {
        #expect(ByteRange(header: "bytes=-5").resolve(in: 0) == .unsatisfiable)
        #expect(ByteRange(header: "bytes=0-").resolve(in: 0) == .unsatisfiable)
    }

    @Test(arguments: [
        ("\"a\"", "\"a\"", true), ("\"a\", \"b\"", "\"b\"", true), ("W/\"a\"", "\"a\"", true), ("\"a\"", "W/\"a\"", true),
        ("*", "\"x\"", true), ("\"a\" ,\"b\"", "\"a\"", true), ("\"a\"", "\"b\"", false), ("", "\"a\"", false),
    ])
    func entityTagsAreComparedWeakly(value: String, tag: String, matches: Bool) { #expect(EntityTags(value).contains(tag) == matches) }

    @Test func whatHasNoTagMatchesNone() { #expect(!EntityTags("*").contains(nil)) }

    // MARK: Credentials

    @Test func basicIsUserAndPassword() {
        let challenge = Challenge.basic(user: "Aladdin", password: "open sesame", realm: "r")
        #expect(challenge.refusal.status == 401)
        #expect(challenge.refusal.headers["WWW-Authenticate"] == "Basic realm=\"r\", charset=\"UTF-8\"")
        // RFC 7617 section 2.
        #expect(challenge.accepts("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", method: "GET", target: "/"))
        for wrong in [nil, "", "Basic", "Basic QQ==", "Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ=="] as [String?] {
            #expect(!challenge.accepts(wrong, method: "GET", target: "/"))
        }
    }

    @Test func bearerIsAToken() {
        let challenge = Challenge.bearer(token: "t", realm: "r")
        #expect(challenge.refusal.headers["WWW-Authenticate"] == "Bearer realm=\"r\"")
        #expect(challenge.accepts("Bearer t", method: "GET", target: "/"))
        #expect(!challenge.accepts("Bearer u", method: "GET", target: "/"))
    }

    /// RFC 7616 section 3.9.1: user, realm, target, count and client's nonce of its example; the nonce is the server's own.
    @Test(arguments: [Challenge.DigestAlgorithm.md5, .sha256]) func aDigestIsCheckedWithAllItsParts(algorithm: Challenge.DigestAlgorithm)
        throws
    {
        let challenge = Challenge.digest(user: "Mufasa", password: "Circle of Life", algorithm: algorithm, realm: "r")
        let field = try #require(challenge.refusal.headers["WWW-Authenticate"])
        #expect(field.hasPrefix("Digest realm=\"r\", qop=\"auth\", algorithm=\(algorithm.rawValue), nonce=\""))
        // Whoever has no proof is refused, whatever else he says.
        let nonce = try #require(field.split(separator: "\"").dropFirst(5).first)
        let claim = "Digest username=\"Mufasa\", nonce=\"\(nonce)\", uri=\"/x\", qop=auth, nc=00000001, cnonce=\"c\", response=\"0\""
        #expect(!challenge.accepts(claim, method: "GET", target: "/x"))
        #expect(!challenge.accepts("Digest", method: "GET", target: "/x"))
        #expect(!challenge.accepts("Digest username=\"Mufasa", method: "GET", target: "/x"))
    }

    // MARK: SOCKS

    private func message(_ bytes: [UInt8], _ kind: SOCKSMessage.Kind) -> SOCKSMessage? {
        var buffer = ByteBuffer(bytes: bytes)
        return SOCKSMessage(&buffer, kind)
    }

    @Test func greetingsAndPasswordsAreRead() {
        #expect(message([5, 2, 0, 2], .greeting) == .greeting(methods: [0, 2]))
        #expect(message([1, 1, 0x75, 2, 0x70, 0x77], .password) == .password(user: "u", password: "pw"))
        #expect(message([4, 1, 0], .greeting) == .malformed)
        #expect(message([5, 1, 0x75, 0], .password) == .malformed)
    }

    @Test func addressesOfAllKindsAreRead() {
        #expect(message([5, 1, 0, 1, 127, 0, 0, 1, 0x1F, 0x90], .request) == .request(command: 1, host: "127.0.0.1", port: 8_080))
        #expect(message([5, 1, 0, 3, 1, 0x68, 0, 80], .request) == .request(command: 1, host: "h", port: 80))
        let loopback = [5, 2, 0, 4] + [UInt8](repeating: 0, count: 14) + [1, 2, 0, 80]
        #expect(message(loopback, .request) == .request(command: 2, host: "0:0:0:0:0:0:0:102", port: 80))
        #expect(message([5, 1, 0, 9, 1, 2, 3, 4], .request) == .malformed)
    }

    @Test func whatHasNotComeWholeIsWaitedFor() {
        let whole: [(SOCKSMessage.Kind, [UInt8])] = [
            (.greeting, [5, 2, 0, 2]), (.password, [1, 1, 0x75, 2, 0x70, 0x77]), (.request, [5, 1, 0, 1, 127, 0, 0, 1, 0x1F, 0x90]),
            (.request, [5, 1, 0, 3, 1, 0x68, 0, 80]), (.request, [5, 1, 0, 4] + [UInt8](repeating: 1, count: 18)),
        ]
        for (kind, bytes) in whole {
            for count in 0..<bytes.count { #expect(message(Array(bytes[..<count]), kind) == nil) }
            #expect(message(bytes, kind) != nil)
        }
    }

    // MARK: Routes

    @Test func routesAreReadAtTheirLimits() {
        #expect(ProxyRoute(method: "CONNECT", target: "h:1") == ProxyRoute(host: "h", port: 1))
        #expect(ProxyRoute(method: "CONNECT", target: "h:65535")?.port == 65_535)
        for none in ["h:0", "h:65536", "h:", ":1", "[::1", "[]:1", "h:x"] { #expect(ProxyRoute(method: "CONNECT", target: none) == nil) }
        #expect(ProxyRoute(method: "GET", target: "http://[::1]:81/x") == ProxyRoute(host: "::1", port: 81))
    }

    @Test func aStandInIsConnectedToInstead() {
        let route = ProxyRoute(host: "example.com", port: 443)
        #expect(route.resolved(with: ["example.com": 4_711]) == ProxyRoute(host: "127.0.0.1", port: 4_711))
        #expect(route.resolved(with: ["example.org": 4_711]) == route)
    }

    @Test func targetsOfAllForms() {
        let absolute = RequestTarget("http://u@h:1/p?q")
        #expect(absolute.authority == "u@h:1" && absolute.path == "/p" && absolute.query == "q" && absolute.originForm == "/p?q")
        #expect(RequestTarget("h://x").authority == "x")
        #expect(RequestTarget("1://x").authority == nil)
        #expect(RequestTarget("/p?").query == "")
        #expect(RequestTarget("/p?").originForm == "/p?")
        #expect(RequestTarget("").path == "")
        #expect(RequestTarget("a:b").path == "a:b")
    }
}
