import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SEC-1: certificates that name their host in the common name alone. One rule, whatever is pinned.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct CommonNameTests {
    enum Pins: CaseIterable, Sendable { case none, certificate, key, reported }

    private let root: TestAuthority

    init() throws { root = try TestAuthority() }

    private func policy(_ pins: Pins) -> SecurityPolicy {
        switch pins {
        case .none: SecurityPolicy()
        case .certificate: SecurityPolicy(.certificates([.pem(root.certificatePEM)]))
        case .key: SecurityPolicy(.publicKeys([.key(of: root)]))
        case .reported: SecurityPolicy(.publicKeys([.key(of: root)], mode: .reportOnly))
        }
    }

    /// How a request to a server with this certificate ends; nil is a response.
    private func end(
        _ identity: TLSIdentity, _ pins: Pins, host: String = "localhost", _ change: @escaping (inout TLSConfiguration) -> Void = { _ in }
    ) async throws -> NetworkError.Code? {
        let found = Gathered<NetworkError.Code?>()
        try await withLoopbackServer(.init(tls: identity)) { server async throws in
            server.on("/", .ok("hello"))
            try await withSession {
                $0.tls.certificateAuthority = .pem(root.certificatePEM)
                change(&$0.tls)
                $0.security = policy(pins)
            } _: { session async throws in
                switch await session.request("https://\(host):\(server.port)/").outcome() {
                case .success: found.add(nil)
                case .failure(let error):
                    found.add(error.code)
                    #expect(error.code != .certificateWrongHost || error.trust?.chain.isEmpty == false)
                    #expect(server.requests.isEmpty)
                }
            }
        }
        return try #require(found.all.first)
    }

    @Test(arguments: Pins.allCases) func aCommonNameIsNoName(_ pins: Pins) async throws {
        let identity = try root.makeServerIdentity(hosts: [], commonName: "localhost")
        #expect(try await end(identity, pins) == .certificateWrongHost)
        #expect(try await end(identity, pins) { $0.dangerouslyAcceptsCommonName = true } == nil)
        #expect(try await end(identity, pins) { $0.dangerouslyAcceptsAnyHostName = true } == nil)
    }

    @Test(arguments: Pins.allCases) func norIsOneForAnAddress(_ pins: Pins) async throws {
        let identity = try root.makeServerIdentity(hosts: [], commonName: "127.0.0.1")
        #expect(try await end(identity, pins, host: "127.0.0.1") == .certificateWrongHost)
        #expect(try await end(identity, pins, host: "127.0.0.1") { $0.dangerouslyAcceptsCommonName = true } == nil)
    }

    /// What is said there is all that is said (RFC 9525 section 6.3).
    @Test(arguments: Pins.allCases) func aSubjectAltNameIsNotAddedTo(_ pins: Pins) async throws {
        let identity = try root.makeServerIdentity(hosts: ["elsewhere.test"], commonName: "localhost")
        #expect(try await end(identity, pins) { $0.dangerouslyAcceptsCommonName = true } == .certificateWrongHost)
        let address = try root.makeServerIdentity(hosts: ["192.0.2.1"], commonName: "localhost")
        #expect(try await end(address, pins) { $0.dangerouslyAcceptsCommonName = true } == .certificateWrongHost)
        let own = try root.makeServerIdentity(hosts: ["localhost"], commonName: "elsewhere.test")
        #expect(try await end(own, pins) == nil)
    }

    /// Whoever may have made it, it has to name the host.
    @Test func anyCertificateStillHasToNameTheHost() async throws {
        let stranger = try TestAuthority(name: "Somebody").makeServerIdentity(hosts: [], commonName: "localhost")
        #expect(try await end(stranger, .none) { $0.dangerouslyAcceptsAnyCertificate = true } == .certificateWrongHost)
        #expect(
            try await end(stranger, .none) {
                $0.dangerouslyAcceptsAnyCertificate = true
                $0.dangerouslyAcceptsCommonName = true
            } == nil)
    }

    /// A proxy that speaks TLS has no such option; two addresses cannot be told apart in the handshake.
    @Test(arguments: ["http://nowhere.test/", "https://nowhere.test/", "https://192.0.2.1/"])
    func aProxyIsHeldToItsSubjectAltName(_ target: String) async throws {
        for host in ["localhost", "127.0.0.1"] {
            let identity = try root.makeServerIdentity(hosts: [], commonName: host)
            try await withLoopbackServer(.init(tls: identity)) { proxy async throws in
                proxy.on("/*", .ok("by proxy"))
                try await withSession {
                    $0.tls.certificateAuthority = .pem(root.certificatePEM)
                    $0.proxy = .explicit(url: "https://\(host):\(proxy.port)")
                } _: { session async throws in
                    #expect(try await session.request(target).failure().code == .certificateWrongHost)
                    #expect(proxy.requests.isEmpty)
                }
            }
        }
    }
}
