import FoundationEssentials

/// The hash that a pin is written as. (pure)
struct PinText: Hashable, Sendable {
    /// SHA-256: 32 bytes.
    let digest: [UInt8]

    /// Base64 of 32 bytes: 43 digits and a padding character.
    private static let length = 44

    init(digest: [UInt8]) { self.digest = digest }

    /// - Returns: nil for anything but the three forms of ``SecurityPolicy/PublicKeyPin/sha256(_:)``. Nothing is guessed: a pin that is read as another one
    ///   locks out the right server.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let coded = Self.coded(bytes), coded.count == Self.length else { return nil }
        let base64 = String(decoding: coded, as: UTF8.self)
        // Decoders ignore the two bits that are left over; of the ways to write a hash one is right (RFC 4648 section 3.5).
        guard let data = Data(base64Encoded: base64), data.count == 32, data.base64EncodedString() == base64 else { return nil }
        digest = Array(data)
    }

    private static func coded(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        let plain = Array("sha256/".utf8)
        let field = Array("pin-sha256=\"".utf8)
        if bytes.starts(with: field) {
            guard bytes.last == UInt8(ascii: "\""), bytes.count == field.count + length + 1 else { return nil }
            return bytes[field.count..<(bytes.count - 1)]
        }
        guard bytes.starts(with: plain) else { return nil }
        let rest = bytes[plain.count...]
        // A hash may begin with a slash, too: the length tells.
        return rest.count == length + 1 && rest.first == UInt8(ascii: "/") ? rest.dropFirst() : rest
    }

    /// `sha256/…`
    var text: String { "sha256/" + Data(digest).base64EncodedString() }
}
