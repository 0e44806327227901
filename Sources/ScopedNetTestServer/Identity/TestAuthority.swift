internal import Crypto
internal import FoundationEssentials
internal import Glibc
internal import SwiftASN1
internal import X509

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

        fileprivate var dates: (from: Date, until: Date) {
            let day: TimeInterval = 86_400
            let now = Date()
            return switch self {
            case .current: (now - day, now + 30 * day)
            case .expired: (now - 30 * day, now - day)
            case .notYetValid: (now + day, now + 30 * day)
            }
        }
    }

    /// The certificate of the authority: what clients are told to trust.
    public let certificatePEM: String

    private let certificate: Certificate
    private let key: Certificate.PrivateKey

    /// Makes an authority.
    public init(name: String = "ScopedNet Test Authority") throws {
        try self.init(name: name, issuer: nil, issuerKey: nil)
    }

    private init(name: String, issuer: DistinguishedName?, issuerKey: Certificate.PrivateKey?) throws {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let subject = try DistinguishedName { CommonName(name) }
        let dates = Validity.current.dates
        self.key = key
        self.certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: key.publicKey,
            notValidBefore: dates.from,
            notValidAfter: dates.until,
            issuer: issuer ?? subject,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: key.publicKey)
                if let issuerKey {
                    AuthorityKeyIdentifier(keyIdentifier: SubjectKeyIdentifier(hash: issuerKey.publicKey).keyIdentifier)
                }
            },
            issuerPrivateKey: issuerKey ?? key
        )
        self.certificatePEM = try certificate.serializeAsPEM().pemString
    }

    /// Makes an authority that this one vouches for. A server whose identity it makes has to show the authority's certificate as well
    /// (``TLSIdentity/including(_:)``).
    public func makeIntermediate(name: String = "ScopedNet Test Intermediate") throws -> TestAuthority {
        try TestAuthority(name: name, issuer: certificate.subject, issuerKey: key)
    }

    /// Makes a server's identity for host names and addresses. For a wrong host name, the names of other hosts.
    ///
    /// - Parameter commonName: the common name of its subject; nil for the first host. Without hosts it is the only name.
    public func makeServerIdentity(
        hosts: [String] = ["localhost", "127.0.0.1", "::1"], commonName: String? = nil, validity: Validity = .current
    ) throws -> TLSIdentity {
        try Leaf(commonName: commonName ?? hosts.first ?? "server", hosts: hosts, validity: validity, isServer: true)
            .signed(issuer: certificate.subject, issuerKey: key)
    }

    /// Makes a client's identity; the name becomes the common name of its subject.
    public func makeClientIdentity(_ name: String, validity: Validity = .current) throws -> TLSIdentity {
        try Leaf(commonName: name, hosts: [], validity: validity, isServer: false)
            .signed(issuer: certificate.subject, issuerKey: key)
    }

    /// Makes a server's identity that nobody vouches for but itself.
    public static func makeSelfSignedIdentity(
        hosts: [String] = ["localhost", "127.0.0.1", "::1"], validity: Validity = .current
    ) throws -> TLSIdentity {
        try Leaf(commonName: hosts.first ?? "server", hosts: hosts, validity: validity, isServer: true)
            .signed(issuer: nil, issuerKey: nil)
    }
}

/// A certificate that signs nothing but itself.
private struct Leaf {
    var commonName: String
    var hosts: [String]
    var validity: TestAuthority.Validity
    var isServer: Bool

    func signed(issuer: DistinguishedName?, issuerKey: Certificate.PrivateKey?) throws -> TLSIdentity {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let subject = try DistinguishedName { CommonName(commonName) }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: key.publicKey,
            notValidBefore: validity.dates.from,
            notValidAfter: validity.dates.until,
            issuer: issuer ?? subject,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try extensions(for: key.publicKey, issuerKey: issuerKey?.publicKey),
            issuerPrivateKey: issuerKey ?? key
        )
        return TLSIdentity(
            certificatePEM: try certificate.serializeAsPEM().pemString,
            privateKeyPEM: try key.serializeAsPEM().pemString
        )
    }

    private func extensions(
        for key: Certificate.PublicKey, issuerKey: Certificate.PublicKey?
    ) throws -> Certificate.Extensions {
        try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([isServer ? .serverAuth : .clientAuth])
            SubjectKeyIdentifier(hash: key)
            if let issuerKey {
                AuthorityKeyIdentifier(keyIdentifier: SubjectKeyIdentifier(hash: issuerKey).keyIdentifier)
            }
            if !hosts.isEmpty { SubjectAlternativeNames(hosts.map(generalName)) }
        }
    }
}

/// An address is named by its bytes, everything else as a DNS name (RFC 5280, section 4.2.1.6).
private func generalName(_ host: String) -> GeneralName {
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
        var bytes = [UInt8](repeating: 0, count: count)
        if inet_pton(family, host, &bytes) == 1 {
            return .ipAddress(ASN1OctetString(contentBytes: bytes[...]))
        }
    }
    return .dnsName(host)
}
