public import FoundationEssentials

/// X bitmaps, which are C source: set bits are black, the others white (X11 `XReadBitmapFile(3)`).
public struct XBMDecoder: ImageDecoding {
    /// The one format that it reads.
    public let formats: Set<ImageFormat> = [.xbm]

    /// Makes a decoder.
    public init() {}

    /// Makes the picture; see ``ImageDecoding/decode(_:header:options:)``.
    public func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        try options.limits.check(header)
        let bits = try data.withUnsafeBytes { bytes in try Self.bits(bytes, header) }
        return try DecodedImage(width: header.width, height: header.height, limits: options.limits) { pixels in
            let stride = (header.width + 7) / 8
            for row in 0..<header.height {
                for column in 0..<header.width {
                    let isSet = bits[row * stride + column / 8] >> (column % 8) & 1 == 1
                    let start = (row * header.width + column) * 4
                    for channel in 0..<3 { pixels[start + channel] = isSet ? 0 : 255 }
                    pixels[start + 3] = 255
                }
            }
        }
    }

    /// The numbers between the braces: bytes, or words of two in the old form.
    private static func bits(_ bytes: UnsafeRawBufferPointer, _ header: ImageHeader) throws(ImageError) -> [UInt8] {
        guard let open = bytes.firstIndex(of: UInt8(ascii: "{")) else { throw .damaged(.xbm, "no data") }
        let isOfWords = ByteView(UnsafeRawBufferPointer(rebasing: bytes[..<open])).text(atMost: open).contains("short")
        let stride = isOfWords ? (header.width + 15) / 16 * 2 : (header.width + 7) / 8
        let wanted = stride * header.height
        var (values, index) = ([UInt8](), open + 1)
        // A number takes two bytes of text at least.
        guard wanted <= bytes.count else { throw .damaged(.xbm, "too few numbers") }
        values.reserveCapacity(wanted)
        while values.count < wanted {
            guard let number = number(bytes, &index) else { throw .damaged(.xbm, "too few numbers") }
            values.append(UInt8(truncatingIfNeeded: number))
            if isOfWords { values.append(UInt8(truncatingIfNeeded: number >> 8)) }
        }
        guard isOfWords, stride != (header.width + 7) / 8 else { return values }
        let kept = (header.width + 7) / 8
        return (0..<header.height).flatMap { values[$0 * stride..<$0 * stride + kept] }
    }

    /// The next number, decimal or hexadecimal; nil at the closing brace or the end.
    private static func number(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> UInt32? {
        var (value, digits, base) = (UInt32(0), 0, UInt32(10))
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "}") && digits == 0 { return nil }
            if byte == UInt8(ascii: "x") || byte == UInt8(ascii: "X"), digits == 1, value == 0 {
                (base, digits) = (16, 1)
            } else if let digit = digit(byte), digit < base {
                (value, digits) = (value &* base &+ digit, digits + 1)
            } else if digits > 0 {
                return value
            }
            index += 1
        }
        return nil
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
