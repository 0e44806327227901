import CleanSlate
import Foundation
import HTTPTypes
@_spi(Transport) import ScopedNet
import ScopedNetFoundation
import ScopedNetTestServer
import ScopedNetTesting
import Testing

/// Exchanges with a real server, recorded to a file and answered again from it.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct ReplayTests {
    private struct Post: Codable, Sendable, Equatable { let title: String }

    /// Records what `body` asks of a server, as a file.
    private func record(_ routes: [String: ScriptedResponse], _ body: (Session, String) async throws -> Void) async throws -> (Data, String)
    {
        let server = LoopbackServer()
        for (path, response) in routes { server.on(path, response) }
        try await server.start()
        let recorder = HARRecorder(bodies: .kept)
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.observers = [recorder]
        let session = Session(configuration: configuration)
        try await body(session, server.url)
        await session.agent.waitUntilIdle()
        await server.stop()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("replay-\(UUID()).har")
        defer { try? FileManager.default.removeItem(at: file) }
        try recorder.write(to: file)
        return (try Data(contentsOf: file), server.url)
    }

    private func session(_ replay: Replay) -> Session {
        Session(configuration: .init(customTransport: replay.transport, agent: RequestAgent()))
    }

    private func failure(_ session: Session, _ url: String) async -> NetworkError? {
        do throws(NetworkError) { _ = try await session.request(url).value() } catch { return error }
        return nil
    }

    @Test(.noLeaks) func whatWasRecordedIsAnsweredWithoutAServer() async throws {
        let (file, url) = try await record([
            "/posts": .json("[{\"title\":\"one\"}]").header("X-Page", "1"), "/old": .redirect(to: "/posts"),
            "/picture": .ok(.bytes([0xFF, 0xD8, 0, 1])),
            "/missing": .status(404).with { $0.body = .bytes(Array("not here".utf8)) },
        ]) { session, url in
            _ = try await session.get(url + "/posts", as: [Post].self).value()
            _ = try await session.get(url + "/old", as: [Post].self).value()
            _ = try await session.request(url + "/picture").value()
            _ = await failure(session, url + "/missing")
        }
        let replay = try Replay(file)
        let session = session(replay)
        #expect(replay.unused.count == 4)

        let response = try await session.get(url + "/posts", as: [Post].self).response()
        #expect(response.value == [Post(title: "one")])
        #expect(response.head["x-page"] == "1")
        let redirected = try await session.get(url + "/old", as: [Post].self).response()
        #expect(redirected.url == url + "/posts")
        #expect(redirected.value == [Post(title: "one")])
        let picture = try await session.request(url + "/picture").value()
        #expect(picture == Data([0xFF, 0xD8, 0, 1]))
        let error = await failure(session, url + "/missing")
        #expect(error?.response?.status == 404)
        #expect(error?.body == Data("not here".utf8))
        #expect(replay.unused.isEmpty)
        #expect(replay.missing.isEmpty)
    }

    @Test func whatIsNotInTheFileFailsAndIsNamed() async throws {
        let (file, url) = try await record(["/a": .ok("a")]) { session, url in _ = try await session.request(url + "/a").value() }
        let replay = try Replay(file)
        let error = await failure(session(replay), url + "/b?token=hidden")
        #expect(error?.code == .connectionFailed)
        #expect(replay.missing == ["GET \(url)/b?token=***"])
        #expect(replay.unused == ["GET \(url)/a"])
    }

    @Test func answersOfOneURLComeInTheirOrder() async throws {
        let server = LoopbackServer()
        server.enqueue(.ok("first"))
        server.enqueue(.ok("second"))
        try await server.start()
        let recorder = HARRecorder(bodies: .kept)
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.observers = [recorder]
        let recorded = Session(configuration: configuration)
        for _ in 0..<2 { _ = try await recorded.request(server.url + "/").value() }
        await recorded.agent.waitUntilIdle()
        await server.stop()
        let session = session(try Replay(try recorder.document().json()))
        var bodies: [String] = []
        for _ in 0..<3 { bodies.append(String(decoding: try await session.request(server.url + "/").value(), as: UTF8.self)) }
        #expect(bodies == ["first", "second", "second"])
    }

    @Test func compressedBodiesAreKeptAsText() async throws {
        let packed = CodedBodies.gzip(Array("hello hello hello".utf8))
        let (file, url) = try await record(["/z": .ok(.bytes(packed)).header("Content-Encoding", "gzip")]) { session, url in
            _ = try await session.request(url + "/z").value()
        }
        let body = try await session(try Replay(file)).request(url + "/z").value()
        #expect(body == Data("hello hello hello".utf8))
    }

    @Test func theFileHoldsNoSecrets() async throws {
        let (file, url) = try await record([
            "/login*": .json("{\"access_token\":\"s3cret-body\",\"name\":\"ann\"}").header("Set-Cookie", "id=s3cret-cookie")
        ]) { session, url in
            _ = try await session.request(
                url + "/login?password=s3cret-query", headers: [.authorization: "Bearer s3cret-field", .cookie: "id=s3cret-mine"]
            ).value()
        }
        let text = String(decoding: file, as: UTF8.self)
        #expect(!text.contains("s3cret"))
        #expect(text.contains("ann"))
        // The request is found although its secret is not in the file.
        let replay = try Replay(file)
        let body = try await session(replay).request(url + "/login?password=another").value()
        #expect(String(decoding: body, as: UTF8.self).contains("\"name\":\"ann\""))
    }

    @Test func bodiesAreLeftOutUnlessAskedFor() async throws {
        let recorder = HARRecorder()
        let session = Session(
            configuration: {
                var configuration = Session.Configuration(customTransport: MockTransport { _ in .ok("body-text") }, agent: RequestAgent())
                configuration.observers = [recorder]
                return configuration
            }())
        _ = try await session.request("http://h/").value()
        await session.agent.waitUntilIdle()
        let text = String(decoding: try recorder.document().json(), as: UTF8.self)
        #expect(!text.contains("body-text"))
    }

    @Test func whatIsNoArchiveIsRefused() {
        #expect(throws: DecodingError.self) { try Replay(Data("{}".utf8)) }
        #expect(throws: (any Error).self) { try Replay(Data("nothing".utf8)) }
    }
}
