#if TestServer
internal import CCrypto

/// Texts read out of certificates for the record of a request.
enum CertificateText {
    /// The subject as RFC 2253 writes it, such as `CN=ann`; nil for what is no certificate.
    static func subject(ofDER bytes: [UInt8]) -> String? {
        let certificate = bytes.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var position = bytes.baseAddress
            return d2i_X509(nil, &position, bytes.count)
        }
        guard let certificate else { return nil }
        defer { X509_free(certificate) }
        return try? CryptoObject.text("X509_NAME_print_ex") { bio in
            X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0, SCRY_NAME_RFC2253)
        }
    }
}
#endif
