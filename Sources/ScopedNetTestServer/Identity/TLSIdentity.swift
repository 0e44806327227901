#if TestServer
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
}
#endif
