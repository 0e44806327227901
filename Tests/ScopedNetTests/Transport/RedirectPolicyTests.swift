import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct RedirectPolicyTests {
    private func context(
        _ status: Int = 302, _ method: HTTPRequest.Method = .get, from url: String = "https://a.example/1",
        to location: String? = "https://a.example/2", hasBody: Bool = false, isBodyReplayable: Bool = true
    ) -> RedirectPolicy.Context {
        RedirectPolicy.Context(
            status: status, location: location, visits: [.init(method: method, url: url)], hasBody: hasBody,
            isBodyReplayable: isBodyReplayable)
    }

    private func followed(_ decision: RedirectPolicy.Decision) throws -> RedirectPolicy.RedirectedRequest {
        guard case .follow(let request) = decision else {
            Issue.record("\(decision)")
            throw CancellationError()
        }
        return request
    }

    // MARK: Method and body

    @Test(
        arguments: [
            (301, .get, .get, true), (301, .head, .head, true), (301, .post, .get, false), (301, .put, .put, true),
            (301, .delete, .delete, true), (301, .patch, .patch, true),
            (302, .get, .get, true), (302, .head, .head, true), (302, .post, .get, false), (302, .put, .put, true),
            (303, .get, .get, true), (303, .head, .head, true), (303, .post, .get, false), (303, .put, .get, false),
            (303, .delete, .get, false),
            (307, .get, .get, true), (307, .post, .post, true), (307, .put, .put, true),
            (308, .get, .get, true), (308, .post, .post, true), (308, .patch, .patch, true),
        ] as [(Int, HTTPRequest.Method, HTTPRequest.Method, Bool)])
    func methods(_ status: Int, _ method: HTTPRequest.Method, _ expected: HTTPRequest.Method, _ keepsBody: Bool) throws {
        let with = try followed(RedirectPolicy.default.decide(context(status, method, hasBody: true)))
        #expect(with.method == expected)
        #expect(with.keepsBody == keepsBody)
        let without = try followed(RedirectPolicy.default.decide(context(status, method)))
        #expect(without.method == expected)
        #expect(!without.keepsBody)
        // A body that is gone matters only where it is kept.
        let gone = RedirectPolicy.default.decide(context(status, method, hasBody: true, isBodyReplayable: false))
        if keepsBody { #expect(gone == .fail(.bodyNotReplayable)) } else { #expect(gone == .follow(with)) }
    }

    @Test(arguments: [100, 200, 201, 204, 300, 304, 305, 306, 309, 400, 401, 500])
    func otherStatusesAreDelivered(_ status: Int) {
        #expect(RedirectPolicy.default.decide(context(status)) == .deliver(.notARedirect))
    }

    @Test func aRedirectToNowhereIsDelivered() {
        #expect(RedirectPolicy.default.decide(context(to: nil)) == .deliver(.noLocation))
    }

    @Test func fieldsOfADroppedBodyGo() throws {
        let dropped = try followed(RedirectPolicy.default.decide(context(303, .post, hasBody: true)))
        for name in [
            "Content-Type", "content-length", "Content-Encoding", "Content-Language", "Content-MD5", "Transfer-Encoding", "Expect",
            "Trailer", "Digest",
        ] {
            #expect(dropped.drops(name), "\(name)")
        }
        for name in ["Accept", "Authorization", "Cookie", "X-Content-Type", "Range"] { #expect(!dropped.drops(name), "\(name)") }
        let kept = try followed(RedirectPolicy.default.decide(context(307, .post, hasBody: true)))
        #expect(!kept.drops("Content-Type"))
    }

    // MARK: Origins

    // REQ-6
    @Test(arguments: [
        ("https://a.example/1", "https://a.example/2", true),
        ("https://a.example/1", "https://A.EXAMPLE:443/2", true),
        ("https://a.example/1", "HTTPS://a.example:/2", true),
        ("https://a.example/1", "https://user:pw@a.example/2", true),
        ("http://a.example:8080/1", "http://a.example:8080/2", true),
        ("http://[::1]:80/1", "http://[::1]/2", true),
        ("https://a.example/1", "https://a.example:444/2", false),
        ("https://a.example/1", "https://b.a.example/2", false),
        ("https://b.a.example/1", "https://a.example/2", false),
        ("https://a.example/1", "https://a.example./2", false),
        ("https://a.example/1", "https://a.example.evil.example/2", false),
        ("https://a.example/1", "https://a.example@evil.example/2", false),
        ("https://a.example/1", "https://a.example:443@evil.example/2", false),
        ("https://a.example/1", "https://evil.example/@a.example/", false),
        ("https://a.example/1", "https://evil.example?@a.example/", false),
        ("https://a.example/1", "https://evil.example#@a.example/", false),
        ("http://a.example/1", "https://a.example/2", false),
    ])
    func credentialsStayAtTheirOrigin(_ from: String, _ to: String, _ isSame: Bool) throws {
        let policy = RedirectPolicy(additionalSensitiveNames: ["X-Api-Key"])
        let request = try followed(policy.decide(context(from: from, to: to)))
        #expect(request.isSameOrigin == isSame)
        for name in ["Authorization", "authorization", "Cookie", "Proxy-Authorization", "x-api-key", "X-API-KEY", "Host"] {
            #expect(request.drops(name) == !isSame, "\(name)")
        }
        #expect(!request.drops("Accept"))
        let sameOnly = RedirectPolicy(mode: .sameOriginOnly).decide(context(from: from, to: to))
        if isSame { #expect(try followed(sameOnly).url == to) } else { #expect(sameOnly == .deliver(.otherOrigin)) }
    }

    @Test(arguments: [
        "", "/relative", "//a.example/", "a.example", "ftp://a.example/", "file:///etc/passwd", "javascript:alert(1)", "data:,x",
        "http:", "http://", "http:///path", "https:a.example", "http://:80/", "http://user@/", "http://a.example:99999/",
        "http://x@y@a.example/", "http://a.example:8o/", "http://[::1/", "http://[::1]x/", "http://a.example\\@b.example/",
        "http://a b.example/",
        "https://a.example/\r\nX: y", "https://a.example/\u{0}", "https://a.example/ x", "1http://a.example/", "ht tp://a.example/",
    ])
    func otherTargetsFail(_ location: String) {
        #expect(RedirectPolicy.default.decide(context(to: location)) == .fail(.unsupportedTarget))
    }

    @Test func encryptionIsNotGivenUp() throws {
        let down = context(to: "http://a.example/2")
        #expect(RedirectPolicy.default.decide(down) == .fail(.downgrade))
        #expect(RedirectPolicy(mode: .sameOriginOnly).decide(down) == .deliver(.otherOrigin))
        let request = try followed(RedirectPolicy(allowsDowngrade: true).decide(down))
        #expect(request.drops("Cookie"))
    }

    /// libcurl takes the Windows form of a name; an origin that cannot be read is no reason to give encryption up.
    @Test func aNameWithABackslashIsStillHTTPS() {
        let down = RedirectPolicy.Context(
            status: 302, location: "http://a.example/", visits: [.init(method: .get, url: "https://CORP\\ann:pw@a.example/x")])
        #expect(RedirectPolicy.default.decide(down) == .fail(.downgrade))
    }

    @Test func neverMeansNever() {
        #expect(RedirectPolicy(mode: .never).decide(context()) == .deliver(.notFollowed))
        #expect(RedirectPolicy(mode: .never).decide(context(to: "ftp://x/")) == .deliver(.notFollowed))
    }

    // MARK: Limit and loops

    private func chain(_ count: Int) -> RedirectPolicy.Context {
        var context = context(to: "https://a.example/next")
        context.visits = (0..<count).map { .init(method: .get, url: "https://a.example/\($0)") }
        return context
    }

    @Test func twentyRedirectsAndNoMore() throws {
        #expect(try followed(RedirectPolicy.default.decide(chain(20))).url == "https://a.example/next")
        #expect(RedirectPolicy.default.decide(chain(21)) == .fail(.tooMany(limit: 20)))
        #expect(RedirectPolicy(maxRedirects: 0).decide(chain(1)) == .fail(.tooMany(limit: 0)))
    }

    @Test func aCircleIsNoticed() {
        var there = context(to: "https://a.example/1#part")
        #expect(RedirectPolicy.default.decide(there) == .fail(.loop))
        there.visits.append(.init(method: .get, url: "https://a.example/2"))
        #expect(RedirectPolicy.default.decide(there) == .fail(.loop))
    }

    @Test func theSameURLWithAnotherMethodIsNoCircle() throws {
        let form = context(303, .post, to: "https://a.example/1", hasBody: true)
        #expect(try followed(RedirectPolicy.default.decide(form)).method == .get)
    }

    @Test func aCookieMayBreakTheCircle() throws {
        var login = context(to: "https://a.example/1")
        login.setsCookie = true
        #expect(try followed(RedirectPolicy.default.decide(login)).url == "https://a.example/1")
    }

    // MARK: Fragments

    @Test(arguments: [
        ("https://a.example/1#x", "https://a.example/2", "https://a.example/2#x"),
        ("https://a.example/1#x", "https://a.example/2#y", "https://a.example/2#y"),
        ("https://a.example/1#x", "https://a.example/2#", "https://a.example/2#"),
        ("https://a.example/1", "https://a.example/2", "https://a.example/2"),
    ])
    func fragmentsAreInherited(_ from: String, _ to: String, _ expected: String) throws {
        #expect(try followed(RedirectPolicy.default.decide(context(from: from, to: to))).url == expected)
    }
}
