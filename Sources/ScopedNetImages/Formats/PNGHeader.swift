/// The chunks of a PNG up to its pixels (PNG, third edition, sections 5 and 11).
enum PNGHeader {
    static func read(_ bytes: ByteView, at start: Int = 0, as format: ImageFormat = .png) throws(ImageError) -> ImageHeader.Reading {
        guard bytes.count >= start + 33 else { return .needsMore(start + 33) }
        guard bytes.u32BE(start + 8) == 13, bytes.has("IHDR", at: start + 12) else { throw .damaged(format, "it does not begin with IHDR") }
        let (width, height) = (bytes.u32BE(start + 16) ?? 0, bytes.u32BE(start + 20) ?? 0)
        guard width <= Int32.max, height <= Int32.max else { throw .damaged(format, "a side of more than 2^31-1 pixels") }
        var (offset, frames, orientation) = (start + 33, 1, ImageOrientation.up)
        // An animation says so before its pixels. A picture inside of another file is none.
        while start == 0 {
            guard let length = bytes.u32BE(offset), bytes.count >= offset + 8 else { return .needsMore(offset + 8) }
            if bytes.has("IDAT", at: offset + 4) || bytes.has("IEND", at: offset + 4) { break }
            guard length <= Int32.max else { throw .damaged(format, "a chunk of more than 2^31-1 bytes") }
            if bytes.has("acTL", at: offset + 4) {
                guard let count = bytes.u32BE(offset + 8) else { return .needsMore(offset + 12) }
                frames = max(1, count)
            }
            if bytes.has("eXIf", at: offset + 4) {
                guard bytes.count >= offset + 8 + length else { return .needsMore(offset + 8 + length) }
                orientation = TIFFHeader.orientation(bytes, at: offset + 8, end: offset + 8 + length) ?? orientation
            }
            offset += 12 + length
        }
        return try ImageHeader.checked(format, width, height, orientation: orientation, frames: frames)
    }

    /// Looks for EXIF in all of a file: it may stand behind the pixels (section 11.3.5).
    static func orientation(_ bytes: ByteView) -> ImageOrientation? {
        var offset = 33
        for _ in 0..<50_000 {
            guard let length = bytes.u32BE(offset), !bytes.has("IEND", at: offset + 4) else { return nil }
            if bytes.has("eXIf", at: offset + 4) { return TIFFHeader.orientation(bytes, at: offset + 8, end: offset + 8 + length) }
            offset += 12 + length
        }
        return nil
    }
}
