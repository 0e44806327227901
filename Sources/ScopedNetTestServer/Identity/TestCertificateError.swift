#if TestServer
/// An error of libcrypto while a ``TestAuthority`` made or read a certificate.
public struct TestCertificateError: Error, CustomStringConvertible, Sendable {
    /// The step that failed, and libcrypto's own words.
    public let description: String
}
#endif
