import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct TLSTests {
    private let authority: TestAuthority
    private let authorityFile: TemporaryFile

    init() throws {
        authority = try TestAuthority()
        authorityFile = TemporaryFile(authority.certificatePEM)
    }

    @Test func clientThatTrustsTheAuthorityGetsThrough() async throws {
        try await withServer(.init(tls: try authority.makeServerIdentity())) { server async throws in
            server.on("/", .ok("secret"))

            let byName = try await curl("--cacert", authorityFile.path, server.url + "/")
            let byAddress = try await curl("--cacert", authorityFile.path, "https://127.0.0.1:\(server.port)/")

            #expect(byName.output == "secret", "\(byName.errors)")
            #expect(byAddress.output == "secret", "\(byAddress.errors)")
            let tls = try #require(try await server.takeRequest().tls)
            #expect(tls.version == "TLSv1.3")
            #expect(tls.serverName == "localhost")
            #expect(tls.clientSubject == nil)
        }
    }

    @Test func untrustworthyServersAreRefused() async throws {
        let identities = [
            try authority.makeServerIdentity(hosts: ["elsewhere.test"]),
            try authority.makeServerIdentity(validity: .expired),
            try authority.makeServerIdentity(validity: .notYetValid),
            try TestAuthority.makeSelfSignedIdentity(),
        ]
        for identity in identities {
            try await withServer(.init(tls: identity)) { server async throws in
                #expect(try await curl("--cacert", authorityFile.path, server.url + "/").exitCode == 60)
                #expect(server.requests.isEmpty)
            }
        }
    }

    @Test func clientCertificateIsAskedFor() async throws {
        var configuration = LoopbackServer.Configuration(tls: try authority.makeServerIdentity())
        configuration.clientAuthority = authority
        configuration.tlsVersions = .tls12
        let client = try authority.makeClientIdentity("ann")
        let certificate = TemporaryFile(client.certificatePEM)
        let key = TemporaryFile(client.privateKeyPEM)
        try await withServer(configuration) { server async throws in
            server.on("/", .ok("hello"))
            let trust = ["--cacert", authorityFile.path, server.url + "/"]

            #expect(try await Curl(trust).result().exitCode != 0)
            let known = try await Curl(trust + ["--cert", certificate.path, "--key", key.path]).result()

            #expect(known.output == "hello", "\(known.errors)")
            let tls = try #require(server.requests.first?.tls)
            #expect(tls.clientSubject == "CN=ann")
            #expect(tls.version == "TLSv1.2")
        }
    }

    @Test func resetAndStallWorkUnderTLS() async throws {
        try await withServer(.init(tls: try authority.makeServerIdentity())) { server async throws in
            server.on("/reset", .ok("0123456789").ending(.reset(afterBytes: 4)))
            server.on("/stall", .ok("0123456789").stalling(.afterBytes(4)))

            #expect(try await curl("-k", server.url + "/reset").exitCode == 56)
            let client = try Curl(["-k", server.url + "/stall"])
            try await server.waitForStalls()
            client.kill()

            let ending = try await server.requests.last?.ending()
            #expect(ending == .clientClosed)
            _ = await client.result()
        }
    }
}
