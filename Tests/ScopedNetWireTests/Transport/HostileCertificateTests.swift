import CleanSlate
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct HostileCertificateTests {
    private let authority: TestAuthority

    init() throws { authority = try TestAuthority() }

    private func error(
        _ identity: TLSIdentity, trusting trust: TLSConfiguration.CertificateAuthority? = nil
    ) async throws -> NetworkError {
        let found = Gathered<NetworkError>()
        try await withWire(.init(tls: identity)) {
            $0.tls.certificateAuthority = trust ?? .pem(authority.certificatePEM)
        } _: { wire async throws in
            found.add(try await wire.get().failure())
            #expect(wire.server.requests.isEmpty, "a request was sent to a server that is not trusted")
        }
        let error = try #require(found.all.first)
        #expect(error.phase == .securing)
        #expect(!error.mayHaveReachedServer)
        return error
    }

    @Test func expired() async throws {
        let error = try await error(try authority.makeServerIdentity(validity: .expired))
        #expect(error.code == .certificateExpired, "\(error)")
    }

    @Test func notYetValid() async throws {
        let error = try await error(try authority.makeServerIdentity(validity: .notYetValid))
        #expect(error.code == .certificateExpired, "\(error)")
    }

    @Test func wrongHost() async throws {
        let error = try await error(try authority.makeServerIdentity(hosts: ["elsewhere.test"]))
        #expect(error.code == .certificateWrongHost, "\(error)")
    }

    @Test func selfSigned() async throws {
        let error = try await error(try TestAuthority.makeSelfSignedIdentity())
        #expect(error.code == .certificateUntrusted, "\(error)")
    }

    @Test func unknownAuthority() async throws {
        let error = try await error(try TestAuthority(name: "Somebody").makeServerIdentity())
        #expect(error.code == .certificateUntrusted, "\(error)")
    }

    @Test func theSystemDoesNotKnowOurAuthority() async throws {
        let error = try await error(try authority.makeServerIdentity(), trusting: .system)
        #expect(error.code == .certificateUntrusted, "\(error)")
    }

    @Test func dangerDoesWhatItsNameSays() async throws {
        for isForUs in [true, false] {
            let hosts = isForUs ? ["localhost", "127.0.0.1"] : ["elsewhere.test"]
            try await withWire(.init(tls: try TestAuthority.makeSelfSignedIdentity(hosts: hosts))) {
                $0.tls.dangerouslyAcceptsAnyCertificate = true
                // Of anybody's making it may be, and is still asked for the host.
                $0.tls.dangerouslyAcceptsAnyHostName = !isForUs
            } _: { wire async throws in
                wire.server.on("/", .ok("anyone"))
                #expect(try await wire.send().status == 200)
            }
        }
        try await withWire(.init(tls: try TestAuthority.makeSelfSignedIdentity(hosts: ["elsewhere.test"]))) {
            $0.tls.dangerouslyAcceptsAnyCertificate = true
        } _: { wire async throws in
            wire.server.on("/", .ok("anyone"))
            let error = try await wire.get().failure()
            #expect(error.code == .certificateWrongHost)
            #expect(wire.server.requests.isEmpty)
        }
        try await withWire(.init(tls: try authority.makeServerIdentity(hosts: ["elsewhere.test"]))) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            $0.tls.dangerouslyAcceptsAnyHostName = true
        } _: { wire async throws in
            wire.server.on("/", .ok("known, elsewhere"))
            #expect(try await wire.send().status == 200)
        }
    }

    /// The host name switch is about names only.
    @Test func anyHostNameStillNeedsAnAuthority() async throws {
        try await withWire(.init(tls: try TestAuthority.makeSelfSignedIdentity())) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            $0.tls.dangerouslyAcceptsAnyHostName = true
        } _: { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .certificateUntrusted)
            #expect(wire.server.requests.isEmpty)
        }
    }
}
