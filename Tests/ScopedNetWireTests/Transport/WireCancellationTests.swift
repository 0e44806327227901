import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// G10: the wire falls silent too.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct WireCancellationTests {
    private let authority: TestAuthority

    init() throws { authority = try TestAuthority() }

    @Test(arguments: [ScriptedResponse.Stall.beforeHead, .afterHead, .afterBytes(100_000)])
    func g10TheSocketIsClosed(_ stall: ScriptedResponse.Stall) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 1 << 20)).stalling(stall))
            let run = wire.get().start()
            try await wire.server.waitForStalls()
            let request = try await wire.server.takeRequest()
            let sent = request.bytesSent
            #expect(run.cancel() == .cancelled)
            #expect(try await request.ending() == .clientClosed)
            #expect(request.bytesSent == sent)
            try await wire.server.waitForOpenConnections { $0 == 0 }
        }
    }

    @Test func g10BytesStopInTheMiddle() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 1 << 40)))
            let run = wire.get { $0.limits.bodyBytes = .max }.start()
            let request = try await wire.server.takeRequest()
            try await request.waitForBodyBytesSent(4 << 20)
            run.cancel()
            #expect(try await request.ending() == .clientClosed)
            try await wire.server.waitForOpenConnections { $0 == 0 }
            #expect(wire.server.bytesSent == request.bytesSent)
        }
    }

    @Test func g10WhileSending() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok().stalling(.beforeHead).with { $0.requestBody = .receiveWhileAnswering })
            let pulled = Gathered<Int>()
            let body = RequestBody.stream(EndlessPieces(size: 64 << 10, pulled: pulled))
            let run = wire.session.request(wire.url + "/", method: .post, body: body).start()
            let request = try await wire.server.takeRequest()
            try await request.waitForBodyBytesReceived(1 << 20)
            run.cancel()
            #expect(try await request.ending() == .clientClosed)
            try await wire.server.waitForOpenConnections { $0 == 0 }
            await wire.agent.waitUntilIdle()
        }
    }

    @Test func g10WhileConnecting() async throws {
        let trap = try SocketTrap(isFull: true)
        try await withSession { session async throws in
            let run = session.request("http://127.0.0.1:\(trap.port)/").start()
            #expect(await run.cancelAndWait() == .cancelled)
        }
    }

    @Test func g10WhileSecuring() async throws {
        let trap = try SocketTrap(isFull: false)
        try await withSession { session async throws in
            let run = session.request("https://127.0.0.1:\(trap.port)/").start()
            #expect(await run.cancelAndWait() == .cancelled)
        }
    }

    @Test func g10InTheQueueNothingIsSent() async throws {
        try await withWire {
            $0.limits.perHost = 1
        } _: { wire async throws in
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            wire.get().start()
            try await wire.server.waitForStalls()
            let waiting = (0..<50).map { _ in wire.get().start() }
            for run in waiting { #expect(await run.cancelAndWait() == .cancelled) }
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test(arguments: [ScriptedResponse.Stall.beforeHead, .afterHead, .afterBytes(10_000)])
    func g10TheStreamIsResetAndTheConnectionStays(_ stall: ScriptedResponse.Stall) async throws {
        try await withWire(.tls(authority, [.http2])) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/slow", .ok(.repeating(7, count: 50_000)).stalling(.afterBytes(1_000)))
            wire.server.on("/", .ok(.repeating(7, count: 1 << 20)).stalling(stall))
            let neighbour = wire.get("/slow")
            let outcome = Task { await neighbour.outcome() }
            try await wire.server.waitForStalls(1)
            let run = wire.get().start()
            try await wire.server.waitForStalls(2)
            let request = try #require(wire.server.requests.first { $0.path == "/" })
            run.cancel()
            #expect(try await request.ending() == .streamReset)
            #expect(wire.server.openConnections == 1)
            wire.server.releaseStalls()
            #expect(try await outcome.value.get().body.count == 50_000)
            #expect(wire.server.connectionsAccepted == 1)
        }
    }

    @Test func g10BytesStopOnHTTP2() async throws {
        try await withWire(.tls(authority, [.http2])) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 1 << 40)))
            wire.server.on("/after", .ok("fine"))
            let run = wire.get { $0.limits.bodyBytes = .max }.start()
            let request = try await wire.server.takeRequest()
            try await request.waitForBodyBytesSent(4 << 20)
            run.cancel()
            // Nobody else uses the connection; libcurl before 8 could only close it.
            let ending = try await request.ending()
            #expect([.streamReset, .clientClosed].contains(ending))
            #expect(request.bodyBytesSent < 256 << 20)
            #expect(try await wire.send("/after").body == Data("fine".utf8))
        }
    }

    /// Cancelled streams must not eat the connection's window until nothing can be received any more.
    @Test func g10ManyCancelledStreamsLeaveTheHostUsable() async throws {
        try await withWire(.tls(authority, [.http2])) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 1 << 30)))
            wire.server.on("/after", .ok(.repeating(7, count: 1 << 20)))
            for _ in 0..<60 {
                let run = wire.get { $0.limits.bodyBytes = .max }.start()
                let request = try await wire.server.takeRequest()
                try await request.waitForBodyBytesSent(2 << 20)
                run.cancel()
                _ = try await request.ending()
            }
            let response = try await wire.get("/after") { $0.timeouts.idle = .seconds(5) }.response()
            #expect(response.body.count == 1 << 20)
        }
    }

    @Test func g10UploadsOverHTTP2() async throws {
        try await withWire(.tls(authority, [.http2])) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            $0.options.httpVersion = .http2
        } _: { wire async throws in
            wire.server.on("/", .ok().stalling(.beforeHead).with { $0.requestBody = .receiveWhileAnswering })
            wire.server.on("/after", .ok("fine"))
            let body = RequestBody.stream(EndlessPieces(size: 16 << 10, pulled: Gathered()))
            let run = wire.session.request(wire.url + "/", method: .post, body: body).start()
            let request = try await wire.server.takeRequest()
            try await request.waitForBodyBytesReceived(100_000)
            run.cancel()
            #expect([.streamReset, .clientClosed].contains(try await request.ending()))
            #expect(try await wire.send("/after").body == Data("fine".utf8))
        }
    }
}
