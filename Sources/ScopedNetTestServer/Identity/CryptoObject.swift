#if TestServer
internal import CCrypto

/// A certificate or a key of libcrypto, freed with its last owner.
///
/// Not sendable: what goes from task to task is the PEM text.
final class CryptoObject {
    let pointer: OpaquePointer
    private let free: (OpaquePointer) -> Void

    /// Takes over the result of a function that makes an object, or throws what libcrypto says in its place.
    init(_ pointer: OpaquePointer?, _ step: String, free: @escaping (OpaquePointer) -> Void) throws(TestCertificateError) {
        guard let pointer else { throw .latest(step) }
        self.pointer = pointer
        self.free = free
    }

    deinit { free(pointer) }

    /// The text that a function of libcrypto writes into a memory BIO.
    static func text(_ step: String, _ write: (OpaquePointer) -> Int32) throws(TestCertificateError) -> String {
        let bio = try CryptoObject(BIO_new(BIO_s_mem()), "BIO_new") { _ = BIO_free($0) }
        guard write(bio.pointer) > 0 else { throw .latest(step) }
        var bytes: UnsafeMutablePointer<CChar>?
        let count = scry_bio_contents(bio.pointer, &bytes)
        guard let bytes, count > 0 else { return "" }
        return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// Reads a text by a function of libcrypto.
    static func reading(_ text: String, _ step: String, free: @escaping (OpaquePointer) -> Void, _ read: (OpaquePointer) -> OpaquePointer?)
        throws(TestCertificateError) -> CryptoObject
    {
        let bytes = Array(text.utf8)
        let object = bytes.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            return read(bio)
        }
        return try CryptoObject(object, step, free: free)
    }
}

extension TestCertificateError {
    /// The latest error of libcrypto on this thread.
    static func latest(_ step: String) -> TestCertificateError {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        ERR_clear_error()
        let words = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return TestCertificateError(description: "\(step): \(words)")
    }

    static func check(_ result: Int32, _ step: String) throws(TestCertificateError) {
        if result <= 0 { throw latest(step) }
    }
}
#endif
