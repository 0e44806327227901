import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Each test runs in a process of its own, because the environment belongs to the whole process.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(2)))
struct TransportEnvironmentTests {
    private static func withEnvironmentSession(_ test: (Session) async throws -> Void) async throws {
        try await withSession {
            $0.proxy = .environment
        } _: {
            try await test($0)
        }
    }

    @Test func theProxyOfTheEnvironmentIsUsedAndNoProxyIsHonoured() async throws {
        await #expect(processExitsWith: .success) {
            try await withLoopbackServer { server async throws in
                server.on("/", .ok("origin"))
                try await withLoopbackProxy(.init(hosts: ["nowhere.test": server.port, "under.inner.test": server.port])) {
                    proxy async throws in
                    setenv("http_proxy", proxy.url, 1)
                    setenv("NO_PROXY", "127.0.0.0/8,.inner.test", 1)
                    try await TransportEnvironmentTests.withEnvironmentSession { session async throws in
                        // By way of the proxy: nobody else knows the name.
                        guard try await session.send("http://nowhere.test/").status == 200 else { exit(2) }
                        guard proxy.requests.map(\.target) == ["http://nowhere.test/"] else { exit(3) }
                        // Directly.
                        guard try await session.send(server.url + "/").status == 200 else { exit(4) }
                        guard proxy.requests.count == 1, server.requests.count == 2 else { exit(5) }
                        // Directly too, so the name is unknown.
                        guard case .failure(let error) = await session.request("http://under.inner.test/").outcome(),
                            error.code == .nameNotResolved
                        else { exit(6) }
                        guard proxy.requests.count == 1 else { exit(7) }
                    }
                    try await proxy.waitForOpenConnections { $0 == 0 }
                }
            }
        }
    }

    @Test func httpsAndAllProxyAndThePasswordInTheVariable() async throws {
        await #expect(processExitsWith: .success) {
            let authority = try TestAuthority()
            try await withLoopbackServer(.init(tls: try authority.makeServerIdentity())) { server async throws in
                server.on("/", .ok("origin"))
                try await withLoopbackProxy(.init(credentials: .init(user: "ann", password: "secret"))) { proxy async throws in
                    setenv("ALL_PROXY", "http://ann:secret@127.0.0.1:\(proxy.port)", 1)
                    try await withSession {
                        $0.proxy = .environment
                        $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                    } _: { session async throws in
                        guard try await session.send(server.url + "/").status == 200 else { exit(2) }
                        guard proxy.requests.map(\.method) == ["CONNECT"] else { exit(3) }
                        guard proxy.requests[0]["proxy-authorization"] == "Basic YW5uOnNlY3JldA==" else { exit(4) }
                    }
                }
            }
        }
    }

    /// httpoxy: a CGI server puts the client's `Proxy` field there.
    @Test func capitalHTTPProxyIsNotRead() async throws {
        await #expect(processExitsWith: .success) {
            setenv("HTTP_PROXY", "http://127.0.0.1:1", 1)
            try await withLoopbackServer { server async throws in
                server.on("/", .ok("direct"))
                try await TransportEnvironmentTests.withEnvironmentSession { session async throws in
                    guard try await session.send(server.url + "/").status == 200 else { exit(2) }
                }
            }
        }
    }

    @Test func aSessionWithoutProxyIgnoresTheEnvironment() async throws {
        await #expect(processExitsWith: .success) {
            setenv("http_proxy", "http://127.0.0.1:1", 1)
            setenv("all_proxy", "http://127.0.0.1:1", 1)
            try await withWire { wire async throws in
                wire.server.on("/", .ok("direct"))
                guard try await wire.send().status == 200 else { exit(2) }
            }
        }
    }
}
