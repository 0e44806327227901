import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SEC-8: a rejected trust is an error of its own that names the host and carries the chain, without pins too.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct TrustFailureTests {
    private let chains: TestChains

    init() throws { chains = try TestChains() }

    private func failure(
        _ identity: TLSIdentity, _ versions: LoopbackServer.Configuration.TLSVersions = .modern, authority: TestAuthority? = nil
    ) async throws -> NetworkError {
        let found = Gathered<NetworkError>()
        var configuration = LoopbackServer.Configuration(tls: identity)
        configuration.tlsVersions = versions
        try await withWire(configuration) {
            $0.tls.certificateAuthority = .pem((authority ?? chains.root).certificatePEM)
            $0.options.retry = .standard
        } _: { wire async throws in
            let observer = EventRecorder()
            let session = wire.session.with { $0.observers = [observer] }
            found.add(try await session.request(wire.url + "/").failure())
            // Nothing about it gets better by trying again.
            #expect(observer.attempts == [1])
            #expect(wire.server.connectionsAccepted == 1)
        }
        return try #require(found.all.first)
    }

    @Test(arguments: [LoopbackServer.Configuration.TLSVersions.tls12, .tls13])
    func anUnknownAuthority(_ versions: LoopbackServer.Configuration.TLSVersions) async throws {
        let error = try await failure(chains.server().shown, versions, authority: chains.stranger)
        let trust = try #require(error.trust)
        #expect(error.code == .certificateUntrusted && trust.reason == .untrusted)
        #expect(error.message.contains("localhost"))
        // X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY
        #expect(trust.verifyCode == 20 && !trust.verifyText.isEmpty)
        // What the server sent.
        #expect(trust.chain.map(\.subject) == ["CN=localhost", "CN=ScopedNet Test Intermediate"])
        #expect(trust.chain.map(\.issuer) == ["CN=ScopedNet Test Intermediate", "CN=ScopedNet Test Authority"])
    }

    @Test func anExpiredCertificateShowsItsDates() async throws {
        let error = try await failure(chains.server(validity: .expired).shown)
        let trust = try #require(error.trust)
        #expect(error.code == .certificateExpired && trust.reason == .expired && trust.verifyCode == 10)
        let leaf = try #require(trust.chain.first)
        let (from, until) = (try #require(leaf.notBefore), try #require(leaf.notAfter))
        #expect(from < until && until < Date() && until > Date(timeIntervalSinceNow: -3 * 86_400))
    }

    @Test(arguments: [LoopbackServer.Configuration.TLSVersions.tls12, .tls13])
    func anotherHost(_ versions: LoopbackServer.Configuration.TLSVersions) async throws {
        let error = try await failure(chains.server(hosts: ["elsewhere.test"]).shown, versions)
        let trust = try #require(error.trust)
        #expect(error.code == .certificateWrongHost && trust.reason == .wrongHost)
        #expect(error.message.contains("localhost") && error.message.contains("elsewhere.test"))
        // The chain itself is in order, and shown to its root.
        #expect(trust.verifyCode == 0 && trust.chain.count == 3)
    }

    @Test func aSelfSignedCertificate() async throws {
        let error = try await failure(TestAuthority.makeSelfSignedIdentity())
        #expect(error.code == .certificateUntrusted && error.trust?.chain.count == 1)
    }

    @Test func aServerWithoutTLSIsNoTrustFailure() async throws {
        try await withWire { wire async throws in
            let error = try await wire.session.request("https://127.0.0.1:\(wire.server.port)/").failure()
            #expect(error.code == .tlsFailed && error.trust == nil)
        }
    }
}
