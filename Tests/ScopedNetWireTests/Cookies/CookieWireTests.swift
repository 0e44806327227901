import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// Cookies between a session and a server.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CookieWireTests {
    private func withJar(_ body: (House, CookieJar) async throws -> Void) async throws {
        let jar = CookieJar()
        try await withHouse(.init(), { $0.cookies = jar }) { try await body($0, jar) }
    }

    private func sent(_ house: House) -> [String?] { house.server.requests.map { $0.headers["Cookie"] } }

    @Test func whatIsSetGoesAlongWithTheNextRequest() async throws {
        try await withJar { house, jar in
            house.server.on("/in", .ok().header("Set-Cookie", "a=1; Path=/").header("Set-Cookie", "b=2; Path=/x"))
            house.server.on("/x/y", .ok())
            _ = try await house.session.send(house.url("/in"))
            _ = try await house.session.send(house.url("/x/y"))
            #expect(sent(house) == [nil, "b=2; a=1"])
            #expect(jar.cookies.map(\.name) == ["a", "b"])
        }
    }

    @Test func aFieldOfTheRequestsOwnIsSentAlone() async throws {
        try await withJar { house, jar in
            try jar.set("a=1", for: house.url("/"))
            house.server.on("/", .ok())
            _ = try await house.session.send(house.url("/"), headers: [.cookie: "mine=1"])
            _ = try await house.session.send(house.url("/"))
            #expect(sent(house) == ["mine=1", "a=1"])
        }
    }

    // REQ-2
    @Test func whoWantsNoneSendsAndKeepsNone() async throws {
        try await withJar { house, jar in
            try jar.set("a=1", for: house.url("/"))
            house.server.on("/", .ok().header("Set-Cookie", "b=2"))
            _ = try await house.session.request(house.url("/")).options { $0.handlesCookies = false }.value()
            #expect(sent(house) == [nil])
            #expect(jar.cookies.map(\.name) == ["a"])
        }
    }

    /// Each hop sets, and the next one sends.
    @Test func redirectsSetAndSendToo() async throws {
        try await withJar { house, jar in
            try jar.set("old=1; Path=/", for: house.url("/"))
            house.server.on(
                "/login",
                .redirect(to: "/home").header("Set-Cookie", "session=s; Path=/home").header("Set-Cookie", "old=; Path=/; Max-Age=0"))
            house.server.on("/home", .ok())
            _ = try await house.session.send(house.url("/login"))
            #expect(sent(house) == ["old=1", "session=s"])
        }
    }

    @Test func aRefusalAndARetryCountToo() async throws {
        try await withJar { house, jar in
            house.server.enqueue(.status(503).header("Set-Cookie", "node=2"))
            house.server.enqueue(.ok())
            let request = house.session.request(house.url("/")).options {
                $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1), backoffCap: .milliseconds(2))
            }
            _ = try await request.value()
            #expect(sent(house) == [nil, "node=2"])
        }
    }

    @Test func cookiesGoToNoOtherOrigin() async throws {
        let other = LoopbackServer()
        try await other.start()
        other.on("/", .ok())
        try await withJar { house, jar in
            try jar.set("a=1; Path=/", for: house.url("/"))
            // The same machine by another name: another host.
            let target = "http://localhost:\(other.port)/"
            house.server.on("/", .redirect(to: target))
            _ = try await house.session.send(house.url("/"))
            #expect(other.requests.map { $0.headers["Cookie"] } == [nil])
        }
        await other.stop()
    }

    // MARK: Other sites

    /// One for each thing `SameSite` can say. What says None needs `Secure`, and only https may set that.
    private func fill(_ jar: CookieJar, for host: String) throws {
        for field in ["strict=1; SameSite=Strict", "lax=1; SameSite=Lax", "unsaid=1"] {
            let isTaken = try jar.set(field + "; Path=/", for: "http://\(host)/")
            #expect(isTaken)
        }
        let isTaken = try jar.set("none=1; SameSite=None; Secure; Path=/", for: "https://\(host)/")
        #expect(isTaken)
    }

    private func names(_ server: LoopbackServer) -> [[String]] {
        server.requests.map { request in
            (request["Cookie"] ?? "").split(separator: "; ").map { String($0.prefix { $0 != "=" }) }.sorted()
        }
    }

    private func send(_ house: House, _ url: String, _ method: String) async throws {
        let method = try #require(HTTPRequest.Method(rawValue: method))
        _ = try await house.session.request(url, method: method).response()
    }

    /// RFC 6265bis section 5.2: another host led here. The method that counts is the one that goes out.
    @Test(arguments: [
        ("GET", 302, ["lax", "unsaid"]), ("HEAD", 307, ["lax", "unsaid"]), ("POST", 303, ["lax", "unsaid"]), ("POST", 307, []),
        ("PUT", 308, []),
    ])
    func aRedirectFromAnotherSiteTakesAlongWhatMayGo(_ method: String, _ status: Int, _ expected: [String]) async throws {
        try await withLoopbackServer { other async throws in
            other.on("/", .ok())
            try await withJar { house, jar in
                try fill(jar, for: "localhost")
                house.server.on("/", .redirect(to: "http://localhost:\(other.port)/", status: status))
                try await send(house, house.url("/"), method)
                #expect(sent(house) == [nil])
                #expect(names(other) == [expected])
            }
        }
    }

    /// Another port is the same site. Another site on the way is not forgotten where the way ends at home.
    @Test func aSiteIsAHostWhateverThePort() async throws {
        try await withLoopbackServer { other async throws in
            other.on("/near", .ok())
            try await withJar { house, jar in
                try fill(jar, for: "127.0.0.1")
                house.server.on("/near", .redirect(to: other.url + "/near", status: 307))
                house.server.on("/far", .redirect(to: "http://localhost:\(other.port)/far"))
                other.on("/far", .redirect(to: house.url("/home")))
                house.server.on("/home", .ok())
                try await send(house, house.url("/near"), "POST")
                try await send(house, house.url("/far"), "GET")
                let all = ["lax", "strict", "unsaid"]
                #expect(names(other) == [all, []])
                #expect(names(house.server) == [all, all, ["lax", "unsaid"]])
            }
        }
    }

    /// With `Secure`, None goes along whoever led here and whatever the method. The same host over http is another site.
    @Test(arguments: [("GET", 302, ["lax", "none", "unsaid"]), ("POST", 307, ["none"])])
    func whatSaysNoneGoesAcrossSitesOverHTTPS(_ method: String, _ status: Int, _ expected: [String]) async throws {
        let authority = try TestAuthority()
        let jar = CookieJar()
        try await withLoopbackServer(.tls(authority)) { secure async throws in
            secure.on("/", .ok())
            try await withHouse(
                .init(),
                {
                    $0.cookies = jar
                    $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                }
            ) { house in
                try fill(jar, for: "localhost")
                house.server.on("/", .redirect(to: secure.url + "/", status: status))
                for host in ["127.0.0.1", "localhost"] { try await send(house, "http://\(host):\(house.server.port)/", method) }
                try await send(house, secure.url + "/", method)
                #expect(names(secure) == [expected, expected, ["lax", "none", "strict", "unsaid"]])
                #expect(names(house.server) == [[], ["lax", "strict", "unsaid"]])
            }
        }
    }

    /// A stored answer that depends on cookies is for those cookies alone, and its `Set-Cookie` was for whom it was sent to.
    @Test func aStoredAnswerDependsOnItsCookies() async throws {
        let jar = CookieJar()
        try await withCache({ $0.cookies = jar }) { cached async throws in
            let url = cached.wire.url + "/"
            cached.server.on("/", .ok("x").header("Cache-Control", "max-age=60").header("Vary", "Cookie").header("Set-Cookie", "late=1"))
            try jar.set("user=a", for: url)
            _ = try await cached.get { $0.handlesCookies = true }
            jar.removeAll()
            try jar.set("user=a", for: url)
            let second = try await cached.get()
            #expect(second.source == .cache)
            #expect(jar.cookies.map(\.name) == ["user"])
            try jar.set("user=b", for: url)
            let third = try await cached.get()
            #expect(third.source == .network)
            #expect(cached.server.requests.map { $0.headers["Cookie"] } == ["user=a", "user=b"])
        }
    }

    /// G5: what comes after a cancel is not kept.
    @Test func aCancelledRequestKeepsNothing() async throws {
        try await withJar { house, jar in
            house.server.on("/", .ok().header("Set-Cookie", "a=1"))
            let driver = RaceDriver(house.session)
            driver.at(.headReceived) { $0.cancel() }
            _ = house.session.request(house.url("/")).start()
            await house.agent.waitUntilIdle()
            #expect(jar.cookies.isEmpty && house.server.requests.count == 1)
            withExtendedLifetime(driver) {}
        }
    }

    /// A retry on its way through a cache keeps what it began with: `Vary` was decided by that.
    @Test func aRetryOfACachedRequestSpeaksForWhomItBegan() async throws {
        let jar = CookieJar()
        try await withCache({ $0.cookies = jar }) { cached async throws in
            cached.server.enqueue(.status(503).header("Set-Cookie", "user=a"))
            cached.server.on("/") { request in
                ScriptedResponse.ok(request.headers["Cookie"] ?? "nobody").header("Cache-Control", "max-age=60").header("Vary", "Cookie")
            }
            let retried = try await cached.get {
                $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1), backoffCap: .milliseconds(2))
            }
            jar.removeAll()
            let later = try await cached.get()
            #expect(retried.body == Data("nobody".utf8) && later.body == Data("nobody".utf8))
        }
    }

    /// RFC 6265bis section 5.6: the whole field is ignored, not mended.
    @Test func controlCharactersRefuseACookie() async throws {
        try await withJar { house, jar in
            house.server.on("/", .ok().header("Set-Cookie", "a=x\u{1}y").header("Set-Cookie", "b=1"))
            _ = try? await house.session.send(house.url("/"))
            #expect(jar.cookies.allSatisfy { $0.name == "b" })
        }
    }

    @Test func aHostileServerGetsNothingIn() async throws {
        try await withJar { house, jar in
            var response = ScriptedResponse.ok()
            for number in 0..<100 { response = response.header("Set-Cookie", "n\(number)=1") }
            house.server.on(
                "/", response.header("Set-Cookie", "evil=1; Domain=com").header("Set-Cookie", String(repeating: "x", count: 5000)))
            _ = try await house.session.send(house.url("/"))
            #expect(jar.cookies.count == 50)
            #expect(jar.cookies.allSatisfy { $0.value == "1" && $0.name.hasPrefix("n") })
        }
    }
}
