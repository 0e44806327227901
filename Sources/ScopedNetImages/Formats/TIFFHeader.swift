/// The first directory of a TIFF (TIFF 6.0 section 2), which is also the form of EXIF.
enum TIFFHeader {
    private struct Entry {
        let tag, type, value: Int
    }

    static func read(_ bytes: ByteView, at start: Int, _ format: ImageFormat) throws(ImageError) -> ImageHeader.Reading {
        guard bytes.count >= start + 8 else { return .needsMore(start + 8) }
        let isBig = bytes.has("MM", at: start)
        guard let directory = bytes.number(start + 4, bytes: 4, isBigEndian: isBig).map(Int.init), directory >= 8 else {
            throw .damaged(format, "no directory")
        }
        guard let count = bytes.number(start + directory, bytes: 2, isBigEndian: isBig).map(Int.init) else {
            return .needsMore(start + directory + 2)
        }
        let end = start + directory + 2 + count * 12
        guard bytes.count >= end else { return .needsMore(end) }
        var (width, height, orientation) = (0, 0, ImageOrientation.up)
        for index in 0..<count {
            guard let entry = entry(bytes, at: start + directory + 2 + index * 12, isBig) else { continue }
            switch entry.tag {
            case 0x0100: width = entry.value
            case 0x0101: height = entry.value
            case 0x0112: orientation = ImageOrientation(rawValue: entry.value) ?? .up
            default: break
            }
        }
        return try ImageHeader.checked(format, width, height, orientation: orientation, frames: nil)
    }

    /// The orientation of EXIF; nil where there is none, or what is there is no EXIF: a picture is shown all the same.
    static func orientation(_ bytes: ByteView, at start: Int, end: Int) -> ImageOrientation? {
        let isBig = bytes.has("MM", at: start)
        guard isBig || bytes.has("II", at: start), bytes.number(start + 2, bytes: 2, isBigEndian: isBig) == 42,
            let directory = bytes.number(start + 4, bytes: 4, isBigEndian: isBig).map(Int.init),
            let count = bytes.number(start + directory, bytes: 2, isBigEndian: isBig).map(Int.init)
        else { return nil }
        let first = start + directory + 2
        for index in 0..<count where first + index * 12 + 12 <= end {
            if let entry = entry(bytes, at: first + index * 12, isBig), entry.tag == 0x0112 {
                return ImageOrientation(rawValue: entry.value)
            }
        }
        return nil
    }

    /// A number of one or two words; nil for an entry of another type, or of several values.
    private static func entry(_ bytes: ByteView, at offset: Int, _ isBig: Bool) -> Entry? {
        guard let tag = bytes.number(offset, bytes: 2, isBigEndian: isBig),
            let type = bytes.number(offset + 2, bytes: 2, isBigEndian: isBig),
            bytes.number(offset + 4, bytes: 4, isBigEndian: isBig) == 1,
            let value = bytes.number(offset + 8, bytes: type == 3 ? 2 : 4, isBigEndian: isBig), type == 3 || type == 4
        else { return nil }
        return Entry(tag: Int(tag), type: Int(type), value: Int(value))
    }
}
