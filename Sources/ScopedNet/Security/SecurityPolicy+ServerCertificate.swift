public import FoundationEssentials

extension SecurityPolicy {
    /// A certificate as a server sent it, or as it was found to complete the chain.
    ///
    /// A value made of its bytes. What is derived from them is worked out when asked for, and says what the certificate says: whether that is true
    /// is another question.
    public struct ServerCertificate: Sendable, Hashable, CustomStringConvertible {
        /// The certificate in DER (RFC 5280).
        public let der: Data

        /// - Parameter der: taken as it is; the other properties are empty where it is no certificate.
        public init(der: Data) { self.der = der }

        private var fields: CertificateFields? { CertificateFields(Array(der)) }

        /// Whom it was made for, in the form of RFC 4514: `CN=example.com,O=Example`.
        public var subject: String { fields?.subject ?? "" }
        /// Who signed it.
        public var issuer: String { fields?.issuer ?? "" }
        /// From when it is valid; nil where that cannot be read.
        public var notBefore: Date? { fields?.notBefore }
        /// Until when it is valid; nil where that cannot be read.
        public var notAfter: Date? { fields?.notAfter }
        /// The `SubjectPublicKeyInfo` in DER; empty where it cannot be read.
        public var publicKey: Data { Data(fields?.publicKey ?? []) }
        /// `sha256/…`: what ``SecurityPolicy/PublicKeyPin/sha256(_:)`` takes; nil where the key cannot be read.
        public var publicKeyPin: String? { publicKeyDigest.map { PinText(digest: $0).text } }

        var publicKeyDigest: [UInt8]? { fields.map { MessageDigest.sha256.hash($0.publicKey) } }

        /// The same as ``subject``.
        public var description: String { subject }
    }
}
