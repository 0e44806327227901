#if Encryption
import Crypto
public import FoundationEssentials

/// AES-256-GCM with random nonces (NIST SP 800-38D), and HMAC-SHA-256 for names; both with keys derived from the one given (RFC 5869).
///
/// Where the key is kept is the program's affair: a secret service, a TPM, a file that only it can read. A store that is opened with another key,
/// or without one, is replaced by an empty one. With random nonces a key is good for 2^32 pieces: a store that writes a thousand entries a second
/// wants another after a month.
public struct AESGCMSealing: StoreSealing {
    private let encryption: SymmetricKey
    private let names: SymmetricKey

    /// - Parameter key: 32 bytes nobody can guess.
    /// - Throws: `unavailable` for another number of bytes.
    public init(key: Data) throws(StoreError) {
        guard key.count == 32 else { throw StoreError(.unavailable, "the key of a store has 32 bytes, this one \(key.count)") }
        let root = SymmetricKey(data: key)
        encryption = HKDF<SHA256>.deriveKey(inputKeyMaterial: root, info: Data("store encryption 1".utf8), outputByteCount: 32)
        names = HKDF<SHA256>.deriveKey(inputKeyMaterial: root, info: Data("store names 1".utf8), outputByteCount: 32)
    }

    /// A key out of the system's randomness.
    public static func makeKey() -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }

    /// Nonce and tag.
    public var overhead: Int { 28 }

    public func seal(_ text: Data, context: Data) throws(StoreError) -> Data {
        do {
            guard let sealed = try AES.GCM.seal(text, using: encryption, authenticating: context).combined else {
                throw StoreError(.system, "a nonce of another size")
            }
            return sealed
        } catch {
            throw StoreError(.system, "sealing failed: \(error)")
        }
    }

    public func open(_ sealed: Data, context: Data) throws(StoreError) -> Data {
        do { return try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: encryption, authenticating: context) } catch {
            throw StoreError(.damaged, "what is stored does not open with this key")
        }
    }

    public func hash(_ text: Data) -> Data { Data(HMAC<SHA256>.authenticationCode(for: text, using: names)) }
}
#endif
