public import FoundationEssentials

extension SecurityPolicy {
    /// A key that a certificate of the chain must have. Compared are SHA-256 hashes of the `SubjectPublicKeyInfo` (RFC 7469 section 2.4), so a pin
    /// outlives the renewal of a certificate that keeps its key.
    ///
    /// A text that is no pin makes every request of the session fail with ``NetworkError/Code/invalidOption`` before anything is sent.
    public enum PublicKeyPin: Sendable, Hashable {
        /// A hash in base64: `sha256/…`, `sha256//…` as for curl, or `pin-sha256="…"` as in RFC 7469. ``SecurityPolicy/ServerCertificate/publicKeyPin`` is one.
        case sha256(String)
        /// The key of a certificate; of each, where there are several.
        case certificate(SecurityPolicy.PinnedCertificate)
        /// A `SubjectPublicKeyInfo` in DER, as `openssl pkey -pubout -outform DER` writes it.
        case publicKey(Data)
    }
}

extension SecurityPolicy.PublicKeyPin: ExpressibleByStringLiteral {
    /// Makes a pin of a hash in base64, as ``sha256(_:)`` takes it.
    public init(stringLiteral value: String) { self = .sha256(value) }
}
