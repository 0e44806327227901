#if TestServer
/// A certificate authority made at run time, so that no key lies in a repository and no certificate runs out. P-256.
public struct TestAuthority: Sendable {
    /// When a certificate is valid.
    public enum Validity: Sendable, Hashable {
        /// From yesterday, for a month.
        case current
        /// Until yesterday.
        case expired
        /// From tomorrow.
        case notYetValid

        /// Counted from now.
        var seconds: (from: Int, until: Int) {
            let day = 86_400
            return switch self {
            case .current: (-day, 30 * day)
            case .expired: (-30 * day, -day)
            case .notYetValid: (day, 30 * day)
            }
        }
    }

    /// The certificate of the authority: what clients are told to trust.
    public let certificatePEM: String

    private let issuer: CertificateRequest.Issuer

    /// Makes an authority.
    public init(name: String = "ScopedNet Test Authority") throws {
        try self.init(name: name, issuer: nil)
    }

    private init(name: String, issuer: CertificateRequest.Issuer?) throws {
        let identity = try CertificateRequest(commonName: name, usage: .authority).signed(by: issuer)
        self.certificatePEM = identity.certificatePEM
        self.issuer = CertificateRequest.Issuer(certificatePEM: identity.certificatePEM, privateKeyPEM: identity.privateKeyPEM)
    }

    /// Makes an authority that this one vouches for. A server whose identity it makes has to show the authority's certificate as well
    /// (``TLSIdentity/including(_:)``).
    public func makeIntermediate(name: String = "ScopedNet Test Intermediate") throws -> TestAuthority {
        try TestAuthority(name: name, issuer: issuer)
    }

    /// Makes a server's identity for host names and addresses. For a wrong host name, the names of other hosts.
    ///
    /// - Parameters:
    ///   - hosts: the names and addresses of its `subjectAltName`.
    ///   - commonName: the common name of its subject; nil for the first host. Without hosts it is the only name.
    ///   - validity: from yesterday for a month by default.
    /// - Returns: the certificate and its key.
    /// - Throws: the error of OpenSSL.
    public func makeServerIdentity(
        hosts: [String] = ["localhost", "127.0.0.1", "::1"], commonName: String? = nil, validity: Validity = .current
    ) throws -> TLSIdentity {
        try CertificateRequest(commonName: commonName ?? hosts.first ?? "server", hosts: hosts, validity: validity, usage: .server)
            .signed(by: issuer)
    }

    /// Makes a client's identity; the name becomes the common name of its subject.
    public func makeClientIdentity(_ name: String, validity: Validity = .current) throws -> TLSIdentity {
        try CertificateRequest(commonName: name, validity: validity, usage: .client).signed(by: issuer)
    }

    /// Makes a server's identity that nobody vouches for but itself.
    public static func makeSelfSignedIdentity(
        hosts: [String] = ["localhost", "127.0.0.1", "::1"], validity: Validity = .current
    ) throws -> TLSIdentity {
        try CertificateRequest(commonName: hosts.first ?? "server", hosts: hosts, validity: validity, usage: .server).signed()
    }
}
#endif
