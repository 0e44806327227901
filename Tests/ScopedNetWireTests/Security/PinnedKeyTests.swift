import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SEC-4: pinned keys on the wire.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct PinnedKeyTests {
    private let chains: TestChains

    init() throws { chains = try TestChains() }

    private func code(
        _ identity: TLSIdentity, _ pins: [SecurityPolicy.PublicKeyPin], authority: TestAuthority? = nil, anyCertificate: Bool = false
    ) async throws -> NetworkError.Code? {
        let policy = SecurityPolicy(.publicKeys(pins))
        return try await chains.code(of: identity, under: policy, authority: authority ?? chains.root, anyCertificate: anyCertificate)
    }

    /// The root is not sent: it is in the verified chain.
    @Test func anyKeyOfTheVerifiedChainCounts() async throws {
        let server = try chains.server()
        for pin in [SecurityPolicy.PublicKeyPin.key(of: server.alone), .key(of: chains.intermediate), .key(of: chains.root)] {
            let code = try await code(server.shown, [pin])
            #expect(code == nil)
        }
        let other = try await code(server.shown, [.key(of: chains.stranger)])
        #expect(other == .pinMismatch)
    }

    // SEC-5
    @Test func aBackupIsAsGoodAsThePinInUse() async throws {
        let server = try chains.server()
        let code = try await code(server.shown, [TestChains.spare, .key(of: server.alone)])
        #expect(code == nil)
    }

    /// The earlier system compared the certificates as they were sent, and anybody can send a certificate that is public.
    @Test func aPinnedCertificateThatIsOnlySentAlongDoesNotHelp() async throws {
        let fake = try chains.root.makeServerIdentity().including(chains.stranger.certificatePEM)
        let code = try await code(fake, [.key(of: chains.stranger)])
        #expect(code == .pinMismatch)
    }

    @Test func withoutVerificationTheServersOwnKeyCountsAlone() async throws {
        let server = try chains.server()
        let fake = try chains.stranger.makeServerIdentity().including(chains.intermediate.certificatePEM)
        let sentAlong = try await code(fake, [.key(of: chains.intermediate)], anyCertificate: true)
        #expect(sentAlong == .pinMismatch)
        let issuer = try await code(server.shown, [.key(of: chains.intermediate)], authority: chains.stranger, anyCertificate: true)
        #expect(issuer == .pinMismatch)
        let own = try await code(server.shown, [.key(of: server.alone)], authority: chains.stranger, anyCertificate: true)
        #expect(own == nil)
    }

    // SEC-8
    @Test func thePinOfAFailureIsThePinToWrite() async throws {
        let server = try chains.server()
        try await withWire(.init(tls: server.shown)) {
            $0.tls.certificateAuthority = .pem(chains.root.certificatePEM)
            $0.security = SecurityPolicy(.publicKeys([TestChains.spare]))
        } _: { wire async throws in
            wire.server.on("/", .ok("hello"))
            let failure = try #require(try await wire.get().failure().trust)
            // Leaf, intermediate, and the root that was not sent.
            #expect(failure.chain.map(\.subject) == ["CN=localhost", "CN=ScopedNet Test Intermediate", "CN=ScopedNet Test Authority"])
            #expect(failure.host == "localhost" && failure.port == wire.server.port && !failure.isReportOnly)
            #expect(failure.verifyCode == 0)
            let pins = failure.chain.compactMap(\.publicKeyPin)
            #expect(pins.count == 3)
            for pin in pins {
                let session = wire.session.with { $0.security = SecurityPolicy(.publicKeys([.sha256(pin)])) }
                #expect(try await session.request(wire.url + "/").response().status == 200)
                await session.shutdown()
            }
        }
    }
}
