#if Encryption
public import FoundationEssentials

/// AES-256-GCM with random nonces (NIST SP 800-38D), and HMAC-SHA-256 for names; both with keys derived from the one given (RFC 5869).
///
/// Where the key is kept is the program's affair: a secret service, a TPM, a file that only it can read. A store that is opened with another key,
/// or without one, is replaced by an empty one. With random nonces a key is good for 2^32 pieces: a store that writes a thousand entries a second
/// wants another after a month.
public struct AESGCMSealing: StoreSealing {
    private let encryption: SecretKey
    private let names: SecretKey

    /// - Parameter key: 32 bytes nobody can guess.
    /// - Throws: `unavailable` for another number of bytes.
    public init(key: Data) throws(StoreError) {
        guard key.count == SecretKey.size else {
            throw StoreError(.unavailable, "the key of a store has \(SecretKey.size) bytes, this one \(key.count)")
        }
        let root = try SecretKey(extracting: key)
        encryption = try root.derived(for: "store encryption 1")
        names = try root.derived(for: "store names 1")
    }

    /// A key out of the system's randomness.
    public static func makeKey() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<SecretKey.size).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// Nonce and tag.
    public var overhead: Int { AESGCM.nonceSize + AESGCM.tagSize }

    /// Encrypts with a random nonce, which comes first; the tag comes last.
    public func seal(_ text: Data, context: Data) throws(StoreError) -> Data { try AESGCM.seal(text, with: encryption, context: context) }

    /// Decrypts; throws `damaged` for another key, another context or another text.
    public func open(_ sealed: Data, context: Data) throws(StoreError) -> Data {
        try AESGCM.open(sealed, with: encryption, context: context)
    }

    /// The HMAC-SHA-256 of the text, 32 bytes.
    public func hash(_ text: Data) -> Data { names.authenticationCode(of: text) }
}
#endif
