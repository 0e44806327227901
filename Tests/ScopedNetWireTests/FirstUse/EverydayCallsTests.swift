import CleanSlate
import Foundation
import Logging
import Persistence
import ScopedNet
import ScopedNetTestServer
import Synchronization
import Testing

/// The page docs/everyday-calls.md and the calls it shows.
@MainActor @Suite(.leavesNothing) struct EverydayCallsTests {
    private static let root = (1...4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    private static func lines(of file: String) throws -> [String] {
        try String(contentsOf: root.appending(path: file), encoding: .utf8).split(separator: "\n").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }

    @Test func eachOfFortyCallsStandsInTheSource() throws {
        let rows = try Self.lines(of: "docs/everyday-calls.md").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| call ") }
        #expect(rows.count == 40)
        let source = Set(try Self.lines(of: "Tests/ScopedNetWireTests/FirstUse/EverydayCalls.swift"))
        for row in rows {
            let cells = row.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            #expect(cells.count == 5, "\(row)")
            for call in cells.last?.components(separatedBy: "<br>") ?? [] {
                #expect(call.hasPrefix("`") && call.hasSuffix("`"), "\(call)")
                #expect(source.contains(String(call.dropFirst().dropLast())), "shown, and not compiled: \(call)")
            }
        }
    }

    /// A server for all of the calls, and a session for it.
    private func visit(_ body: (EverydayCalls, LoopbackServer) async throws -> Void) async throws {
        let server = LoopbackServer()
        try await server.start()
        server.on("/v1/posts", ScriptedResponse.json(#"[{"id": 1, "title": "One"}]"#).header("ETag", "\"v1\""))
        server.on("/v1/posts/*", .json(#"{"id": 7, "title": "Seven"}"#))
        server.on("/v1/search", .json(#"[{"id": 2, "title": "Sea"}]"#))
        server.on("/v1/large", ScriptedResponse.ok(.repeating(7, count: 10_000)).header("ETag", "\"v1\""))
        let session = Session(server.url + "/v1/").with { configuration in
            configuration.agent = RequestAgent()
            configuration.proxy = .none
        }
        do {
            try await body(EverydayCalls(base: server.url + "/v1/", session: session), server)
        } catch {
            await session.shutdown()
            await server.stop()
            throw error
        }
        await session.shutdown()
        await server.stop()
    }

    @Test func sessionsAreMade() async throws {
        try await visit { calls, server in
            server.on("/v1/cookie", .status(204).header("Set-Cookie", "a=b; Path=/"))
            server.protect("/v1/in", with: .bearer(token: "t"))
            server.on("/v1/in", .ok("in"))
            let sessions = try await calls.sessions({ "t" }, Logger(label: "calls") { _ in SwiftLogNoOpLogHandler() })
            _ = try await sessions[2].get("posts").value()
            #expect(server.requests.last?["x-key"] == "k")
            _ = try await sessions[4].get("cookie").value()
            _ = try await sessions[4].get("posts").value()
            #expect(server.requests.last?["cookie"] == "a=b")
            #expect(try await sessions[5].get("in", as: String.self).value() == "in")
            for session in sessions { await session.shutdown() }
        }
    }

    @Test func responsesAreCached() async throws {
        let folder = TemporaryFolder()
        try await visit { calls, server in
            server.on("/v1/menu", fresh("soup", 60))
            let cached = calls.caching(NamedCache(folder: folder.path, clock: WallClock()))
            var sources: [ResponseSource] = []
            for _ in 1...2 { sources.append(try await cached.get("menu").response().source) }
            #expect(sources == [.network, .cache] && server.requests.count == 1 && folder.names == ["com.example.reader"])
            await cached.configuration.cache?.store.close()
        }
    }

    @Test func valuesAreGot() async throws {
        try await visit { calls, server in
            server.on("/v1/letter", .ok("Dear Ann"))
            server.on("/bytes", .ok(.repeating(1, count: 5)))
            let url = try #require(URL(string: server.url + "/bytes"))
            #expect(try await calls.getting(url) == "[1, 1, 1, 5, 2] Dear Ann 200 \"v1\"")
            let requests = server.requests
            #expect(requests[1].query == "page=2&q=sea%20%26%20sun" && requests[2]["x-key"] == "k")
        }
    }

    @Test func bodiesAreSent() async throws {
        let folder = TemporaryFolder()
        let photo = URL(filePath: folder.write("sea", to: "sea.jpg"))
        try await visit { calls, server in
            server.on("/v1/posts") { request in request.method == "POST" ? .json(request.text.replacing("{", with: "{\"id\":9,")) : .ok() }
            for path in ["votes", "login", "notes/7", "posts/7", "events"] { server.on("/v1/\(path)", .status(204)) }
            for path in ["photos", "forms"] { server.on("/v1/\(path)", handler: { .json(#"{"size": \#($0.body.count)}"#) }) }
            let sizes = try await calls.sending(photo, Data("text".utf8))
            #expect(sizes.prefix(2) == [9, 3] && sizes[2] > 100)
            let requests = server.requests
            #expect(requests.map(\.method) == ["POST", "POST", "POST", "PUT", "DELETE", "POST", "POST", "POST"])
            #expect(requests[1].text == #"{"id":7,"up":true}"# && requests[2].text == "password=secret&user=ann")
            #expect(requests[3]["content-type"] == "text/plain" && requests[7]["content-encoding"] == "gzip")
        }
    }

    @Test func failuresAndRepetitions() async throws {
        try await visit { calls, server in
            server.on("/v1/locked", ScriptedResponse.json(#"{"detail": "locked"}"#).with { $0.status = 423 })
            let failure = await calls.failing()
            #expect(failure.first == "locked" && failure.last?.isEmpty == false)
            server.enqueue(.status(503), for: "/v1/flaky")
            server.on("/v1/flaky", .ok("12"))
            server.enqueue(.status(409), for: "/v1/busy")
            server.on("/v1/busy", .ok("123"))
            server.protect("/v1/in", with: .basic(user: "ann", password: "secret"))
            server.on("/v1/in", .ok("1234"))
            server.on("/v1/moved", .redirect(to: "/v1/posts"))
            let answers = try await calls.options()
            #expect(answers == [27, 2, 3, 27, 4, 302])
        }
    }

    @Test func filesLinesAndFigures() async throws {
        let folder = TemporaryFolder()
        try await visit { calls, server in
            server.on("/v1/log", .ok("one\ntwo\n"))
            #expect(try await calls.files(URL(filePath: folder.path + "/large")))
            #expect(folder.contents(of: "large")?.count == 10_000)
            let figures = try await calls.looking()
            #expect(figures.hasPrefix("curl ") && figures.hasSuffix(" true"))
        }
    }

    @Test func theModelShows() async throws {
        let folder = TemporaryFolder()
        try await visit { calls, server in
            server.on("/v1/never", ScriptedResponse.ok("never").stalling(.beforeHead))
            let model = EverydayCalls.Model(session: calls.session)
            model.load()
            await model.deallocBag.waitUntilIdle()
            #expect(model.posts.map(\.title) == ["One"])
            for text in ["s", "se", "sea"] { model.search(text) }
            model.save(to: URL(filePath: folder.path + "/large"))
            model.giveUp()
            await model.deallocBag.waitUntilIdle()
            #expect(model.posts.map(\.title) == ["Sea"] && model.fraction == 1 && model.message.isEmpty)
            model.load()
            model.close()
            await calls.session.agent.waitUntilIdle()
            #expect(model.posts.map(\.title) == ["Sea"])
        }
    }
}
