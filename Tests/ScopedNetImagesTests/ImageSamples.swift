import FoundationEssentials

/// Files of each format as far as their headers, written by hand from the formats' own documents.
enum ImageSamples {
    static func jpeg(_ width: Int, _ height: Int, orientation: Int? = nil, isProgressive: Bool = false, isBig: Bool = true) -> Data {
        var data = Data([0xFF, 0xD8])
        data += [0xFF, 0xE0, 0, 16] + Array("JFIF".utf8) + [0, 1, 2, 0, 0, 1, 0, 1, 0, 0]
        if let orientation {
            let exif = Array("Exif".utf8) + [0, 0] + Self.exif(orientation, isBig: isBig)
            data += [0xFF, 0xE1] + be16(exif.count + 2) + exif
        }
        // Fill bytes before a marker, and a table.
        data += [0xFF, 0xFF, 0xFF, 0xDB] + be16(3) + [0]
        data +=
            [0xFF, isProgressive ? 0xC2 : 0xC0] + be16(17) + [8] + be16(height) + be16(width) + [3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]
        return data
    }

    static func exif(_ orientation: Int, isBig: Bool) -> [UInt8] {
        let (two, four) = isBig ? (be16, be32) : (le16, le32)
        return Array((isBig ? "MM" : "II").utf8) + two(42) + four(8) + two(2)
            + two(0x0110) + two(2) + four(4) + [0x61, 0x62, 0x63, 0]
            + two(0x0112) + two(3) + four(1) + two(orientation) + two(0)
    }

    static func png(_ width: Int, _ height: Int, before: [[UInt8]] = []) -> Data {
        Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", be32(width) + be32(height) + [8, 6, 0, 0, 0]))
            + Data(before.joined()) + Data(chunk("IDAT", [0]))
    }

    static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] { be32(content.count) + Array(name.utf8) + content + [0, 0, 0, 0] }

    static func gif(_ width: Int, _ height: Int) -> Data { Data(Array("GIF89a".utf8) + le16(width) + le16(height) + [0, 0, 0]) }

    static func webP(lossy width: Int, _ height: Int) -> Data {
        riff(Array("VP8 ".utf8) + le32(10) + [0, 0, 0, 0x9D, 0x01, 0x2A] + le16(width) + le16(height))
    }

    static func webP(lossless width: Int, _ height: Int) -> Data {
        riff(Array("VP8L".utf8) + le32(9) + [0x2F] + le32((width - 1) | (height - 1) << 14) + [0, 0, 0, 0, 0])
    }

    static func webP(extended width: Int, _ height: Int, isAnimated: Bool, exif: [UInt8]? = nil) -> Data {
        let flags: UInt8 = (isAnimated ? 2 : 0) | (exif == nil ? 0 : 8)
        let canvas =
            Array("VP8X".utf8) + le32(10) + [flags, 0, 0, 0] + Array(le32(width - 1).prefix(3)) + Array(le32(height - 1).prefix(3))
        guard let exif else { return riff(canvas) }
        // A chunk of an odd length has a byte of padding.
        return riff(canvas + Array("ALPH".utf8) + le32(3) + [1, 2, 3, 0] + Array("EXIF".utf8) + le32(exif.count) + exif)
    }

    private static func riff(_ content: [UInt8]) -> Data {
        Data(Array("RIFF".utf8) + le32(content.count + 4) + Array("WEBP".utf8) + content)
    }

    static func bmp(_ width: Int, _ height: Int) -> Data {
        Data(Array("BM".utf8) + le32(0) + le32(0) + le32(54) + le32(40) + le32(width) + le32(height) + [1, 0, 24, 0])
    }

    static func oldBMP(_ width: Int, _ height: Int) -> Data {
        Data(Array("BM".utf8) + le32(0) + le32(0) + le32(26) + le32(12) + le16(width) + le16(height) + [1, 0, 24, 0])
    }

    /// A bitmap in an ICO: the height in its header is that of the colours and of the mask.
    static func bitmap(_ width: Int, _ height: Int, bits: Int = 32) -> [UInt8] {
        le32(40) + le32(width) + le32(height * 2) + [1, 0] + le16(bits) + [UInt8](repeating: 0, count: 24)
    }

    static func ico(_ sides: [Int], last content: [UInt8]) -> Data {
        let start = 6 + sides.count * 16
        let entries = sides.map {
            [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0), 0, 0, 1, 0, 32, 0] + le32(content.count) + le32(start)
        }
        return Data([0, 0, 1, 0] + le16(sides.count) + entries.joined() + content)
    }

    static func tiff(_ width: Int, _ height: Int, isBig: Bool = false) -> Data {
        let (two, four) = isBig ? (be16, be32) : (le16, le32)
        return Data(
            Array((isBig ? "MM" : "II").utf8) + two(42) + four(12) + [0, 0, 0, 0] + two(3)
                + two(0x0100) + two(3) + four(1) + two(width) + two(0)
                + two(0x0101) + two(4) + four(1) + four(height)
                + two(0x0112) + two(3) + four(1) + two(6) + two(0))
    }

    static func xbm(_ width: Int, _ height: Int) -> Data {
        Data("/* a comment */\n#define p_width \(width)\n#define p_height \(height)\nstatic char p_bits[] = { 0x00 };\n".utf8)
    }

    static let be16: @Sendable (Int) -> [UInt8] = { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    static let be32: @Sendable (Int) -> [UInt8] = { be16($0 >> 16) + be16($0) }
    static let le16: @Sendable (Int) -> [UInt8] = { be16($0).reversed() }
    static let le32: @Sendable (Int) -> [UInt8] = { be32($0).reversed() }
}
