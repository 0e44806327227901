#if Encryption
import CCrypto
import FoundationEssentials

/// 32 bytes that are overwritten when their last user is gone, and the functions of HMAC-SHA-256 with them.
final class SecretKey: @unchecked Sendable {
    static let size = 32

    // Safety: written by the initializers alone, before anybody else has the object, and read only afterwards.
    private let bytes: UnsafeMutablePointer<UInt8>

    private init(_ code: consuming [UInt8]) {
        bytes = .allocate(capacity: Self.size)
        bytes.update(from: code, count: Self.size)
        OPENSSL_cleanse(&code, code.count)
    }

    /// The first step of HKDF, without a salt (RFC 5869, section 2.2).
    convenience init(extracting secret: Data) throws(StoreError) {
        guard let code = Self.code([UInt8](repeating: 0, count: Self.size), secret) else {
            throw StoreError(.system, "libcrypto has no HMAC with SHA-256")
        }
        self.init(code)
    }

    deinit {
        OPENSSL_cleanse(bytes, Self.size)
        bytes.deallocate()
    }

    /// The second step of HKDF, for one block (RFC 5869, section 2.3).
    func derived(for purpose: String) throws(StoreError) -> SecretKey {
        guard let code = withBytes({ Self.code(UnsafeBufferPointer(start: $0, count: Self.size), Data(purpose.utf8) + [1]) }) else {
            throw StoreError(.system, "libcrypto has no HMAC with SHA-256")
        }
        return SecretKey(code)
    }

    /// HMAC-SHA-256 (RFC 2104).
    func authenticationCode(of text: Data) -> Data {
        // It has worked when this key was derived; an empty code would name every entry alike.
        guard let code = withBytes({ Self.code(UnsafeBufferPointer(start: $0, count: Self.size), text) }) else {
            preconditionFailure("libcrypto computed an HMAC before and no longer does")
        }
        return Data(code)
    }

    func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result { body(UnsafePointer(bytes)) }

    private static func code(_ key: some Collection<UInt8>, _ text: Data) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: size)
        var count: UInt32 = 0
        let isDone = key.withContiguousStorageIfAvailable { key in
            text.withUnsafeBytes { text in
                // No bytes may be no address, which libcrypto takes for the use of an older text.
                var none: UInt8 = 0
                return withUnsafePointer(to: &none) { none in
                    let start = text.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? none
                    return HMAC(EVP_sha256(), key.baseAddress, Int32(key.count), start, text.count, &code, &count) != nil
                }
            }
        }
        return isDone == true && count == size ? code : nil
    }
}
#endif
