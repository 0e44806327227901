import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@_spi(Transport) @testable import ScopedNet

/// What becomes of connections when the transport hears that the network is another one, as the server sees it.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct NetworkChangeTests {
    @Test func idleConnectionsAreClosedAtOnce() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("a"))
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 { group.addTask { _ = try await wire.send() } }
                try await group.waitForAll()
            }
            let before = wire.server.connectionsAccepted
            wire.session.transport.networkChanged()
            try await wire.server.waitForOpenConnections { $0 == 0 }
            _ = try await wire.send()
            #expect(wire.server.connectionsAccepted == before + 1)
        }
    }

    @Test func aTransferUnderWayGoesOnAndNobodyJoinsIt() async throws {
        try await withWire { wire async throws in
            wire.server.on("/slow", .ok("hello").stalling(.afterBytes(2)))
            wire.server.on("/", .ok("a"))
            // One busy connection, one idle.
            async let slow = wire.send("/slow")
            try await wire.server.waitForStalls()
            _ = try await wire.send()
            #expect(wire.server.connectionsAccepted == 2)
            wire.session.transport.networkChanged()
            try await wire.server.waitForOpenConnections { $0 == 1 }
            _ = try await wire.send()
            #expect(wire.server.connectionsAccepted == 3)
            wire.server.releaseStalls()
            #expect(try await slow.body.count == 5)
            // The old connection goes with its last transfer, the new one stays.
            try await wire.server.waitForOpenConnections { $0 == 1 }
            _ = try await wire.send()
            #expect(wire.server.connectionsAccepted == 3)
        }
    }

    @Test func aStreamOfTheNextRequestGoesToAnotherConnection() async throws {
        let authority = try TestAuthority()
        try await withWire(.tls(authority, [.http2])) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/slow", .ok("hello").stalling(.afterBytes(2)))
            wire.server.on("/", .ok("a"))
            async let slow = wire.send("/slow")
            try await wire.server.waitForStalls()
            _ = try await wire.send()
            #expect(wire.server.connectionsAccepted == 1)
            wire.session.transport.networkChanged()
            _ = try await wire.send()
            #expect(wire.server.connectionsAccepted == 2)
            wire.server.releaseStalls()
            #expect(try await slow.body.count == 5)
            try await wire.server.waitForOpenConnections { $0 == 1 }
        }
    }

    @Test func aCancelStillReachesTheOldConnection() async throws {
        try await withWire { wire async throws in
            wire.server.on("/slow", .ok("hello").stalling(.afterBytes(2)))
            let run = wire.get("/slow").start()
            try await wire.server.waitForStalls()
            wire.session.transport.networkChanged()
            run.cancel()
            try await wire.server.waitForOpenConnections { $0 == 0 }
            wire.server.releaseStalls()
        }
    }

    /// Networks that come and go faster than a transfer ends: each leaves a pool behind, which goes with its last transfer.
    @Test func manyChangesLeaveNothing() async throws {
        try await withWire {
            $0.limits.perHost = 20
        } _: { wire async throws in
            wire.server.on("/slow", .ok("hello").stalling(.afterBytes(2)))
            let runs = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...10 {
                    group.addTask { try await wire.send("/slow").body.count }
                    try await wire.server.waitForStalls(number)
                    wire.session.transport.networkChanged()
                }
                wire.server.releaseStalls()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(runs == Array(repeating: 5, count: 10))
            try await wire.server.waitForOpenConnections { $0 == 0 }
        }
    }

    @Test func timeoutsHoldOnTheOldConnection() async throws {
        try await withWire {
            $0.options.timeouts.idle = .seconds(2)
        } _: { wire async throws in
            wire.server.on("/slow", .ok("hello").stalling(.afterBytes(2)))
            async let error = wire.get("/slow").failure()
            try await wire.server.waitForStalls()
            wire.session.transport.networkChanged()
            #expect(try await error.code == .idleTimeout)
            wire.server.releaseStalls()
        }
    }

    @Test func shutdownEndsTransfersOfEveryPool() async throws {
        try await withWire { wire async throws in
            wire.server.on("/slow", .ok("hello").stalling(.afterBytes(2)))
            async let first = wire.get("/slow").outcome()
            try await wire.server.waitForStalls(1)
            wire.session.transport.networkChanged()
            async let second = wire.get("/slow").outcome()
            try await wire.server.waitForStalls(2)
            await wire.session.shutdown()
            for outcome in await [first, second] {
                guard case .failure(let error) = outcome else {
                    Issue.record("it succeeded")
                    continue
                }
                #expect(error.isCancelled)
            }
            try await wire.server.waitForOpenConnections { $0 == 0 }
            wire.server.releaseStalls()
        }
    }

    @Test func beforeTheFirstTransferThereIsNothingToDrop() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("a"))
            wire.session.transport.networkChanged()
            _ = try await wire.send()
            #expect(wire.server.connectionsAccepted == 1)
        }
    }

    /// Paused by its reader: libcurl wants nothing of its socket, and all the same it is in use.
    @Test(arguments: [1, 2]) func aPausedStreamReadsOn(changes: Int) async throws {
        try await withWire { wire async throws in
            let body = bytes(4 << 20)
            wire.server.on("/stream", .ok(.bytes(Array(body))))
            wire.server.on("/", .ok("a"))
            let stream = try await wire.session.stream(wire.server.url + "/stream", window: 64 << 10)
            var received = 0
            var pieces = stream.bytes.makeAsyncIterator()
            received += try await pieces.next()?.count ?? 0
            // The window is full: the server's bytes stay where they are.
            let request = try #require(wire.server.requests.first)
            var sent = -1
            while request.bodyBytesSent != sent {
                sent = request.bodyBytesSent
                try await Task.sleep(for: .milliseconds(50))
            }
            for _ in 0..<changes {
                wire.session.transport.networkChanged()
                _ = try await wire.send()
            }
            while let piece = try await pieces.next() { received += piece.count }
            #expect(received == body.count)
        }
    }
}
