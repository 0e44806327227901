import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SEC-7, SEC-9: challenges of servers, and what answers them.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct AuthenticationWireTests {
    private let ann = Credential.basic(user: "ann", password: "secret")
    private let wrong = Credential.basic(user: "ann", password: "guess")

    private func schemes(_ server: LoopbackServer) -> [String?] {
        server.requests.map { $0["authorization"].map { String($0.prefix { $0 != " " }) } }
    }

    private func counts(_ server: LoopbackServer) -> [String?] {
        server.requests.map { request in
            request["authorization"].flatMap { AuthenticationChallenge.parse($0).first?.parameters["nc"] }
        }
    }

    @Test(arguments: [
        Challenge.basic(user: "ann", password: "secret"), .digest(user: "ann", password: "secret", algorithm: .md5),
        .digest(user: "ann", password: "secret", algorithm: .sha256),
    ])
    func aChallengeIsAnsweredOnce(_ challenge: Challenge) async throws {
        let recorder = EventRecorder()
        try await withWire {
            $0.observers = [recorder]
        } _: { wire async throws in
            wire.server.protect("/*", with: challenge)
            wire.server.on("/a", .ok("in"))
            let response = try await wire.get("/a?x=1") { $0.authentication = .credential(ann) }.response()
            #expect(response.body == Data("in".utf8))
            #expect(response.attempts.count == 2)
            #expect(wire.server.requests.count == 2)
            #expect(wire.server.requests[0]["authorization"] == nil)
            #expect(recorder.attempts == [1, 1])
            let told = recorder.events.compactMap {
                if case .challenged(let space, 401, let answer?) = $0 { "\(space) \(answer)" } else { nil }
            }
            #expect(told.count == 1)
            #expect(told.first?.hasPrefix("http://127.0.0.1:\(wire.server.port) \"loopback\" ") == true)
        }
    }

    /// The caller's own password is wrong: the 401 is the result, with its head.
    @Test(arguments: [
        Challenge.basic(user: "ann", password: "secret"), .digest(user: "ann", password: "secret"),
    ])
    func aRefusedCredentialIsNotSentAgain(_ challenge: Challenge) async throws {
        try await withWire { wire async throws in
            wire.server.protect("/*", with: challenge)
            wire.server.on("/a", .ok("in"))
            let error = try await wire.get("/a") { $0.authentication = .credential(wrong) }.failure()
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?.status == 401)
            #expect(wire.server.requests.count == 2)
            #expect(!"\(error)".contains("guess"))
        }
    }

    @Test func withoutACredentialA401IsTheResult() async throws {
        try await withWire { wire async throws in
            wire.server.protect("/*", with: .basic(user: "ann", password: "secret"))
            #expect(try await wire.get("/a").failure().response?.status == 401)
            let store = CredentialStore()
            store.set(ann, for: try ProtectionSpace(wire.url))
            let session = wire.session.with { $0.credentials = store }
            let error = try await session.request(wire.url + "/a").options { $0.authentication = .none }.failure()
            #expect(error.response?.status == 401)
            #expect(schemes(wire.server) == [nil, nil])
        }
    }

    // MARK: Unasked

    @Test func basicGoesAtOnceWhereThatIsWanted() async throws {
        try await withWire { wire async throws in
            wire.server.protect("/*", with: .basic(user: "ann", password: "secret"))
            wire.server.on("/a", .ok("in"))
            _ = try await wire.get("/a") { $0.authentication = .credential(ann, preemptive: true) }.response()
            #expect(schemes(wire.server) == ["Basic"])
        }
    }

    /// A server that wants Digest after all gets it.
    @Test func anUnaskedBasicLeavesRoomForDigest() async throws {
        try await withWire { wire async throws in
            wire.server.protect("/*", with: .digest(user: "ann", password: "secret"))
            wire.server.on("/a", .ok("in"))
            _ = try await wire.get("/a") { $0.authentication = .credential(ann, preemptive: true) }.response()
            #expect(schemes(wire.server) == ["Basic", "Digest"])
        }
    }

    /// RFC 7617 section 2.2 and RFC 7616 section 3.6.
    @Test func whatWasGoodOnceGoesAlongUnasked() async throws {
        try await withWire { wire async throws in
            let store = CredentialStore()
            store.set(ann, for: try ProtectionSpace(wire.url, realm: "loopback"))
            let session = wire.session.with { $0.credentials = store }
            wire.server.protect("/digest/*", with: .digest(user: "ann", password: "secret"))
            wire.server.on("/digest/*", .ok("in"))
            for path in ["/digest/a", "/digest/b", "/digest/c"] { _ = try await session.send(wire.url + path) }
            #expect(counts(wire.server) == [nil, "00000001", "00000002", "00000003"])
            #expect(session.configuration.credentials?.spaces.count == 1)
            // Another credential for the space: what was learnt is of the old one.
            store.set(wrong, for: try ProtectionSpace(wire.url))
            store.remove(try ProtectionSpace(wire.url, realm: "loopback"))
            let error = try await session.request(wire.url + "/digest/d").failure()
            #expect(error.response?.status == 401)
            #expect(counts(wire.server).suffix(2) == [nil, "00000001"])
        }
    }

    @Test func basicCoversItsFolder() async throws {
        try await withWire { wire async throws in
            let store = CredentialStore()
            store.set(ann, for: try ProtectionSpace(wire.url))
            let session = wire.session.with { $0.credentials = store }
            wire.server.protect("/in/*", with: .basic(user: "ann", password: "secret"))
            wire.server.on("/*", .ok())
            for path in ["/in/a", "/in/deep/b", "/out"] { _ = try await session.send(wire.url + path) }
            #expect(schemes(wire.server) == [nil, "Basic", "Basic", nil])
        }
    }

    // MARK: Digest

    /// `stale=true` is answered with the new nonce, a few times in a row.
    @Test func aStaleNonceIsAnsweredAFewTimes() async throws {
        try await withWire { wire async throws in
            func refusal(_ nonce: String, _ more: String = "") -> ScriptedResponse {
                .status(401).header("WWW-Authenticate", "Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\"" + more)
            }
            wire.server.enqueue(refusal("1"), for: "/good")
            wire.server.enqueue(refusal("2", ", stale=TRUE"), for: "/good")
            wire.server.enqueue(.ok("in"), for: "/good")
            let response = try await wire.get("/good") { $0.authentication = .credential(ann) }.response()
            #expect(response.attempts.count == 3)
            #expect(counts(wire.server) == [nil, "00000001", "00000001"])

            wire.server.enqueue(refusal("1"), for: "/twice")
            for nonce in 2...3 { wire.server.enqueue(refusal("\(nonce)", ", stale=true"), for: "/twice") }
            wire.server.enqueue(.ok("in"), for: "/twice")
            #expect(try await wire.get("/twice") { $0.authentication = .credential(ann) }.response().attempts.count == 4)

            let before = wire.server.requests.count
            for nonce in 1...20 { wire.server.enqueue(refusal("\(nonce)", ", stale=true"), for: "/never") }
            let error = try await wire.get("/never") { $0.authentication = .credential(ann) }.failure()
            #expect(error.response?.status == 401)
            // One without an answer, one with the first nonce, and the answers to those that are stale.
            #expect(wire.server.requests.count == before + 2 + DigestExchange.mostStaleAnswers)
        }
    }

    /// What the session remembers counts for itself: the nonce is from before, and the one that replaces it is stale, too.
    @Test func aRememberedNonceMayBeStaleTwice() async throws {
        try await withWire { wire async throws in
            func refusal(_ nonce: String, _ more: String = "") -> ScriptedResponse {
                .status(401).header("WWW-Authenticate", "Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\"" + more)
            }
            let session = wire.session.with { $0.options.authentication = .credential(ann) }
            wire.server.enqueue(refusal("1"))
            wire.server.enqueue(.ok())
            _ = try await session.send(wire.url + "/a")
            for nonce in 2...3 { wire.server.enqueue(refusal("\(nonce)", ", stale=true")) }
            wire.server.enqueue(.ok())
            #expect(try await session.send(wire.url + "/b").attempts.count == 3)
        }
    }

    /// RFC 7616 section 3.5.
    @Test func theNextNonceOfTheServerIsUsed() async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(.status(401).header("WWW-Authenticate", "Digest realm=\"r\", nonce=\"1\", qop=\"auth\""))
            wire.server.enqueue(.ok().header("Authentication-Info", "qop=auth, nextnonce=\"2\""))
            wire.server.enqueue(.ok())
            let session = wire.session.with { $0.options.authentication = .credential(ann) }
            for _ in 0..<2 { _ = try await session.send(wire.url + "/a") }
            let nonces = wire.server.requests.map { request in
                request["authorization"].flatMap { AuthenticationChallenge.parse($0).first?.parameters["nonce"] }
            }
            #expect(nonces == [nil, "1", "2"])
            #expect(counts(wire.server) == [nil, "00000001", "00000001"])
        }
    }

    /// The hash of the body is checked as RFC 7616 section 3.4.3 has it.
    @Test(arguments: [RequestBody.data(Data("the body".utf8)), nil]) func authIntHashesTheBody(_ body: RequestBody?) async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(.status(401).header("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\""))
            wire.server.enqueue(.ok("in"))
            let request = wire.session.request(wire.url + "/p?q=1", method: body == nil ? .get : .put, body: body)
            _ = try await request.options { $0.authentication = .credential(ann) }.response()
            let sent = try #require(wire.server.requests.last)
            let fields = try #require(AuthenticationChallenge.parse(sent["authorization"] ?? "").first?.parameters)
            func hash(_ text: String) -> String { MessageDigest.md5.hexadecimal(Array(text.utf8)) }
            let action = hash("\(sent.method):/p?q=1:" + MessageDigest.md5.hexadecimal(sent.body))
            let parts = [hash("ann:r:secret"), "n", "00000001", fields["cnonce"] ?? "", "auth-int", action]
            #expect(fields["response"] == hash(parts.joined(separator: ":")))
            #expect(sent.text == (body == nil ? "" : "the body"))
        }
    }

    @Test func aBodyThatCanBeReadOnceIsNotSentAgain() async throws {
        try await withWire { wire async throws in
            wire.server.protect("/*", with: .basic(user: "ann", password: "secret"))
            let pieces = AsyncStream<Data> {
                $0.yield(Data("x".utf8))
                $0.finish()
            }
            let request = wire.session.request(wire.url + "/a", method: .put, body: .stream(pieces, length: 1))
            let error = try await request.options { $0.authentication = .credential(ann) }.failure()
            #expect(error.code == .bodyNotReplayable)
            #expect(error.response?.status == 401)
            #expect(wire.server.requests.count == 1)
        }
    }

    // MARK: Origins

    @Test func aCredentialGoesToNoOtherOrigin() async throws {
        try await withLoopbackServer { other async throws in
            other.protect("/*", with: .basic(user: "ann", password: "secret"))
            other.on("/*", .ok("other"))
            try await withWire { wire async throws in
                wire.server.protect("/*", with: .basic(user: "ann", password: "secret"))
                wire.server.on("/*", .redirect(to: other.url + "/there", status: 307))
                let error = try await wire.get("/a") { $0.authentication = .credential(ann, preemptive: true) }.failure()
                #expect(error.response?.status == 401)
                #expect(schemes(wire.server) == ["Basic"])
                #expect(schemes(other) == [nil])

                // There only what the store has for that origin.
                let store = CredentialStore()
                store.set(ann, for: try ProtectionSpace(other.url))
                let session = wire.session.with { $0.credentials = store }
                let request = session.request(wire.url + "/a").options { $0.authentication = .credential(ann, preemptive: true) }
                #expect(try await request.response().body == Data("other".utf8))
                #expect(schemes(other) == [nil, nil, "Basic"])
            }
        }
    }

    @Test func aCredentialForOneServerIsForThatAlone() async throws {
        try await withLoopbackServer { other async throws in
            other.on("/*", .ok("other"))
            try await withWire { wire async throws in
                wire.server.on("/*", .ok("here"))
                let url = wire.url
                let session = wire.session.with { $0.options.authentication = .credential(.bearer("t"), preemptive: true, at: url) }
                _ = try await session.send(wire.url + "/a")
                _ = try await session.send(other.url + "/a")
                #expect(schemes(wire.server) == ["Bearer"])
                #expect(schemes(other) == [nil])
                let error = try await wire.get { $0.authentication = .credential(.bearer("t"), at: "no url") }.failure()
                #expect(error.code == .invalidURL)
            }
        }
    }

    /// A digest is for one target: the redirect gets its own, with the next count.
    @Test func aRedirectAtHomeIsSignedAnew() async throws {
        try await withWire { wire async throws in
            wire.server.protect("/*", with: .digest(user: "ann", password: "secret"))
            wire.server.on("/old", .redirect(to: "/new"))
            wire.server.on("/new", .ok("in"))
            let response = try await wire.get("/old") { $0.authentication = .credential(ann) }.response()
            #expect(response.body == Data("in".utf8))
            #expect(counts(wire.server) == [nil, "00000001", "00000002"])
        }
    }

    @Test func aRetryIsSignedAnew() async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(.status(401).header("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""))
            wire.server.enqueue(.status(503))
            wire.server.enqueue(.ok("in"))
            let request = wire.get("/a") {
                $0.authentication = .credential(ann)
                $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1), backoffCap: .milliseconds(2))
            }
            #expect(try await request.response().attempts.count == 3)
            #expect(counts(wire.server) == [nil, "00000001", "00000002"])
        }
    }

    @Test func aFieldOfTheCallersOwnWins() async throws {
        try await withWire { wire async throws in
            wire.server.protect("/*", with: .basic(user: "ann", password: "secret"))
            wire.server.on("/*", .ok("in"))
            let mine: HTTPFields = [.authorization: "Mine 1"]
            let error = try await wire.session.request(wire.url, headers: HeaderFields(mine)).options {
                $0.authentication = .credential(ann)
            }.failure()
            #expect(error.response?.status == 401)
            #expect(wire.server.requests.map { $0["authorization"] } == ["Mine 1"])
            // A handler is asked all the same.
            let request = wire.session.request(wire.url, headers: HeaderFields(mine)).options {
                $0.authentication = .handler { _ in .use(ann) }
            }
            #expect(try await request.response().body == Data("in".utf8))
            let inURL = "http://bob:x@127.0.0.1:\(wire.server.port)/"
            #expect(
                try await wire.session.request(inURL).options { $0.authentication = .credential(ann) }.failure().response?.status == 401)
        }
    }

    // MARK: Streams, downloads, caches

    @Test func aStreamBeginsWithTheAnswer() async throws {
        try await withWire { wire async throws in
            wire.server.protect("/*", with: .digest(user: "ann", password: "secret"))
            wire.server.on("/*", .ok("in"))
            let session = wire.session.with { $0.options.authentication = .credential(ann) }
            let stream = try await session.stream(wire.url + "/a")
            #expect(stream.head.status == 200)
            var body = Data()
            for try await piece in stream.bytes { body += piece }
            #expect(body == Data("in".utf8))
        }
    }

    @Test func aDownloadHoldsTheAnswer() async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            wire.server.on("/*") { request in
                request["authorization"] == nil
                    ? .ok("not you").with { $0.status = 401 }.header("WWW-Authenticate", "Basic realm=\"r\"") : .ok("in")
            }
            let file = URL(fileURLWithPath: folder.path + "/file")
            _ = try await wire.session.download(wire.url + "/a", to: file).options { $0.authentication = .credential(ann) }.value()
            #expect(folder.contents(of: "file") == Data("in".utf8))
            #expect(folder.names == ["file"])
        }
    }

    /// A refusal that may be stored is not stored where it is answered, and one that was is not believed.
    @Test func theCacheKeepsNoRefusal() async throws {
        try await withCache { cached async throws in
            let wire = cached.wire
            let lifetime = "max-age=600"
            wire.server.on("/*") { request in
                request["authorization"] == nil
                    ? .status(401).header("WWW-Authenticate", "Basic realm=\"r\"").header("Cache-Control", lifetime)
                    : .ok("in").header("Cache-Control", lifetime)
            }
            let credential = ann
            func body() async throws -> Data {
                try await wire.get("/a") { $0.authentication = .credential(credential) }.response().body
            }
            #expect(try await body() == Data("in".utf8))
            #expect(wire.server.requests.count == 2)
            // The answer is in the cache, and the refusal is not in its place.
            #expect(try await body() == Data("in".utf8))
            #expect(wire.server.requests.count == 2)

            // Stored by somebody who had no credential.
            #expect(try await wire.get("/b").failure().response?.status == 401)
            #expect(try await wire.get("/b").failure().response?.status == 401)
            #expect(wire.server.requests.count == 3)
            let later = try await wire.get("/b") { $0.authentication = .credential(credential) }.response()
            #expect(later.body == Data("in".utf8))
            #expect(wire.server.requests.count == 5)
        }
    }

    /// Where the server's 304 fits nothing that is stored, the same goes out once more, and a nonce with the next count.
    @Test func whatTheCacheAsksForOnceMoreIsSignedAnew() async throws {
        try await withCache { cached async throws in
            let wire = cached.wire
            wire.server.on("/*") { request in
                guard request["authorization"] != nil else {
                    return .status(401).header("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")
                }
                if request["if-none-match"] != nil { return .status(304).header("ETag", "\"other\"") }
                return ScriptedResponse.ok("in").header("Cache-Control", "no-cache").header("ETag", "\"1\"")
            }
            let authentication = Authentication.credential(ann)
            for _ in 0..<2 {
                let body = try await wire.get("/a") { $0.authentication = authentication }.response().body
                #expect(body == Data("in".utf8))
            }
            #expect(counts(wire.server) == [nil, "00000001", "00000002", "00000003"])
        }
    }

    // MARK: Proxies

    /// A session behind a proxy, and with a store that has a credential for it.
    private func withCredential(
        _ credential: Credential, forProxy proxy: String, _ test: (Session) async throws -> Void
    ) async throws {
        let store = CredentialStore()
        store.set(credential, for: try ProtectionSpace(proxy, isProxy: true))
        try await withSession {
            $0.proxy = .explicit(url: proxy)
            $0.credentials = store
        } _: {
            try await test($0)
        }
    }

    @Test func aPlainProxyIsAnsweredOutOfTheStore() async throws {
        try await withLoopbackServer { server async throws in
            server.on("/*", .ok("origin"))
            let credentials = LoopbackProxy.Configuration.Credentials(user: "ann", password: "secret")
            try await withLoopbackProxy(.init(credentials: credentials, hosts: ["nowhere.test": server.port])) { proxy async throws in
                try await withCredential(ann, forProxy: proxy.url) { session async throws in
                    #expect(try await session.send("http://nowhere.test/a").body == Data("origin".utf8))
                    #expect(try await session.send("http://nowhere.test/b").body == Data("origin".utf8))
                    let sent = proxy.requests.map { $0["proxy-authorization"] }
                    #expect(sent == [nil, "Basic YW5uOnNlY3JldA==", "Basic YW5uOnNlY3JldA=="])
                    #expect(server.requests.allSatisfy { $0["proxy-authorization"] == nil && $0["authorization"] == nil })
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    /// A proxy that wants Digest, and keeps its connections and its nonce. What it is asked, and by whom, is in the heads.
    private func withDigestProxy(_ body: (_ url: String, _ heads: Gathered<String>) async throws -> Void) async throws {
        let heads = Gathered<String>()
        let proxy = try RawServer { connection, _ in
            while let head = connection.readHead() {
                heads.add(head)
                guard !ProxyDigestTests.isRight(head) else {
                    connection.send("HTTP/1.1 200 In\r\nContent-Length: 2\r\n\r\nin")
                    continue
                }
                let challenge = "Digest realm=\"p\", qop=\"auth\", algorithm=SHA-256, nonce=\"n1\", opaque=\"o\""
                connection.send("HTTP/1.1 407 Who\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 2\r\n\r\nno")
            }
        }
        defer { proxy.stop() }
        try await body("http://127.0.0.1:\(proxy.port)", heads)
    }

    private func field(_ name: String, of head: String) -> String? {
        let start = name.lowercased() + ": "
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(start) }
        return line.map { String($0.dropFirst(start.count)) }
    }

    private func proxyCounts(_ heads: Gathered<String>) -> [String?] {
        heads.all.map { head in
            field("Proxy-Authorization", of: head).flatMap { AuthenticationChallenge.parse($0).first?.parameters["nc"] }
        }
    }

    /// The library answers, not the transport, which has no credentials; the next request has its answer at once, with the next count.
    @Test func aPlainProxyThatWantsADigestIsAnsweredOutOfTheStore() async throws {
        try await withDigestProxy { url, heads async throws in
            try await withCredential(ann, forProxy: url) { session async throws in
                let first = try await session.send("http://nowhere.test/a")
                let second = try await session.send("http://nowhere.test/b?x=1")
                #expect(first.body == Data("in".utf8) && first.attempts.count == 2)
                #expect(second.body == Data("in".utf8) && second.attempts.count == 1)
                #expect(proxyCounts(heads) == [nil, "00000001", "00000002"])
                let lines = heads.all.map { String($0.prefix { $0 != "\r\n" }) }
                let again = "GET http://nowhere.test/a HTTP/1.1"
                #expect(lines == [again, again, "GET http://nowhere.test/b?x=1 HTTP/1.1"])
                // None of it is for the server behind the proxy.
                let forServer = heads.all.compactMap { field("Authorization", of: $0) }
                #expect(forServer.isEmpty)
            }
        }
    }

    /// A wrong password is the result, after one answer.
    @Test func aPlainProxyThatRefusesADigestIsTheResult() async throws {
        try await withDigestProxy { url, heads async throws in
            try await withCredential(wrong, forProxy: url) { session async throws in
                let error = try await session.request("http://nowhere.test/a").failure()
                #expect(error.code == .unacceptableStatus && error.response?.status == 407)
                #expect(proxyCounts(heads) == [nil, "00000001"])
            }
        }
    }

    @Test func aHandlerAnswersAProxyThatWantsADigest() async throws {
        try await withDigestProxy { url, heads async throws in
            let asked = Gathered<AuthenticationChallenge.Context>()
            let guesses = [wrong, ann]
            try await withSession {
                $0.proxy = .explicit(url: url)
            } _: { session async throws in
                let request = session.request("http://nowhere.test/a").options {
                    $0.authentication = .handler { challenge in
                        asked.add(challenge)
                        return .use(guesses[challenge.previousFailureCount])
                    }
                }
                let response = try await request.response()
                #expect(response.body == Data("in".utf8))
                #expect(asked.all.map(\.previousFailureCount) == [0, 1])
                let first = try #require(asked.all.first)
                let space = try ProtectionSpace(url, realm: "p", isProxy: true)
                #expect(first.space == space)
                #expect(first.challenges.map(\.scheme) == ["digest"])
                #expect(first.response.status == 407)
                #expect(first.url == "http://nowhere.test/a")
                #expect(heads.all.count == 3)
            }
        }
    }

    /// A server that plays the proxy gets nothing.
    @Test func aServerThatSays407GetsNoAnswer() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .status(407).header("Proxy-Authenticate", "Basic realm=\"r\""))
            let store = CredentialStore()
            store.set(ann, for: try ProtectionSpace(wire.url, isProxy: true))
            store.set(ann, for: try ProtectionSpace(wire.url))
            let session = wire.session.with { $0.credentials = store }
            #expect(try await session.request(wire.url).failure().response?.status == 407)
            #expect(wire.server.requests.count == 1)
        }
    }
}
