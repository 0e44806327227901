#if Encryption
import CCrypto
import FoundationEssentials

/// AES-256-GCM of libcrypto (EVP_EncryptInit(3)). A piece is a random nonce, as many bytes as the text has, and the tag.
enum AESGCM {
    static let nonceSize = 12
    static let tagSize = 16

    static func seal(_ text: Data, with key: SecretKey, context: Data) throws(StoreError) -> Data {
        var nonce = [UInt8](repeating: 0, count: nonceSize)
        guard RAND_bytes(&nonce, Int32(nonceSize)) == 1 else { throw failure("a random nonce") }
        return try seal(text, with: key, nonce: nonce, context: context)
    }

    static func seal(_ text: Data, with key: SecretKey, nonce: [UInt8], context: Data) throws(StoreError) -> Data {
        let cipher = try Cipher(key, nonce: nonce, isSealing: true)
        try cipher.authenticate(context)
        var sealed = Data(nonce)
        sealed.append(try cipher.update(text))
        guard cipher.finish() else { throw failure("the end of a piece") }
        sealed.append(try cipher.tag())
        return sealed
    }

    static func open(_ sealed: Data, with key: SecretKey, context: Data) throws(StoreError) -> Data {
        guard sealed.count >= nonceSize + tagSize else { throw StoreError(.damaged, "what is stored is too short to be sealed") }
        let cipher = try Cipher(key, nonce: Array(sealed.prefix(nonceSize)), isSealing: false)
        try cipher.authenticate(context)
        let text = try cipher.update(sealed.dropFirst(nonceSize).dropLast(tagSize))
        try cipher.expect(tag: Array(sealed.suffix(tagSize)))
        // Not before this is known to be what was sealed is any of it given away.
        guard cipher.finish() else { throw StoreError(.damaged, "what is stored does not open with this key") }
        return text
    }

    fileprivate static func failure(_ step: String) -> StoreError {
        ERR_clear_error()
        return StoreError(.system, "libcrypto failed at \(step)")
    }
}

/// One use of a key: `EVP_CIPHER_CTX`. Not sendable.
private final class Cipher {
    private let context: OpaquePointer

    init(_ key: borrowing SecretKey, nonce: [UInt8], isSealing: Bool) throws(StoreError) {
        guard let context = EVP_CIPHER_CTX_new() else { throw AESGCM.failure("a cipher") }
        self.context = context
        let isReady = key.withBytes { EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, $0, nonce, isSealing ? 1 : 0) == 1 }
        guard isReady else { throw AESGCM.failure("the key of a cipher") }
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    /// Data that is not written and has to be the same.
    func authenticate(_ data: Data) throws(StoreError) {
        var count: Int32 = 0
        let isDone = data.withUnsafeBytes { bytes in
            bytes.isEmpty || EVP_CipherUpdate(context, nil, &count, bytes.baseAddress, Int32(clamping: bytes.count)) == 1
        }
        guard isDone, data.count <= Int32.max else { throw AESGCM.failure("what a piece is for") }
    }

    /// The same number of bytes, in the other form.
    func update(_ data: Data) throws(StoreError) -> Data {
        // libcrypto counts in `int`.
        guard data.count <= Int32.max else { throw StoreError(.system, "a piece of \(data.count) bytes is too large to be sealed") }
        if data.isEmpty { return Data() }
        var result = Data(count: data.count)
        var count: Int32 = 0
        let isDone = result.withUnsafeMutableBytes { result in
            data.withUnsafeBytes { EVP_CipherUpdate(context, result.baseAddress, &count, $0.baseAddress, Int32($0.count)) == 1 }
        }
        guard isDone, Int(count) == data.count else { throw AESGCM.failure("a piece") }
        return result
    }

    /// Checks the end: for opening, that the tag is right. GCM has no bytes left to give.
    func finish() -> Bool {
        var rest = [UInt8](repeating: 0, count: AESGCM.tagSize)
        var count: Int32 = 0
        let isRight = EVP_CipherFinal_ex(context, &rest, &count) == 1
        if !isRight { ERR_clear_error() }
        return isRight
    }

    func tag() throws(StoreError) -> Data {
        var tag = [UInt8](repeating: 0, count: AESGCM.tagSize)
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(AESGCM.tagSize), &tag) == 1 else { throw AESGCM.failure("a tag") }
        return Data(tag)
    }

    func expect(tag: [UInt8]) throws(StoreError) {
        var tag = tag
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1 else { throw AESGCM.failure("a tag") }
    }
}
#endif
