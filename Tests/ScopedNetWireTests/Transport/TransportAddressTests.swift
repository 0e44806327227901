import CleanSlate
import Foundation
import ScopedNetTestServer
import TestProcesses
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct TransportAddressTests {
    @Test func aUnixSocketIsUsedForEveryHost() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/socket"
        try await withWire(.init(listen: .unixSocket(path))) {
            $0.connection.unixSocketPath = path
        } _: { wire async throws in
            wire.server.on("/x", .ok("unix"))

            #expect(try await wire.session.send("http://any.test/x").body == Data("unix".utf8))
            #expect(try await wire.server.takeRequest()["host"] == "any.test")
        }
    }

    @Test func aMissingUnixSocketIsAConnectionError() async throws {
        try await withSession {
            $0.connection.unixSocketPath = "/nowhere/socket"
        } _: { session async throws in
            let error = try await session.request("http://any.test/").failure()
            #expect(error.code == .connectionFailed)
            #expect(!error.mayHaveReachedServer)
        }
    }

    @Test func theLocalAddressIsSeenByTheServer() async throws {
        try await withWire {
            $0.connection.localAddress = "127.0.0.9"
        } _: { wire async throws in
            wire.server.on("/", .ok())
            _ = try await wire.send()
            #expect(try await wire.server.takeRequest().remoteAddress.contains("127.0.0.9"))
        }
    }

    @Test func aLocalAddressThatIsNotOursIsAnError() async throws {
        try await withWire {
            $0.connection.localAddress = "192.0.2.1"
        } _: { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .connectionFailed)
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test func literalIPv6() async throws {
        try await withWire(.init(listen: .ipv6)) { wire async throws in
            wire.server.on("/", .ok("six"))
            let response = try await wire.send()
            #expect(response.metrics.remoteAddress == "::1")
            let request = try await wire.server.takeRequest()
            #expect(request["host"] == "[::1]:\(wire.server.port)")
            #expect(request.remoteAddress.contains("::1"))
        }
    }

    /// The name has an address of each family, and only one of them answers.
    @Test(arguments: [false, true])
    func localhostIsReachedInWhicheverFamilyAnswers(isIPv6: Bool) async throws {
        let reservation = try PortReservation(forIPv6: isIPv6)
        let listen = isIPv6 ? Listen.ipv6(port: reservation.port) : .ipv4(port: reservation.port)
        try await withWire(.init(listen: listen)) { wire async throws in
            wire.server.on("/", .ok("here"))
            #expect(try await wire.session.send("http://localhost:\(wire.server.port)/").body == Data("here".utf8))
        }
        withExtendedLifetime(reservation) {}
    }

    @Test func anAddressFamilyCanBeDemanded() async throws {
        let reservation = try PortReservation(forIPv6: true)
        let listen = Listen.ipv6(port: reservation.port)
        try await withWire(.init(listen: listen)) {
            $0.connection.addressFamily = .ipv4
        } _: { wire async throws in
            let error = try await wire.session.request("http://localhost:\(wire.server.port)/").failure()
            #expect(error.code == .connectionRefused)
            #expect(wire.server.connectionsAccepted == 0)
        }
        withExtendedLifetime(reservation) {}
    }

    @Test(arguments: ["", String(repeating: "s", count: 108), "/tmp/a\0b"])
    func aUnixSocketThatCannotBe(_ path: String) async throws {
        try await withSession {
            $0.connection.unixSocketPath = path
        } _: { session async throws in
            let error = try await session.request("http://host/").failure()
            #expect(error.code == .invalidOption)
            #expect(error.message.contains("unix socket path"))
        }
    }

    @Test func aUnixSocketNobodyListensOnIsNamed() async throws {
        try await withSession {
            $0.connection.unixSocketPath = "/nowhere/socket"
        } _: { session async throws in
            let error = try await session.request("http://host/").failure()
            #expect(error.code == .connectionFailed)
            #expect(error.message.contains("/nowhere/socket"))
        }
    }

    @Test func nobodyThere() async throws {
        try await withSession { session async throws in
            let refused = try await session.request("http://127.0.0.1:1/").failure()
            #expect(refused.code == .connectionRefused)
            #expect(refused.phase == .connecting)
            #expect(!refused.mayHaveReachedServer)
            let unknown = try await session.request("http://no-such-host.invalid/").failure()
            #expect(unknown.code == .nameNotResolved)
            #expect(unknown.isOffline)
        }
    }
}
