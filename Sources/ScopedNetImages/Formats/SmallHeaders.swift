/// The logical screen of a GIF (GIF89a section 18). Only the whole file tells how many frames there are.
enum GIFHeader {
    static func read(_ bytes: ByteView) throws(ImageError) -> ImageHeader.Reading {
        guard let width = bytes.u16LE(6), let height = bytes.u16LE(8) else { return .needsMore(10) }
        return try ImageHeader.checked(.gif, width, height, frames: nil)
    }
}

/// The information header of a BMP, of OS/2 (12 bytes) or Windows (40 and more). A negative height is a picture stored from its top.
enum BMPHeader {
    static func read(_ bytes: ByteView) throws(ImageError) -> ImageHeader.Reading {
        guard let size = bytes.u32LE(14) else { return .needsMore(18) }
        if size == 12 {
            guard let width = bytes.u16LE(18), let height = bytes.u16LE(20) else { return .needsMore(22) }
            return try ImageHeader.checked(.bmp, width, height)
        }
        guard size >= 16, size <= 256 else { throw .damaged(.bmp, "an information header of \(size) bytes") }
        guard let width = bytes.u32LE(18), let height = bytes.u32LE(22) else { return .needsMore(26) }
        let (signedWidth, signedHeight) = (Int(Int32(truncatingIfNeeded: width)), Int(Int32(truncatingIfNeeded: height)))
        return try ImageHeader.checked(.bmp, signedWidth, abs(signedHeight))
    }
}

/// The directory of an ICO. The picture is the largest one; that may be a PNG, which has a size of its own.
enum ICOHeader {
    static func read(_ bytes: ByteView) throws(ImageError) -> ImageHeader.Reading {
        guard let count = bytes.u16LE(4) else { return .needsMore(6) }
        guard count > 0 else { throw .damaged(.ico, "no pictures") }
        guard bytes.count >= 6 + count * 16 else { return .needsMore(6 + count * 16) }
        var (width, height, place) = (0, 0, 0)
        for index in 0..<count {
            let entry = 6 + index * 16
            let sides = (side(bytes.u8(entry)), side(bytes.u8(entry + 1)))
            guard sides.0 * sides.1 > width * height else { continue }
            (width, height, place) = (sides.0, sides.1, bytes.u32LE(entry + 12) ?? 0)
        }
        guard bytes.count >= place + 8 else { return .needsMore(place + 8) }
        guard bytes.has([0x89, 0x50, 0x4E, 0x47], at: place) else { return try ImageHeader.checked(.ico, width, height, frames: count) }
        guard case .header(var header) = try PNGHeader.read(bytes, at: place, as: .ico) else { return .needsMore(place + 33) }
        header.frameCount = count
        return .header(header)
    }

    /// Zero stands for 256.
    private static func side(_ byte: UInt8?) -> Int { byte.map { $0 == 0 ? 256 : Int($0) } ?? 0 }
}

/// The two definitions with which an XBM begins (X11 `XReadBitmapFile(3)`).
enum XBMHeader {
    static func read(_ bytes: ByteView) throws(ImageError) -> ImageHeader.Reading {
        let text = bytes.text(atMost: 4_096)
        guard let width = number("_width", in: text), let height = number("_height", in: text) else {
            if text.contains("{") || bytes.count >= 4_096 { throw .damaged(.xbm, "no width or height") }
            return .needsMore(bytes.count + 1)
        }
        return try ImageHeader.checked(.xbm, width, height)
    }

    /// The number behind a name, where its line is complete.
    private static func number(_ name: String, in text: String) -> Int? {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\r" })
            if words.count >= 3, words[0] == "#define", words[1].hasSuffix(name) { return Int(words[2]) }
        }
        return nil
    }
}
