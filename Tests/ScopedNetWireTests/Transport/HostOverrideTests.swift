import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@_spi(Transport) @testable import ScopedNet

/// Overrides of names and addresses, as a server and a proxy see them. The names exist nowhere: a lookup would fail.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct HostOverrideTests {
    private func withServers(_ test: (LoopbackServer, LoopbackServer) async throws -> Void) async throws {
        try await withLoopbackServer { one in try await withLoopbackServer { two in try await test(one, two) } }
    }

    @Test(arguments: ["api.invalid", "*"]) func aNameIsNotLookedUp(_ host: String) async throws {
        try await withLoopbackServer { server async throws in
            server.on("/x", .ok("here"))
            try await withSession {
                $0.resolves = [.init(host, port: server.port, to: ["127.0.0.1"])]
            } _: { session async throws in
                let url = "http://API.invalid:\(server.port)/x"
                let response = try await session.send(url)
                #expect(response.body == Data("here".utf8) && response.metrics.remoteAddress == "127.0.0.1")
                #expect(try await server.takeRequest()["host"]?.lowercased() == "api.invalid:\(server.port)")
                // The same pool, and behind a change of the network another one.
                _ = try await session.send(url)
                session.transport.networkChanged()
                _ = try await session.send(url)
                #expect(server.connectionsAccepted == 2)
            }
        }
    }

    @Test func manyAtOnceAndTheNextAddressWhereOneIsSilent() async throws {
        try await withLoopbackServer { server async throws in
            server.on("/", .ok("here"))
            try await withSession {
                $0.resolves = [.init("api.invalid", port: server.port, to: ["127.0.0.7", "127.0.0.1"])]
            } _: { session async throws in
                let requests = (0..<40).map { _ in session.request("http://api.invalid:\(server.port)/") }
                #expect(try await session.values(of: requests).count == 40)
                #expect(server.requests.count == 40 && server.maxOpenConnections <= 7)
            }
        }
    }

    @Test func theCertificateAndTheServerNameStayThoseOfTheURL() async throws {
        let authority = try TestAuthority()
        let identity = try authority.makeServerIdentity(hosts: ["api.invalid"])
        try await withLoopbackServer(.init(tls: identity, protocols: [.http1])) { server async throws in
            server.on("/", .ok("secret"))
            let port = server.port
            try await withSession {
                $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                $0.resolves = [.init("*", port: port, to: ["127.0.0.1"])]
            } _: { session async throws in
                #expect(try await session.send("https://api.invalid:\(port)/").body == Data("secret".utf8))
                #expect(try await server.takeRequest().tls?.serverName == "api.invalid")
                let other = try await session.request("https://other.invalid:\(port)/").failure()
                #expect(other.code == .certificateWrongHost)
                let moved = session.with { ($0.resolves, $0.connectsTo) = ([], [.init("api.invalid", to: "localhost", toPort: port)]) }
                #expect(try await moved.send("https://api.invalid/").body == Data("secret".utf8))
                let request = try await server.takeRequest()
                #expect(request.tls?.serverName == "api.invalid" && request["host"] == "api.invalid")
                let wrong = moved.with { $0.connectsTo = [.init(to: "127.0.0.1", toPort: port)] }
                #expect(try await wrong.request("https://other.invalid/").failure().code == .certificateWrongHost)
                #expect(server.requests.count == 2)
                await moved.shutdown()
                await wrong.shutdown()
            }
        }
    }

    @Test func anotherOverrideIsAnotherPool() async throws {
        try await withServers { one, two async throws in
            one.on("/*", .ok("one"))
            two.on("/*", .ok("two"))
            try await withSession {
                $0.connectsTo = [.init("api.invalid", port: 80, to: "127.0.0.1", toPort: one.port)]
            } _: { session async throws in
                let other = session.with { $0.connectsTo[0].newPort = two.port }
                let same = session.with { $0.errorBodyBytes = 1 }
                for _ in 0..<3 {
                    #expect(try await session.send("http://api.invalid/").body == Data("one".utf8))
                    #expect(try await other.send("http://api.invalid/").body == Data("two".utf8))
                    #expect(try await same.send("http://api.invalid/").body == Data("one".utf8))
                }
                #expect(one.connectionsAccepted == 1 && two.connectionsAccepted == 1 && one.requests.count == 6)
                #expect(one.requests.allSatisfy { $0["host"] == "api.invalid" })
                await other.shutdown()
            }
        }
    }

    @Test func aRedirectGoesByTheOverridesToo() async throws {
        try await withServers { one, two async throws in
            one.on("/", .redirect(to: "http://two.invalid/there"))
            two.on("/there", .ok("two"))
            try await withSession {
                $0.connectsTo = [("one", one), ("two", two)].map { .init("\($0).invalid", to: "127.0.0.1", toPort: $1.port) }
            } _: { session async throws in
                #expect(try await session.send("http://one.invalid/").body == Data("two".utf8))
                #expect(try await two.takeRequest()["host"] == "two.invalid")
            }
        }
    }

    @Test func theAddressFilterIsAskedForTheRealAddress() async throws {
        try await withLoopbackServer { server async throws in
            let port = server.port
            try await withSession {
                $0.addressFilter = .publicOnly
                $0.resolves = [.init("api.invalid", port: port, to: ["127.0.0.1"])]
                $0.connectsTo = [.init("www.invalid", to: "127.0.0.1", toPort: port)]
            } _: { session async throws in
                for url in ["http://api.invalid:\(port)/", "http://www.invalid/"] {
                    #expect(try await session.request(url).failure().code == .addressRefused)
                }
                #expect(server.connectionsAccepted == 0)
            }
        }
    }

    /// Forwarded, the proxy would go by the URL: so there is a tunnel, and the server sees the request as it is without a proxy.
    @Test func throughAProxyThereIsATunnel() async throws {
        try await withLoopbackServer { server async throws in
            server.on("/*", .ok("origin"))
            try await withLoopbackProxy(.init(hosts: ["canary.invalid": server.port])) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url)
                    $0.connectsTo = [.init("www.invalid", to: "canary.invalid", toPort: 81)]
                } _: { session async throws in
                    #expect(try await session.send("http://www.invalid/path?").body == Data("origin".utf8))
                    let connect = try await proxy.takeRequest()
                    #expect(connect.method == "CONNECT" && connect.target == "canary.invalid:81")
                    let request = try await server.takeRequest()
                    #expect(request["host"] == "www.invalid" && request.target == "/path?")
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    @Test func aMalformedOverrideIsAnErrorOfEachRequest() async throws {
        try await withWire {
            $0.resolves = [.init("a.example", to: ["nowhere"])]
        } _: { wire async throws in
            for _ in 0..<2 {
                let error = try await wire.get().failure()
                #expect(error.code == .invalidOption && error.message.contains("nowhere"))
            }
            let other = wire.session.with { ($0.resolves, $0.connectsTo) = ([], [.init("a.example", to: "b.example", toPort: 0)]) }
            #expect(try await other.request(wire.url).failure().code == .invalidOption)
            #expect(wire.server.connectionsAccepted == 0)
            await other.shutdown()
        }
    }

    /// A request to an address of this machine waits for no network.
    @Test func anAddressOfThisMachineNeedsNoPath() throws {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.resolves = [.init("api.invalid", port: 80, to: ["127.0.0.1"])]
        configuration.connectsTo = [.init("www.invalid", to: "::1")]
        let link = Session(configuration: configuration).link
        #expect(link.targets(of: try RequestURL("http://api.invalid/")).isEmpty)
        #expect(link.targets(of: try RequestURL("http://www.invalid/")).isEmpty)
        #expect(link.targets(of: try RequestURL("http://other.invalid/")).count == 2)
    }
}
