import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SEC-3, SEC-5, defect 41: pinned certificates on the wire.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct PinnedCertificateTests {
    private let chains: TestChains
    private let folder = TemporaryFolder()

    init() throws { chains = try TestChains() }

    private func code(_ identity: TLSIdentity, _ pins: [SecurityPolicy.PinnedCertificate]) async throws -> NetworkError.Code? {
        // Nobody else is asked.
        try await chains.code(of: identity, under: SecurityPolicy(.certificates(pins)), authority: chains.stranger)
    }

    @Test func anyLinkOfTheChainIsAnAnchor() async throws {
        let server = try chains.server()
        for certificate in [chains.root.certificatePEM, chains.intermediate.certificatePEM, server.alone.certificatePEM] {
            let code = try await code(server.shown, [.pem(certificate)])
            #expect(code == nil)
        }
    }

    @Test func aChainWithoutItsIntermediateNeedsTheIntermediatePinned() async throws {
        let server = try chains.server()
        let byRoot = try await code(server.alone, [.pem(chains.root.certificatePEM)])
        #expect(byRoot == .pinMismatch)
        let byIntermediate = try await code(server.alone, [.pem(chains.intermediate.certificatePEM)])
        #expect(byIntermediate == nil)
    }

    @Test func aSelfSignedCertificateCanBePinned() async throws {
        let own = try TestAuthority.makeSelfSignedIdentity()
        let pinned = try await code(own, [.pem(own.certificatePEM)])
        #expect(pinned == nil)
        let other = try await code(try TestAuthority.makeSelfSignedIdentity(), [.pem(own.certificatePEM)])
        #expect(other == .pinMismatch)
    }

    @Test func oneOfSeveralIsEnough() async throws {
        let server = try chains.server()
        let code = try await code(server.shown, [.pem(chains.stranger.certificatePEM + "\n" + chains.root.certificatePEM)])
        #expect(code == nil)
    }

    /// What is added to the chain proves nothing.
    @Test func aPinnedCertificateThatIsOnlySentAlongDoesNotHelp() async throws {
        let fake = try chains.stranger.makeServerIdentity().including(chains.root.certificatePEM)
        let code = try await code(fake, [.pem(chains.root.certificatePEM)])
        #expect(code == .pinMismatch)
    }

    @Test func pinsComeFromBytesFilesAndDirectories() async throws {
        let server = try chains.server()
        let der = try #require(Data(certificatePEM: chains.root.certificatePEM))
        let sources: [SecurityPolicy.PinnedCertificate] = [
            .der(der), .file(folder.write(der, to: "root.der")),
            .file(folder.write("a comment\r\n" + chains.root.certificatePEM, to: "root.pem")),
        ]
        _ = folder.write("nobody reads this", to: "README")
        for source in sources + [.directory(folder.path)] {
            let code = try await code(server.shown, [source])
            #expect(code == nil, "\(source)")
        }
    }

    // MARK: What is no pin

    private func refusal(_ policy: SecurityPolicy) async throws -> NetworkError {
        let found = Gathered<NetworkError>()
        try await withWire(.init(tls: try chains.server().shown)) {
            $0.tls.dangerouslyAcceptsAnyCertificate = true
            $0.tls.dangerouslyAcceptsAnyHostName = true
            $0.security = policy
        } _: { wire async throws in
            found.add(try await wire.get().failure())
            #expect(wire.server.connectionsAccepted == 0)
        }
        return try #require(found.all.first)
    }

    // SEC-2
    @Test func whatIsNoPinIsRefusedBeforeAnythingIsSent() async throws {
        let garbled = Data((try #require(Data(certificatePEM: chains.root.certificatePEM))).dropLast())
        let trusts: [SecurityPolicy.Trust] = [
            .certificates([]), .publicKeys([]), .publicKeys([], mode: .reportOnly),
            .certificates([.der(Data())]), .certificates([.der(garbled)]), .certificates([.pem("")]), .certificates([.pem("nonsense")]),
            .certificates([.pem("-----BEGIN CERTIFICATE-----\nAAAA")]), .certificates([.file("/nowhere/pin.pem")]),
            .certificates([.file("")]), .certificates([.file("/etc/pass\u{0}wd")]), .certificates([.file(folder.path)]),
            .certificates([.file(folder.write("", to: "empty.txt"))]), .certificates([.directory("/nowhere")]),
            .certificates([.directory(folder.path)]), .publicKeys(["sha256/short"]), .publicKeys([TestChains.spare, "nonsense"]),
            .publicKeys([.publicKey(Data([0x30, 0]))]), .publicKeys([.certificate(.der(Data([0x30, 0])))]),
            .certificates([.pem(chains.root.certificatePEM), .der(garbled)]), .certificates([.file("/dev/zero")]),
        ]
        for trust in trusts {
            for policy in [SecurityPolicy(trust), SecurityPolicy.one("elsewhere.test", trust)] {
                let error = try await refusal(policy)
                #expect(error.code == .invalidOption && error.phase == .preparing, "\(trust): \(error)")
            }
        }
    }

    @Test(arguments: ["", "*", "*.", "a.*.b", "https://a.test", "a.test:443", "*.127.0.0.1", "b\u{FC}cher.test", "a b", "1.2.3"])
    func whatIsNoHostIsRefused(_ host: String) async throws {
        let error = try await refusal(.one(host, .publicKeys([TestChains.spare])))
        #expect(error.code == .invalidOption, "\(error)")
    }

    @Test func aFileThatComesLaterIsRead() async throws {
        let server = try chains.server()
        let path = folder.path + "/late.pem"
        try await withWire(.init(tls: server.shown)) {
            $0.security = SecurityPolicy(.certificates([.file(path)]))
        } _: { wire async throws in
            wire.server.on("/", .ok("hello"))
            let error = try await wire.get().failure()
            #expect(error.code == .invalidOption && error.message.contains(path))
            _ = folder.write(chains.root.certificatePEM, to: "late.pem")
            #expect(try await wire.send().status == 200)
        }
    }
}

extension SecurityPolicy {
    static func one(_ host: String, _ trust: Trust) -> SecurityPolicy {
        var policy = SecurityPolicy()
        policy.hosts[host] = trust
        return policy
    }
}
