import CPlainImages
import Foundation

/// The bytes of hostile files, written by hand.
enum BombBytes {
    static func le16(_ value: Int) -> Data { Data([UInt8(value & 0xFF), UInt8(value >> 8 & 0xFF)]) }
    static func le32(_ value: Int) -> Data { le16(value) + le16(value >> 16) }
    static func be16(_ value: Int) -> Data { Data([UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]) }
    static func be32(_ value: Int) -> Data { be16(value >> 16) + be16(value) }
    private static func le24(_ value: Int) -> Data { le16(value) + Data([UInt8(value >> 16 & 0xFF)]) }

    // MARK: GIF, ICO, BMP, TIFF

    /// Frames of one pixel.
    static func gif(_ width: Int, _ height: Int, frames: Int) -> Data {
        let control: [UInt8] = [0x21, 0xF9, 4, 0, 5, 0, 0, 0]
        let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 0x01, 0]
        var data = Data("GIF89a".utf8) + le16(width) + le16(height) + Data([0x80, 0, 0, 0, 0, 0, 255, 255, 255])
        for _ in 0..<frames { data += control + frame }
        return data + [0x3B]
    }

    static func ico(_ content: Data) -> Data {
        Data([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 32, 0]) + le32(content.count) + le32(22) + content
    }

    static func bmp() -> Data {
        Data("BM".utf8) + le32(0) + le32(0) + le32(54) + le32(40) + le32(Int(Int32.max)) + le32(Int(Int32.max)) + Data([1, 0, 24, 0])
            + Data(count: 1 << 20)
    }

    /// A strip for each row, and all strips the same bytes.
    static func tiff(_ side: Int) -> Data {
        let (strip, directory) = (8, 8 + side * 3)
        func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: Int) -> Data { le16(tag) + le16(type) + le32(count) + le32(value) }
        let offsets = directory + 2 + 9 * 12 + 4
        var data = Data("II".utf8) + le16(42) + le32(directory) + Data(count: side * 3) + le16(9)
        data += entry(0x100, 4, 1, side) + entry(0x101, 4, 1, side) + entry(0x102, 3, 1, 8) + entry(0x103, 3, 1, 1)
        data += entry(0x106, 3, 1, 2) + entry(0x111, 4, side, offsets) + entry(0x115, 3, 1, 3) + entry(0x116, 3, 1, 1)
        data += entry(0x117, 4, side, offsets + side * 4) + le32(0)
        for value in [strip, side * 3] { for _ in 0..<side { data += le32(value) } }
        return data
    }

    // MARK: WebP

    private static func riff(_ content: Data) -> Data { Data("RIFF".utf8) + le32(content.count + 4) + Data("WEBP".utf8) + content }

    static func webP(_ side: Int) -> Data {
        riff(Data("VP8L".utf8) + le32(1 << 20) + [0x2F] + le32((side - 1) | (side - 1) << 14) + Data(count: 1 << 20 - 5))
    }

    /// Frames of one pixel, each a whole picture.
    static func animatedWebP(_ side: Int, frames: Int) -> Data {
        var pixel = plain_flat(1, 1)
        defer { plain_image_free(&pixel) }
        let picture = plain_webp_encode(&pixel, 80).data.dropFirst(12)
        let frame = Data("ANMF".utf8) + le32(16 + picture.count) + le24(0) + le24(0) + le24(0) + le24(0) + le24(50) + [0] + picture
        var content = Data("VP8X".utf8) + le32(10) + [2, 0, 0, 0] + le24(side - 1) + le24(side - 1)
        content += Data("ANIM".utf8) + le32(6) + le32(0) + le16(0)
        for _ in 0..<frames { content += frame }
        return riff(content)
    }

    // MARK: JPEG

    /// The head of a small one, with other sides.
    static func jpeg(_ side: Int) -> Data {
        var picture = plain_flat(64, 64)
        defer { plain_image_free(&picture) }
        var data = plain_jpeg_encode(&picture, 85, false, false).data
        guard let frame = markers(data).first(where: { $0.marker == 0xC0 }) else { fail("no frame in a JPEG") }
        data.replaceSubrange(frame.start + 5..<frame.start + 9, with: be16(side) + be16(side))
        return data.dropLast(2) + Data(count: 1 << 20)
    }

    /// A progressive one whose last scan of coefficients, of a few bytes, comes `count` times more.
    static func scans(_ width: Int, _ height: Int, count: Int) -> Data {
        var picture = plain_flat(Int32(width), Int32(height))
        defer { plain_image_free(&picture) }
        let data = plain_jpeg_encode(&picture, 85, true, true).data
        let markers = markers(data)
        // From the table to the end of its scan: the first one of high frequencies.
        guard let scan = markers.firstIndex(where: { $0.marker == 0xDA && data[$0.start + 7] > 0 }),
            let table = markers[..<scan].lastIndex(where: { $0.marker == 0xC4 }), scan + 1 < markers.count
        else { fail("no scans in a JPEG") }
        let (start, end) = (markers[table].start, markers[scan + 1].start)
        var result = Data(data[..<end])
        let (first, again) = (data[start..<end], data[markers[scan].start..<end])
        result += first
        for _ in 1..<max(1, count) { result += again }
        return result + data[end...]
    }

    /// The markers outside of pixels.
    private static func markers(_ data: Data) -> [(marker: UInt8, start: Int)] {
        var (result, offset) = ([(marker: UInt8, start: Int)](), 2)
        while offset + 3 < data.count {
            guard data[offset] == 0xFF, data[offset + 1] != 0, !(0xD0...0xD7).contains(data[offset + 1]) else {
                offset += 1
                continue
            }
            result.append((data[offset + 1], offset))
            if data[offset + 1] == 0xD9 { break }
            offset += 2 + Int(data[offset + 2]) << 8 + Int(data[offset + 3])
        }
        return result
    }

    // MARK: PNG

    /// A picture of 200 × 150 pixels with chunks before or behind those of its pixels.
    static func png(before: Data = Data(), after: Data = Data()) -> Data {
        var picture = plain_flat(200, 150)
        defer { plain_image_free(&picture) }
        let data = plain_png_encode(&picture).data
        return Data(data.prefix(33)) + before + data[33..<data.count - 12] + after + data.suffix(12)
    }

    static func chunk(_ name: String, _ content: Data) -> Data {
        let body = Data(name.utf8) + content
        let checksum = body.withUnsafeBytes { plain_crc32($0.octets, $0.count) }
        return be32(content.count) + body + be32(Int(checksum))
    }

    static func chunks(_ count: Int) -> Data {
        let one = chunk("tEXt", Data("a\0".utf8))
        var data = Data(capacity: one.count * count)
        for _ in 0..<count { data += one }
        return data
    }

    /// A chunk whose name is followed by zeros, packed.
    static func packed(_ name: String, _ count: Int) -> Data { chunk(name, Data("a\0\0".utf8) + plain_zlib_zeros(count).data) }
}
