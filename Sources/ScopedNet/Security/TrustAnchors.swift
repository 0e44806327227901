import CTLS

/// Pinned certificates as OpenSSL wants them: the only anchors of a verification. Immutable; freed with the last reference.
final class TrustAnchors {
    private let stack: OpaquePointer

    /// - Parameter certificates: in DER.
    /// - Throws: `invalidOption` where one is no certificate, or more than one.
    init(_ certificates: some Sequence<[UInt8]>) throws(NetworkError) {
        guard let stack = stls_chain_new() else { throw .resources("pinned certificates", ENOMEM) }
        self.stack = stack
        for der in certificates {
            guard let certificate = Self.parse(der) else { throw .invalidPin("a pinned certificate cannot be read") }
            // On success the stack owns it.
            guard stls_chain_push(stack, certificate) > 0 else {
                X509_free(certificate)
                throw .resources("pinned certificates", ENOMEM)
            }
        }
    }

    deinit { stls_chain_free(stack) }

    private static func parse(_ der: [UInt8]) -> OpaquePointer? {
        // What the two readers take for different things is none.
        guard CertificateFields(der) != nil else { return nil }
        let parsed = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var next = bytes.baseAddress
            guard let certificate = d2i_X509(nil, &next, bytes.count) else { return nil }
            guard next == bytes.baseAddress.map({ $0 + bytes.count }) else {
                X509_free(certificate)
                return nil
            }
            return certificate
        }
        // Left in the thread's queue it would be taken for an error of the next connection (ERR_get_error(3)).
        if parsed == nil { ERR_clear_error() }
        return parsed
    }

    /// For this verification alone. The store that libcurl shares between connections is neither asked nor changed.
    ///
    /// Safety: OpenSSL borrows the stack until the verification ends; the caller keeps `self` alive until then.
    func use(in verification: OpaquePointer) {
        X509_STORE_CTX_set0_trusted_stack(verification, stack)
        // A pinned intermediate or leaf is as good an anchor as a root.
        X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(verification), STLS_PARTIAL_CHAIN)
    }
}
