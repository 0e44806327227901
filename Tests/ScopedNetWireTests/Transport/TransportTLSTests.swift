import CleanSlate
import Foundation
import ScopedNetTestServer
import TestProcesses
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct TransportTLSTests {
    private let authority: TestAuthority
    private let folder = TemporaryFolder()

    init() throws { authority = try TestAuthority() }

    private func check(_ trust: TLSConfiguration.CertificateAuthority) async throws {
        try await withWire(.tls(authority)) {
            $0.tls.certificateAuthority = trust
        } _: { wire async throws in
            wire.server.on("/", .ok("secret"))
            let response = try await wire.send()
            #expect(response.body == Data("secret".utf8))
            #expect(response.metrics.secured > .zero)
            let tls = try #require(try await wire.server.takeRequest().tls)
            #expect(tls.version == "TLSv1.3")
            #expect(tls.serverName == "localhost")
        }
    }

    @Test func anAuthorityFromAFile() async throws {
        try await check(.file(folder.write(authority.certificatePEM, to: "ca.pem")))
    }

    @Test func anAuthorityFromMemory() async throws { try await check(.pem(authority.certificatePEM)) }

    @Test func anAuthorityFromADirectory() async throws {
        _ = folder.write(authority.certificatePEM, to: "ca.pem")
        _ = try await ChildProcess(["/usr/bin/openssl", "rehash", folder.path]).end()
        try #require(folder.names.count == 2, "openssl rehash did not work")
        try await check(.directory(folder.path))
    }

    @Test(arguments: [TLSConfiguration.CertificateAuthority.file("/nowhere/ca.pem"), .directory("/nowhere")])
    func anAuthorityThatIsNotThere(_ trust: TLSConfiguration.CertificateAuthority) async throws {
        try await withWire(.tls(authority)) {
            $0.tls.certificateAuthority = trust
        } _: { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .fileUnreadable)
            #expect(error.message.contains("/nowhere"))
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test func anAuthorityFileThatHoldsNoCertificate() async throws {
        let file = folder.write("nonsense", to: "ca.pem")
        try await withWire(.tls(authority)) {
            $0.tls.certificateAuthority = .file(file)
        } _: { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .fileUnreadable)
            #expect(error.phase < .sending)
        }
    }

    // MARK: Client certificates

    private func withDemandingServer(
        _ versions: LoopbackServer.Configuration.TLSVersions, _ certificate: TLSConfiguration.ClientCertificate?,
        _ test: (Wire) async throws -> Void
    ) async throws {
        var configuration = try LoopbackServer.Configuration.tls(authority)
        configuration.clientAuthority = authority
        configuration.tlsVersions = versions
        try await withWire(configuration) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            $0.tls.clientCertificate = certificate
        } _: { wire async throws in
            wire.server.on("/", .ok("hello"))
            try await test(wire)
        }
    }

    @Test(arguments: [LoopbackServer.Configuration.TLSVersions.tls12, .tls13])
    func aClientCertificateIsShown(_ versions: LoopbackServer.Configuration.TLSVersions) async throws {
        let ann = try authority.makeClientIdentity("ann")
        try await withDemandingServer(versions, .pem(certificate: ann.certificatePEM, key: ann.privateKeyPEM)) { wire async throws in
            #expect(try await wire.send().body == Data("hello".utf8))
            #expect(try await wire.server.takeRequest().tls?.clientSubject == "CN=ann")
        }
    }

    @Test func aClientCertificateFromFiles() async throws {
        let ben = try authority.makeClientIdentity("ben")
        let certificate = folder.write(ben.certificatePEM, to: "ben.pem")
        let key = folder.write(ben.privateKeyPEM, to: "ben.key")
        try await withDemandingServer(.modern, .files(certificate: certificate, key: key)) { wire async throws in
            _ = try await wire.send()
            #expect(try await wire.server.takeRequest().tls?.clientSubject == "CN=ben")
        }
    }

    @Test(arguments: [LoopbackServer.Configuration.TLSVersions.tls12, .tls13])
    func aMissingClientCertificateIsNamed(_ versions: LoopbackServer.Configuration.TLSVersions) async throws {
        try await withDemandingServer(versions, nil) { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .clientCertificateFailed, "\(error)")
            #expect(wire.server.requests.isEmpty)
        }
    }

    @Test func aClientCertificateThatDoesNotMatchItsKey() async throws {
        let ann = try authority.makeClientIdentity("ann")
        let ben = try authority.makeClientIdentity("ben")
        try await withDemandingServer(.modern, .pem(certificate: ann.certificatePEM, key: ben.privateKeyPEM)) { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .clientCertificateFailed, "\(error)")
            #expect(wire.server.requests.isEmpty)
        }
    }

    /// On a terminal OpenSSL would ask for the password, and the network thread wait for the answer.
    @Test func anEncryptedKeyNeedsItsPassword() async throws {
        let ann = try authority.makeClientIdentity("ann")
        let encrypted = try await ProgramRun(["openssl", "pkey", "-aes256", "-passout", "pass:secret"], input: ann.privateKeyPEM).result()
        try #require(encrypted.status == 0, "\(encrypted)")
        let certificate = folder.write(Data(ann.certificatePEM.utf8), to: "certificate.pem")
        let key = folder.write(Data(encrypted.output.utf8), to: "key.pem")
        let locked: [TLSConfiguration.ClientCertificate] = [
            .pem(certificate: ann.certificatePEM, key: encrypted.output), .files(certificate: certificate, key: key),
            .files(certificate: certificate, key: key, password: "wrong"),
        ]
        for identity in locked {
            try await withDemandingServer(.modern, identity) { wire async throws in
                let error = try await wire.get().failure()
                #expect(error.code == .clientCertificateFailed, "\(error)")
            }
        }
        try await withDemandingServer(.modern, .files(certificate: certificate, key: key, password: "secret")) { wire async throws in
            #expect(try await wire.get().response().status == 200)
        }
    }

    /// What nobody asks on a terminal nobody waits for: script(1) gives the client one, on which nothing is typed.
    @Test(arguments: [true, false]) func noPasswordIsAskedForOnATerminal(_ isEncrypted: Bool) async throws {
        let ann = try authority.makeClientIdentity("ann")
        let encrypted = try await ProgramRun(["openssl", "pkey", "-aes256", "-passout", "pass:secret"], input: ann.privateKeyPEM).result()
        try #require(encrypted.status == 0, "\(encrypted)")
        let words = [
            folder.write(Data(authority.certificatePEM.utf8), to: "authority.pem"),
            folder.write(Data(ann.certificatePEM.utf8), to: "certificate.pem"),
            folder.write(Data((isEncrypted ? encrypted.output : ann.privateKeyPEM).utf8), to: "key.pem"),
        ]
        try await withDemandingServer(.modern, nil) { wire async throws in
            let command = ([product("ConformanceClient"), "identity", wire.server.url + "/"] + words).joined(separator: " ")
            let result = try await ProgramRun(["timeout", "30", "script", "-qec", command, "/dev/null"]).result()
            #expect(result.output == (isEncrypted ? "error clientCertificateFailed\r\n" : "status 200\r\n"), "\(result)")
        }
    }

    @Test func aClientCertificateFileThatIsNotThere() async throws {
        try await withDemandingServer(.modern, .files(certificate: "/nowhere/c.pem", key: "/nowhere/k.pem")) { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .fileUnreadable)
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    // MARK: Versions

    @Test func olderVersionsThanTheMinimumAreRefused() async throws {
        var configuration = try LoopbackServer.Configuration.tls(authority)
        configuration.tlsVersions = .tls12
        try await withWire(configuration) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            $0.tls.minimumVersion = .tls13
        } _: { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .tlsFailed, "\(error)")
            #expect(error.phase == .securing)
            #expect(wire.server.requests.isEmpty)
        }
    }

    @Test func theMinimumItselfIsAccepted() async throws {
        var configuration = try LoopbackServer.Configuration.tls(authority)
        configuration.tlsVersions = .tls12
        try await withWire(configuration) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/", .ok())
            _ = try await wire.send()
            #expect(try await wire.server.takeRequest().tls?.version == "TLSv1.2")
        }
    }

    @Test func aServerWithoutTLSIsATLSError() async throws {
        try await withWire { wire async throws in
            let error = try await wire.session.request("https://127.0.0.1:\(wire.server.port)/").failure()
            #expect(error.code == .tlsFailed, "\(error)")
            #expect(!error.mayHaveReachedServer)
        }
    }

    /// A second connection resumes the session, also with another pooled handle.
    @Test func laterConnectionsStillWork() async throws {
        try await withWire(.tls(authority)) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/", .ok("x").ending(.close))
            for _ in 0..<4 { _ = try await wire.send() }
            #expect(wire.server.connectionsAccepted == 4)
        }
    }
}
