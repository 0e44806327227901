/// The first chunk of a WebP (RFC 9649 section 2; for lossy pictures RFC 6386 section 9.1).
enum WebPHeader {
    static func read(_ bytes: ByteView) throws(ImageError) -> ImageHeader.Reading {
        guard bytes.count >= 30 else { return .needsMore(30) }
        if bytes.has("VP8X", at: 12) {
            let (width, height) = ((bytes.u24LE(24) ?? 0) + 1, (bytes.u24LE(27) ?? 0) + 1)
            let isAnimated = (bytes.u8(20) ?? 0) & 0x02 != 0
            return try ImageHeader.checked(.webP, width, height, frames: isAnimated ? nil : 1)
        }
        if bytes.has("VP8L", at: 12) {
            guard bytes.u8(20) == 0x2F, let sides = bytes.u32LE(21) else { throw .damaged(.webP, "no signature of lossless pixels") }
            return try ImageHeader.checked(.webP, sides & 0x3FFF + 1, sides >> 14 & 0x3FFF + 1)
        }
        if bytes.has("VP8 ", at: 12) {
            guard bytes.has([0x9D, 0x01, 0x2A], at: 23) else { throw .damaged(.webP, "no start of a key frame") }
            return try ImageHeader.checked(.webP, (bytes.u16LE(26) ?? 0) & 0x3FFF, (bytes.u16LE(28) ?? 0) & 0x3FFF)
        }
        throw .damaged(.webP, "an unknown first chunk")
    }

    /// Looks for EXIF, which stands behind the pixels (section 2.7.1.5). Some programs write the signature that it has in a JPEG.
    static func orientation(_ bytes: ByteView) -> ImageOrientation? {
        guard bytes.has("VP8X", at: 12), (bytes.u8(20) ?? 0) & 0x08 != 0 else { return nil }
        var offset = 12
        for _ in 0..<10_000 {
            guard let length = bytes.u32LE(offset + 4) else { return nil }
            if bytes.has("EXIF", at: offset) {
                let start = offset + (bytes.has("Exif", at: offset + 8) ? 14 : 8)
                return TIFFHeader.orientation(bytes, at: start, end: offset + 8 + length)
            }
            offset += 8 + length + length % 2
        }
        return nil
    }
}
