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
            $0.options.timeouts = Timeouts(idle: .milliseconds(500), total: .milliseconds(900))
        } _: { server, session in
            let error = try await session.request("http://127.0.0.1:\(server.port)/").failure()
            #expect(error.code == .totalTimeout, "\(error)")
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
