import CleanSlate
import Foundation
import ScopedNetTestServer
import TestProcesses
import Testing

@testable import ScopedNet

/// ``AddressFilter`` at the socket: what is refused is never connected to.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct AddressFilterWireTests {
    /// Every spelling that libcurl and the resolver take for the server's address.
    @Test(arguments: [
        "127.0.0.1", "localhost", "LOCALHOST", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.1", "127.0.1",
        "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::127.0.0.1]",
        "%31%32%37.0.0.1", "127.0.0.2",
    ])
    func loopbackIsRefusedInEverySpelling(_ host: String) async throws {
        try await withWire {
            $0.addressFilter = .publicOnly
            $0.options.retry = .standard
        } _: { wire async throws in
            let error = try await wire.session.request("http://\(host):\(wire.server.port)/").failure()
            #expect(error.code == .addressRefused, "\(error)")
            #expect(error.phase == .connecting && !error.mayHaveReachedServer && error.attempt == 1 && !error.isOffline)
            #expect(error.message.contains("refused by the address filter"), "\(error.message)")
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test func theErrorNamesHostAndAddress() async throws {
        try await withSession {
            $0.addressFilter = .publicOnly
            $0.connection.addressFamily = .ipv4
        } _: { session async throws in
            let named = try await session.request("http://localhost:1/").failure()
            let literal = try await session.request("http://0x7f.1:1/").failure()
            #expect(named.message == "localhost leads to 127.0.0.1, refused by the address filter: loopback")
            #expect(literal.message == "127.0.0.1, refused by the address filter: loopback")
        }
    }

    /// The name has an address of each family, and one of them may be connected to.
    @Test(arguments: [false, true]) func anAllowedAddressIsUsed(_ isIPv6: Bool) async throws {
        let reservation = try PortReservation(forIPv6: isIPv6)
        let listen = isIPv6 ? Listen.ipv6(port: reservation.port) : .ipv4(port: reservation.port)
        try await withWire(.init(listen: listen)) {
            $0.addressFilter = AddressFilter(allowed: [try AddressFilter.Range(isIPv6 ? "::1" : "127.0.0.1")])
        } _: { wire async throws in
            wire.server.on("/", .ok("here"))
            #expect(try await wire.session.send("http://localhost:\(wire.server.port)/").body == Data("here".utf8))
        }
        withExtendedLifetime(reservation) {}
    }

    /// An allowed address that nobody answers at is a failure of the connection, not of the guard.
    @Test func whatIsAllowedFailsAsEver() async throws {
        let reservation = try PortReservation(forIPv6: true)
        try await withSession {
            $0.addressFilter = AddressFilter(allowed: [try AddressFilter.Range("127.0.0.1")])
        } _: { session async throws in
            let error = try await session.request("http://localhost:\(reservation.port)/").failure()
            #expect(error.code == .connectionRefused, "\(error)")
        }
        withExtendedLifetime(reservation) {}
    }

    @Test func aRedirectInsideIsRefused() async throws {
        try await withLoopbackServer(.init(listen: .ipv6)) { inside async throws in
            inside.on("/", .ok("secret"))
            try await withWire {
                $0.addressFilter = AddressFilter(allowed: [try AddressFilter.Range("127.0.0.1")])
            } _: { wire async throws in
                wire.server.on("/", .redirect(to: inside.url + "/"))
                let error = try await wire.get().failure()
                #expect(error.code == .addressRefused && inside.connectionsAccepted == 0, "\(error)")
            }
        }
    }

    /// The pool of a session without the guard is not that of the session with it.
    @Test func aConnectionOfOthersIsNotUsed() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("x"))
            _ = try await wire.send()
            let guarded = wire.session.with { $0.addressFilter = .publicOnly }
            let error = try await guarded.request(wire.url + "/").failure()
            #expect(error.code == .addressRefused && wire.server.requests.count == 1)
            #expect(try await wire.send().metrics.isConnectionReused)
            await guarded.shutdown()
        }
    }

    @Test func whatGoesThroughAProxyIsRefused() async throws {
        try await withLoopbackServer { server async throws in
            server.on("/", .ok("direct"))
            try await withLoopbackProxy(.init(hosts: ["nowhere.test": server.port])) { proxy async throws in
                let loopback = AddressFilter(allowed: [try AddressFilter.Range("127.0.0.0/8")])
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url, bypass: ["127.0.0.1"])
                    $0.addressFilter = loopback
                } _: { session async throws in
                    let error = try await session.request("http://nowhere.test/").failure()
                    #expect(error.code == .addressRefused && error.message.contains("proxy") && !error.mayHaveReachedServer, "\(error)")
                    #expect(try await session.send(server.url + "/").body == Data("direct".utf8))
                }
                #expect(proxy.openConnections == 0)
            }
        }
    }

    @Test func aUnixSocketIsRefused() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/socket"
        try await withWire(.init(listen: .unixSocket(path))) {
            $0.connection.unixSocketPath = path
            $0.addressFilter = AddressFilter(default: .allow)
        } _: { wire async throws in
            let error = try await wire.session.request("http://any.test/").failure()
            #expect(error.code == .addressRefused && error.message.contains("unix socket") && wire.server.connectionsAccepted == 0)
        }
    }

    /// A handle that served a refused transfer serves the next one.
    @Test func theSessionGoesOn() async throws {
        try await withWire {
            $0.addressFilter = AddressFilter(allowed: [try AddressFilter.Range("127.0.0.1")])
        } _: { wire async throws in
            wire.server.on("/", .ok("x"))
            for _ in 0..<3 {
                #expect(try await wire.session.request("http://127.0.0.9:\(wire.server.port)/").failure().code == .addressRefused)
                #expect(try await wire.send().status == 200)
            }
            #expect(wire.server.connectionsAccepted == 1)
        }
    }
}
