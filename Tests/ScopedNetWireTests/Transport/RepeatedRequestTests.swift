import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Requests that libcurl sends again by itself: in answer to a proxy's 407 and to a 417.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct RepeatedRequestTests {
    struct Seen: Sendable {
        let connection: Int
        let head: String
        let body: Int

        var method: Substring { head.prefix { $0 != " " } }
        func has(_ name: String) -> Bool { head.lowercased().contains("\r\n\(name.lowercased()):") }
    }

    /// Answers each request by a script: the number of requests before it, and the request. Nil ends the connection.
    private func withPeer(
        _ answer: @escaping @Sendable (Int, Seen) -> String?,
        configure: @escaping (inout Session.Configuration, Int) -> Void,
        _ test: (Session, RawServer, Gathered<Seen>, EventRecorder) async throws -> Void
    ) async throws {
        let seen = Gathered<Seen>()
        let count = Counter()
        let server = try RawServer { connection, number in
            while let head = connection.readHead() {
                // An expectation that fails is answered before the body, which does not come then.
                let length = head.contains("\r\nExpect:") ? 0 : Self.length(head)
                guard length == 0 || connection.read(length) != nil else { return }
                let request = Seen(connection: number, head: head, body: length)
                seen.add(request)
                let before = count.value
                count.add()
                guard let text = answer(before, request), connection.send(text) else { return }
            }
        }
        defer { server.stop() }
        let recorder = EventRecorder()
        try await withSession {
            configure(&$0, server.port)
            $0.observers = [recorder]
        } _: { session async throws in
            try await test(session, server, seen, recorder)
        }
    }

    private static func length(_ head: String) -> Int {
        let line = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
        return line.flatMap { Int($0.dropFirst(16)) } ?? 0
    }

    private static func challenge(_ nonce: Int, isStale: Bool = false) -> String {
        let field = "Digest realm=\"p\", qop=\"auth\", algorithm=SHA-256, nonce=\"n\(nonce)\"" + (isStale ? ", stale=true" : "")
        return "HTTP/1.1 407 Who\r\nProxy-Authenticate: \(field)\r\nContent-Length: 2\r\n\r\nno"
    }

    private static func ok(_ request: Seen) -> String {
        let text = "\(request.method) \(request.body)"
        return "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
    }

    private func withProxy(
        user: String = "ann", _ answer: @escaping @Sendable (Int, Seen) -> String?,
        _ test: (Session, RawServer, Gathered<Seen>, EventRecorder) async throws -> Void
    ) async throws {
        try await withPeer(answer) { configuration, port in
            let credentials = ProxyConfiguration.Credentials(user: user, password: "secret", isPreemptive: false)
            configuration.proxy = .explicit(url: "http://127.0.0.1:\(port)", credentials: credentials)
        } _: { session, server, seen, recorder async throws in
            try await test(session, server, seen, recorder)
        }
    }

    private func heads(_ recorder: EventRecorder) -> [Int] {
        recorder.events.compactMap { if case .headReceived(let head) = $0 { head.status } else { nil } }
    }

    // MARK: 407

    /// On a new connection and on a pooled one; a name with a colon goes by Digest alone, and begins without the body.
    @Test(arguments: ["GET", "DELETE", "PUT", "POST", "PATCH"], ["ann", "a:b"])
    func aChallengeOfTheProxyIsNoLostConnection(_ method: String, _ user: String) async throws {
        try await withProxy(user: user) { _, request in
            request.has("Proxy-Authorization") ? Self.ok(request) : Self.challenge(1)
        } _: { session, server, seen, recorder async throws in
            for size in [0, 5, 300_000] where method != "GET" || size == 0 {
                let body = size == 0 ? nil : RequestBody.data(bytes(size))
                let request = session.request("http://nowhere.test/a", method: .init(rawValue: method)!, body: body)
                #expect(String(decoding: try await request.response().body, as: UTF8.self) == "\(method) \(size)")
            }
            await session.agent.waitUntilIdle()
            #expect(seen.all.count.isMultiple(of: 2) && seen.all.allSatisfy { String($0.method) == method })
            #expect(recorder.retryDecisions.isEmpty)
            // The head of the refusal is nobody's.
            #expect(heads(recorder).allSatisfy { $0 == 200 })
            #expect(heads(recorder).count == seen.all.count / 2)
        }
    }

    @Test func aNonceThatIsStaleAFewTimesIsFollowed() async throws {
        try await withProxy { number, request in
            number < 4 ? Self.challenge(number, isStale: number > 0) : Self.ok(request)
        } _: { session, _, seen, recorder async throws in
            let request = session.request("http://nowhere.test/", method: .post, body: .data(bytes(10)))
            #expect(String(decoding: try await request.response().body, as: UTF8.self) == "POST 10")
            #expect(seen.all.count == 5)
            #expect(heads(recorder) == [200])
        }
    }

    /// libcurl would go on for ever.
    @Test(arguments: ["GET", "POST"]) func aProxyThatCallsEachNonceStaleIsTheResult(_ method: String) async throws {
        try await withProxy { number, _ in
            Self.challenge(number, isStale: true)
        } _: { session, _, seen, recorder async throws in
            let body = method == "POST" ? RequestBody.data(bytes(10)) : nil
            let error = try await session.request("http://nowhere.test/", method: .init(rawValue: method)!, body: body).failure()
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?.status == 407)
            #expect(seen.all.count == 1 + RequestRepeats.mostAnswers)
            #expect(heads(recorder) == [407])
        }
    }

    @Test func aRefusedAnswerIsTheResultWithItsBody() async throws {
        try await withProxy { number, _ in
            Self.challenge(number)
        } _: { session, _, seen, recorder async throws in
            let error = try await session.request("http://nowhere.test/", method: .post, body: .data(bytes(10))).failure()
            #expect(error.response?.status == 407)
            #expect(error.body == Data("no".utf8))
            #expect(seen.all.count == 2)
            #expect(heads(recorder) == [407])
        }
    }

    @Test func aBodyThatCanBeReadOnceSaysSo() async throws {
        try await withProxy { _, request in
            request.has("Proxy-Authorization") ? Self.ok(request) : Self.challenge(1)
        } _: { session, _, seen, _ async throws in
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            continuation.yield(bytes(1_000))
            continuation.finish()
            let error = try await session.request("http://nowhere.test/", method: .post, body: .stream(stream, length: 1_000)).failure()
            #expect(error.code == .bodyNotReplayable)
            #expect(seen.all.count == 1)
        }
    }

    /// Answered on the connection of the refusal, which dies then: a lost connection after all.
    @Test(arguments: ["GET", "POST"]) func anAnswerWhoseConnectionDies(_ method: String) async throws {
        try await withProxy { number, request in
            number == 1 ? nil : request.has("Proxy-Authorization") ? Self.ok(request) : Self.challenge(1)
        } _: { session, _, seen, recorder async throws in
            let body = method == "POST" ? RequestBody.data(bytes(10)) : nil
            let outcome = await session.request("http://nowhere.test/", method: .init(rawValue: method)!, body: body).outcome()
            await session.agent.waitUntilIdle()
            if method == "GET" {
                #expect(try outcome.get().status == 200)
                #expect(recorder.retryDecisions == ["the reused connection was dead: retry"])
            } else {
                guard case .failure(let error) = outcome else { throw UnexpectedSuccess() }
                #expect(error.code == .connectionLost)
                #expect(seen.all.filter { $0.has("Proxy-Authorization") }.count == 1)
            }
        }
    }

    @Test func aDownloadThroughAChallengingProxyIsItsOwnBody() async throws {
        let folder = TemporaryFolder()
        try await withProxy { _, request in
            request.has("Proxy-Authorization") ? Self.ok(request) : Self.challenge(1)
        } _: { session, _, _, _ async throws in
            _ = try await session.request("http://nowhere.test/").response()
            _ = try await session.download("http://nowhere.test/a", to: URL(filePath: folder.path + "/a")).response()
            #expect(folder.contents(of: "a") == Data("GET 0".utf8))
        }
    }

    @Test func aTunnelWhoseNoncesAreAllStaleIsRefused() async throws {
        try await withProxy { number, _ in
            Self.challenge(number, isStale: true)
        } _: { session, _, seen, recorder async throws in
            let error = try await session.request("https://nowhere.test/").failure()
            #expect(error.code == .proxyFailed, "\(error)")
            #expect(!error.mayHaveReachedServer)
            #expect(seen.all.count == 1 + RequestRepeats.mostAnswers)
            #expect(heads(recorder).isEmpty)
        }
    }

    /// Each refusal ends its connection; what the proxy says is not the response.
    @Test func aTunnelWithAFewStaleNoncesOpens() async throws {
        let authority = try TestAuthority()
        try await withLoopbackServer(.init(tls: try authority.makeServerIdentity(hosts: ["nowhere.test"]))) { server async throws in
            server.on("/", .ok("secret"))
            let credentials = LoopbackProxy.Configuration.Credentials(user: "ann", password: "secret")
            let hosts = ["nowhere.test": server.port]
            try await withLoopbackProxy(.init(credentials: credentials, scheme: .digest(staleNonces: 2), hosts: hosts)) {
                proxy async throws in
                let recorder = EventRecorder()
                try await withSession {
                    let own = ProxyConfiguration.Credentials(user: "ann", password: "secret", isPreemptive: false)
                    $0.proxy = .explicit(url: proxy.url, credentials: own)
                    $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                    $0.observers = [recorder]
                } _: { session async throws in
                    let response = try await session.request("https://nowhere.test/", method: .post, body: .data(bytes(10))).response()
                    #expect(response.body == Data("secret".utf8))
                    await session.agent.waitUntilIdle()
                    #expect(heads(recorder) == [200])
                    #expect(recorder.retryDecisions.isEmpty)
                    #expect(proxy.requests.map(\.method) == ["CONNECT", "CONNECT", "CONNECT", "CONNECT"])
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    // MARK: 417

    private func withServer(
        _ answer: @escaping @Sendable (Int, Seen) -> String?,
        _ test: (Request<Data>, RawServer, Gathered<Seen>, EventRecorder) async throws -> Void
    ) async throws {
        let port = Counter()
        try await withPeer(answer) { _, number in
            port.set(number)
        } _: { session, server, seen, recorder async throws in
            let request = session.request("http://127.0.0.1:\(port.value)/", method: .post, body: .data(bytes(10)))
            try await test(request.header("Expect", "100-continue"), server, seen, recorder)
        }
    }

    private static let refusal = "HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno"

    @Test func anExpectationThatFailedIsNotRepeated() async throws {
        try await withServer { _, request in
            request.has("Expect") ? Self.refusal : Self.ok(request)
        } _: { request, server, seen, recorder async throws in
            #expect(String(decoding: try await request.response().body, as: UTF8.self) == "POST 10")
            #expect(seen.all.map { $0.has("Expect") } == [true, false])
            // The body that the first request announced never came.
            #expect(seen.all.map(\.connection) == [0, 1])
            #expect(recorder.retryDecisions.isEmpty)
            #expect(heads(recorder) == [200])
        }
    }

    @Test func aServerThatExpectsNothingIsAskedTwice() async throws {
        try await withServer { _, _ in
            Self.refusal
        } _: { request, _, seen, recorder async throws in
            let error = try await request.failure()
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?.status == 417)
            #expect(error.body == Data("no".utf8))
            #expect(seen.all.count == 2)
            #expect(heads(recorder) == [417])
        }
    }
}
