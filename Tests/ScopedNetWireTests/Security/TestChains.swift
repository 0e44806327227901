import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A root, an intermediate and what they make; and a second root that nobody was told of.
struct TestChains: Sendable {
    let root: TestAuthority
    let intermediate: TestAuthority
    let stranger: TestAuthority

    init() throws {
        root = try TestAuthority()
        intermediate = try root.makeIntermediate()
        stranger = try TestAuthority(name: "Somebody")
    }

    /// A server of the intermediate. It shows the intermediate's certificate, and not the root's.
    func server(
        hosts: [String] = ["localhost", "127.0.0.1"], validity: TestAuthority.Validity = .current
    ) throws -> (shown: TLSIdentity, alone: TLSIdentity) {
        let alone = try intermediate.makeServerIdentity(hosts: hosts, validity: validity)
        return (alone.including(intermediate.certificatePEM), alone)
    }

    /// The end of a request at a server that shows this; nil is a response. The session knows the one `authority`.
    func code(
        of identity: TLSIdentity, under policy: SecurityPolicy, authority: TestAuthority, anyCertificate: Bool = false
    ) async throws -> NetworkError.Code? {
        let found = Gathered<NetworkError.Code?>()
        try await withWire(.init(tls: identity)) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            $0.tls.dangerouslyAcceptsAnyCertificate = anyCertificate
            $0.security = policy
        } _: { wire async throws in
            wire.server.on("/", .ok("hello"))
            switch await wire.get().outcome() {
            case .success: found.add(nil)
            case .failure(let error): found.add(error.code)
            }
        }
        return try #require(found.all.first)
    }

    /// A key that no server has.
    static let spare: SecurityPolicy.PublicKeyPin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
}

extension SecurityPolicy.PublicKeyPin {
    static func key(of identity: TLSIdentity) -> SecurityPolicy.PublicKeyPin { .certificate(.pem(identity.certificatePEM)) }
    static func key(of authority: TestAuthority) -> SecurityPolicy.PublicKeyPin { .certificate(.pem(authority.certificatePEM)) }
}

extension NetworkError {
    var trust: SecurityPolicy.TrustFailure? { underlying as? SecurityPolicy.TrustFailure }
}

extension EventRecorder {
    var trustReports: [SecurityPolicy.TrustFailure] {
        events.compactMap { if case .trustReported(let failure) = $0 { failure } else { nil } }
    }
}

extension Data {
    /// The first certificate of a PEM text.
    init?(certificatePEM text: String) {
        guard let first = PEMText.certificates(in: Array(text.utf8))?.first else { return nil }
        self.init(first)
    }
}
