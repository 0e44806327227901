import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// HTTP/2 on plain TCP: each request is sent at once, whatever else is going on; on one connection where libcurl can.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(2)))
struct PriorKnowledgeTests {
    private func withPlainHTTP2(_ test: (Wire) async throws -> Void) async throws {
        try await withWire(.init(protocols: [.http2])) {
            $0.options.httpVersion = .http2PriorKnowledge
            $0.options.timeouts = Timeouts(connect: .seconds(50), firstByte: .seconds(50), idle: .seconds(50))
        } _: {
            try await test($0)
        }
    }

    @Test func oneAfterTheOther() async throws {
        try await withPlainHTTP2 { wire async throws in
            wire.server.on("/*", .ok("x"))
            for number in 0..<20 { #expect(try await wire.send("/\(number)").head.version == "2") }
            #expect(wire.server.connectionsAccepted == 1 || !Capabilities.current.sharesPlainHTTP2)
        }
    }

    /// The second one goes out while the first is being answered, and nothing else happens on the connection.
    @Test func besideAnotherThatStalls() async throws {
        try await withPlainHTTP2 { wire async throws in
            wire.server.on("/slow", .ok("slow").stalling(.beforeHead))
            wire.server.on("/*", .ok("fast"))
            let slow = wire.get("/slow")
            let outcome = Task { await slow.outcome() }
            try await wire.server.waitForStalls()
            for number in 0..<5 { #expect(try await wire.send("/\(number)").body == Data("fast".utf8)) }
            wire.server.releaseStalls()
            #expect(try await outcome.value.get().body == Data("slow".utf8))
            let shares = Capabilities.current.sharesPlainHTTP2 && Capabilities.current.sharesFreshHTTP2
            #expect(wire.server.connectionsAccepted == 1 || !shares)
        }
    }

    @Test func aBurst() async throws {
        try await withPlainHTTP2 { wire async throws in
            wire.server.on("/*", .ok("x").stalling(.beforeHead))
            wire.server.on("/first", .ok("x"))
            _ = try await wire.send("/first")
            let requests = (0..<32).map { wire.get("/\($0)") }
            // Where each needs a connection of its own, the limit of a host holds.
            let atOnce = Capabilities.current.sharesPlainHTTP2 ? 32 : ConnectionLimits().perHost
            await withTaskGroup(of: Void.self) { group in
                for request in requests {
                    group.addTask {
                        let outcome = await request.outcome()
                        #expect((try? outcome.get().status) == 200, "\(outcome)")
                    }
                }
                group.addTask {
                    try? await wire.server.waitForStalls(atOnce)
                    wire.server.on("/*", .ok("x"))
                    wire.server.releaseStalls()
                }
                for await _ in group {}
            }
            #expect(wire.server.maxConcurrentRequests == atOnce)
            #expect(wire.server.connectionsAccepted == 1 || !Capabilities.current.sharesPlainHTTP2)
        }
    }

    @Test func aBodyBesideAnotherThatStalls() async throws {
        try await withPlainHTTP2 { wire async throws in
            wire.server.on("/slow", .ok("slow").stalling(.beforeHead))
            wire.server.on("/echo") { .ok($0.text) }
            let slow = wire.get("/slow")
            let outcome = Task { await slow.outcome() }
            try await wire.server.waitForStalls()
            for count in [1, 1_000, 60_000] {
                let body = Data(bytes(count).map { $0 & 0x7F })
                #expect(try await wire.send("/echo", method: "POST", body: .data(body)).body.isSame(as: body))
            }
            wire.server.releaseStalls()
            _ = try await outcome.value.get()
        }
    }

    @Test func cancellingOneLeavesTheOther() async throws {
        try await withPlainHTTP2 { wire async throws in
            wire.server.on("/*", .ok("whole").stalling(.afterBytes(2)))
            let kept = wire.get("/kept")
            let outcome = Task { await kept.outcome() }
            try await wire.server.waitForStalls(1)
            let run = wire.get("/cancelled").start()
            try await wire.server.waitForStalls(2)
            let request = try #require(wire.server.requests.first { $0.path == "/cancelled" })
            #expect(run.cancel() == .cancelled)
            #expect([.streamReset, .clientClosed].contains(try await request.ending()))
            wire.server.releaseStalls()
            #expect(try await outcome.value.get().body == Data("whole".utf8))
        }
    }
}
