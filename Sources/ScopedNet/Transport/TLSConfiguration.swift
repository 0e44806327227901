/// Server trust and client identity for TLS. Servers are verified by default, TLS 1.2 is the minimum.
public struct TLSConfiguration: Sendable, Hashable {
    /// The certificates that a chain has to end in.
    public enum CertificateAuthority: Sendable, Hashable {
        /// The system's bundle.
        case system
        /// A PEM file with one or more certificates.
        case file(String)
        /// A directory prepared by `openssl rehash`.
        case directory(String)
        /// PEM text in memory. Reading it for each connection costs more than a file does.
        case pem(String)
    }

    /// What this client shows when the server asks for a certificate.
    public enum ClientCertificate: Sendable, Hashable {
        /// PEM files; the password is for an encrypted key.
        case files(certificate: String, key: String, password: String? = nil)
        /// PEM texts.
        case pem(certificate: String, key: String)
    }

    /// A version of TLS: 1.2 (RFC 5246) or 1.3 (RFC 8446).
    public enum Version: Sendable, Hashable { case tls12, tls13 }

    /// The authorities that are trusted. Default: the system's.
    public var certificateAuthority: CertificateAuthority = .system
    /// The certificate and key that a server gets when it asks for them. Default: none.
    public var clientCertificate: ClientCertificate?
    /// The least version that is spoken. Default: TLS 1.2.
    public var minimumVersion: Version = .tls12
    /// Accepts certificates of anybody's making: self-signed, expired, of an unknown authority. They still have to name the host, which whoever
    /// makes one can see to. For a laboratory; never for data that matters.
    public var dangerouslyAcceptsAnyCertificate = false
    /// Accepts a certificate that was made for another host. With ``dangerouslyAcceptsAnyCertificate`` that is anyone who answers.
    public var dangerouslyAcceptsAnyHostName = false
    /// Accepts the common name of the subject for the name or address of the host, where a certificate has no `subjectAltName`. For old
    /// devices: an authority need not have checked that name (RFC 9525 section 2). The proxy, if it speaks TLS, is
    /// held to its `subjectAltName`.
    public var dangerouslyAcceptsCommonName = false
    /// Takes the end of a connection for the end of a body that has neither `Content-Length` nor chunks, also where the server did not say that it
    /// would close (close_notify). Whoever sits in between can then cut such a body off anywhere, unnoticed; without this it is
    /// ``NetworkError/Code/truncatedBody`` (RFC 9112 section 9.8). For old servers that never say so. Where libcurl does not
    /// use the OpenSSL of this process nobody can tell, and it is as if this were set.
    public var dangerouslyAcceptsMissingCloseNotify = false

    /// Makes the default configuration, which verifies servers.
    public init() {}
}
