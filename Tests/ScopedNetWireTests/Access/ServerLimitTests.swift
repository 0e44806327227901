import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// The caps on what a server can send that are tested nowhere else. The article *Limits* lists all.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct ServerLimitTests {
    private func interim(_ count: Int) -> ScriptedResponse {
        .raw(String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: count) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }

    @Test func aHundredInterimHeadsAndNoMore() async throws {
        try await withWire { wire async throws in
            wire.server.on("/100", interim(100))
            wire.server.on("/101", interim(101))
            let recorder = EventRecorder()
            let session = wire.session.with { $0.observers = [recorder] }
            let response = try await session.send(wire.url + "/100")
            #expect(response.body == Data("ok".utf8))
            let seen = recorder.events.filter { if case .informational = $0 { true } else { false } }
            #expect(seen.count == 100)
            // The count begins anew with each response.
            #expect(try await wire.send("/100").status == 200)
            let error = try await wire.get("/101").failure()
            #expect(error.code == .headersTooLarge && error.message.contains("100 interim"), "\(error)")
        }
    }

    /// What a server sends without an end, and libcurl reads for itself, meets the idle clock.
    @Test func chunkExtensionsWithoutAnEnd() async throws {
        try await withRawServer { connection, _ in
            guard connection.readHead() != nil else { return }
            guard connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;") else { return }
            let piece = [UInt8](repeating: 0x78, count: 1_000)
            while connection.send(piece) { usleep(5_000) }
        } configure: {
            $0.options.timeouts.idle = .milliseconds(300)
        } _: { server, session in
            let error = try await session.request("http://127.0.0.1:\(server.port)/").failure()
            #expect([.idleTimeout, .badResponse].contains(error.code), "\(error)")
        }
    }

    /// A body that never ends, one byte at a time: the total clock is the cap.
    @Test func aBodyThatDripsForEver() async throws {
        try await withRawServer { connection, _ in
            guard connection.readHead() != nil, connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n") else { return }
            while connection.send("x") { usleep(20_000) }
        } configure: {
            $0.options.timeouts = Timeouts(idle: .milliseconds(1_500), total: .seconds(2))
        } _: { server, session in
            let error = try await session.request("http://127.0.0.1:\(server.port)/").failure()
            #expect(error.code == .totalTimeout, "\(error)")
        }
    }

    /// Bodies that nobody asked for, and that never end: an error's, a redirect's, a challenge's. What is kept is kept, and the rest is not read.
    @Test func unwantedBodiesWithoutAnEnd() async throws {
        let sent = Gathered<String>()
        try await withRawServer { connection, _ in
            guard let head = connection.readHead() else { return }
            let path = head.split(separator: " ").dropFirst().first.map(String.init) ?? ""
            sent.add(path)
            let isAnswered = head.lowercased().contains("authorization:")
            let reply =
                switch path {
                case "/moved": "302 Found\r\nLocation: /there"
                case "/secret" where !isAnswered: "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\""
                case "/there", "/secret": "200 OK\r\nContent-Length: 2\r\n\r\nok"
                default: "404 Not Found"
                }
            guard connection.send("HTTP/1.1 \(reply)\(reply.hasSuffix("ok") ? "" : "\r\n\r\n")"), !reply.hasSuffix("ok") else { return }
            let piece = [UInt8](repeating: 0x78, count: 1 << 16)
            while connection.send(piece) {}
        } configure: {
            $0.options.authentication = .credential(.basic(user: "ann", password: "secret"))
        } _: { server, session in
            let base = "http://127.0.0.1:\(server.port)"
            let error = try await session.request(base + "/missing").failure()
            #expect(error.code == .unacceptableStatus && error.response?.status == 404 && error.body?.count == 64 << 10)
            for path in ["/moved", "/secret"] {
                let body = try await session.request(base + path).value()
                #expect(body == Data("ok".utf8), "\(path)")
            }
            #expect(sent.all == ["/missing", "/moved", "/there", "/secret", "/secret"])
        }
    }

    /// A decoder that takes no body reads to the end all the same: somebody asked for it.
    @Test func aBodyThatIsAskedForIsReadToItsEnd() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 4 << 20)))
            let response = try await wire.session.request(wire.url + "/", decoder: .head).response()
            #expect(response.metrics.bodyBytesReceived == 4 << 20)
        }
    }

    @Test(arguments: [true, false]) func filesAndStreamsHaveALimitWhereOneIsSet(_ isLengthKnown: Bool) async throws {
        let folder = TemporaryFolder()
        try await withWire {
            $0.options.limits.downloadBytes = 100_000
        } _: { wire async throws in
            for (path, count) in [("/all", 100_000), ("/more", 100_001)] {
                var response = ScriptedResponse.ok(.bytes([UInt8](repeating: 7, count: count)))
                if !isLengthKnown { response.framing = .chunked }
                wire.server.on(path, response)
            }
            let file = URL(fileURLWithPath: folder.path + "/file")
            _ = try await wire.session.download(wire.url + "/all", to: file).value()
            #expect(folder.contents(of: "file")?.count == 100_000)
            let error = try await wire.session.download(wire.url + "/more", to: file).failure()
            #expect(error.code == .bodyTooLarge && error.message.contains("100000"))
            #expect(folder.contents(of: "file")?.count == 100_000 && folder.names == ["file"])
            var bytes = 0
            for try await piece in try await wire.session.stream(wire.url + "/all").bytes { bytes += piece.count }
            #expect(bytes == 100_000)
            let code = Gathered<NetworkError.Code>()
            do {
                for try await piece in try await wire.session.stream(wire.url + "/more").bytes { bytes += piece.count }
            } catch let error as NetworkError { code.add(error.code) }
            #expect(code.all == [.bodyTooLarge])
            // In memory the other limit holds.
            #expect(try await wire.get("/more").value().count == 100_001)
        }
    }

    @Test func aLimitThatCannotBeIsAMistake() async throws {
        let changes: [(String, @Sendable (inout RequestOptions) -> Void)] = [
            ("downloadBytes", { $0.limits.downloadBytes = -1 }), ("bodyBytes", { $0.limits.bodyBytes = -1 }),
            ("headerBytes", { $0.limits.headerBytes = .min }), ("maxRedirects", { $0.redirects.maxRedirects = -1 }),
            ("maxAttempts", { $0.retry.maxAttempts = 0 }), ("maxAttempts", { $0.retry.maxAttempts = -3 }),
        ]
        try await withWire { wire async throws in
            for (name, change) in changes {
                let error = try await wire.session.request(wire.url + "/").options(change).failure()
                #expect(error.code == .invalidOption && error.phase == .preparing && error.message.contains(name), "\(error)")
            }
            #expect(wire.server.requests.isEmpty)
        }
    }

    /// A thousand cookies in one response: the jar keeps what it has room for.
    @Test func cookiesWithoutAnEnd() async throws {
        let jar = CookieJar()
        try await withWire {
            $0.cookies = jar
        } _: { wire async throws in
            let fields = (0..<900).map { "Set-Cookie: c\($0)=\($0)\r\n" }.joined()
            wire.server.on("/", .raw("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n"))
            wire.server.on("/after", .ok())
            _ = try await wire.send()
            _ = try await wire.send("/after")
            let sent = try #require(wire.server.requests.last?["cookie"])
            #expect(sent.split(separator: ";").count == 50)
        }
    }
}
