#if Images
/// The messages of `Sources/scopednet-decoder/protocol.h`. (pure)
enum HelperMessage {
    static let magic: UInt64 = 0x5363_4e65_7449_6d67
    static let version: UInt64 = 3

    enum Format: UInt64 {
        case jpeg = 1
        case png, webP, webPAnimation
    }

    enum Status: UInt64 {
        case ok, damaged, cancelled, scans, memory, chunks, decoded, refused
    }

    /// A request, without its two descriptors.
    struct Request: Hashable {
        var format: Format
        var flags: UInt64 = 0
        var fileBytes: Int
        var stored: PixelSize
        var output: PixelSize
        var scale: Int
        var scans: Int
        var memory: Int
        var decodedBytes: Int
        var frames: Int
        /// The bytes of the memory for pixels, where the helper keeps it; else zero.
        var keptPixels = 0
        /// The bytes of the memory for the file, where the helper keeps it; else zero.
        var keptFile = 0

        var words: [UInt64] {
            let numbers = [
                fileBytes, stored.width, stored.height, output.width, output.height, scale, scans, memory, decodedBytes, frames, keptPixels,
                keptFile,
            ]
            return [magic, version, format.rawValue, flags] + numbers.map { UInt64(clamping: $0) }
        }
    }

    /// An answer, as it came: nothing in it is trusted.
    struct Answer: Hashable {
        /// The bytes of an answer.
        static let size = 6 * 8 + textSize
        private static let textSize = 200

        let status: Status
        let output: PixelSize
        let scale: Int
        let text: String

        /// - Throws: where these bytes are no answer.
        init(_ bytes: UnsafeRawBufferPointer) throws(ImageIsolationError) {
            guard bytes.count == Self.size else { throw .protocolError("an answer of \(bytes.count) bytes") }
            func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) }
            guard word(0) == magic, word(1) == version else {
                throw .protocolError("the helper is of another version of ScopedNet: build both from the same sources")
            }
            guard let status = Status(rawValue: word(2)) else { throw .protocolError("an unknown status") }
            self.status = status
            output = PixelSize(width: Int(clamping: word(3)), height: Int(clamping: word(4)))
            scale = Int(clamping: word(5))
            // It may end up in a terminal: nothing in it controls one.
            let printable = bytes[48...].prefix { $0 != 0 }.map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: "?") }
            text = String(decoding: printable, as: UTF8.self)
        }
    }
}
#endif
