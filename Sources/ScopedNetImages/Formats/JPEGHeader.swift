/// The segments of a JPEG up to its frame header (ITU-T T.81 annex B).
enum JPEGHeader {
    static func read(_ bytes: ByteView) throws(ImageError) -> ImageHeader.Reading {
        var offset = 2
        var orientation = ImageOrientation.up
        while true {
            // Any number of fill bytes may stand before a marker.
            guard let first = bytes.u8(offset) else { return .needsMore(offset + 1) }
            guard first == 0xFF else { throw .damaged(.jpeg, "no marker where one must be") }
            guard let marker = bytes.u8(offset + 1) else { return .needsMore(offset + 2) }
            if marker == 0xFF {
                offset += 1
                continue
            }
            switch marker {
            case 0x01, 0xD0...0xD7: offset += 2  // without a length
            case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker):
                guard let height = bytes.u16BE(offset + 5), let width = bytes.u16BE(offset + 7) else { return .needsMore(offset + 9) }
                let isProgressive = [0xC2, 0xC6, 0xCA, 0xCE].contains(marker)
                return try ImageHeader.checked(.jpeg, width, height, orientation: orientation, isProgressive: isProgressive)
            case 0xD9, 0xDA: throw .damaged(.jpeg, "pixels without a frame header")
            default:
                guard let length = bytes.u16BE(offset + 2) else { return .needsMore(offset + 4) }
                guard length >= 2 else { throw .damaged(.jpeg, "a segment of \(length) bytes") }
                if marker == 0xE1, bytes.has("Exif", at: offset + 4) {
                    guard bytes.count >= offset + 2 + length else { return .needsMore(offset + 2 + length) }
                    orientation = TIFFHeader.orientation(bytes, at: offset + 10, end: offset + 2 + length) ?? orientation
                }
                offset += 2 + length
            }
        }
    }
}
