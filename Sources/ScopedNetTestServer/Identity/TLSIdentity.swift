internal import NIOSSL

/// A certificate with its private key, in PEM: what a server shows, or a client.
public struct TLSIdentity: Sendable, Hashable {
    /// The certificate, for a file or a client's options.
    public let certificatePEM: String
    /// The private key (PKCS #8), not encrypted.
    public let privateKeyPEM: String

    /// Makes an identity from PEM texts.
    public init(certificatePEM: String, privateKeyPEM: String) {
        self.certificatePEM = certificatePEM
        self.privateKeyPEM = privateKeyPEM
    }

    /// The same, shown with another certificate behind it: that of an intermediate authority, or one that has nothing to do with it.
    public func including(_ certificatePEM: String) -> TLSIdentity {
        TLSIdentity(certificatePEM: self.certificatePEM + "\n" + certificatePEM, privateKeyPEM: privateKeyPEM)
    }

    func makeServerContext(
        protocols: [String], clientAuthority: TestAuthority?, versions: LoopbackServer.Configuration.TLSVersions
    ) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(privateKeyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.applicationProtocols = protocols
        configuration.minimumTLSVersion = versions.onlyTLS13 ? .tlsv13 : .tlsv12
        if versions.onlyTLS12 { configuration.maximumTLSVersion = .tlsv12 }
        if let clientAuthority {
            let roots = try NIOSSLCertificate.fromPEMBytes(Array(clientAuthority.certificatePEM.utf8))
            configuration.trustRoots = .certificates(roots)
            // Of a client there is no host name to check; without a certificate it is turned away.
            configuration.certificateVerification = .noHostnameVerification
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
