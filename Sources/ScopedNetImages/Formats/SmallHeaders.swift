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
        switch try sides(bytes, at: 14, .bmp) {
        case .known(let width, let height): try ImageHeader.checked(.bmp, width, height)
        case .needsMore(let count): .needsMore(count)
        }
    }

    enum Sides {
        case known(width: Int, height: Int)
        case needsMore(Int)
    }

    /// The sides that an information header tells.
    static func sides(_ bytes: ByteView, at start: Int, _ format: ImageFormat) throws(ImageError) -> Sides {
        guard let size = bytes.u32LE(start) else { return .needsMore(start + 4) }
        if size == 12 {
            guard let width = bytes.u16LE(start + 4), let height = bytes.u16LE(start + 6) else { return .needsMore(start + 8) }
            return .known(width: width, height: height)
        }
        guard size >= 16, size <= 256 else { throw .damaged(format, "an information header of \(size) bytes") }
        guard let width = bytes.u32LE(start + 4), let height = bytes.u32LE(start + 8) else { return .needsMore(start + 12) }
        return .known(width: Int(Int32(truncatingIfNeeded: width)), height: abs(Int(Int32(truncatingIfNeeded: height))))
    }
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
