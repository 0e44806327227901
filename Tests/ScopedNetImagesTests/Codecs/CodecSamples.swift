#if Images
import FoundationEssentials
import Glibc
import Testing

@testable import ScopedNetImages

/// The files of `Fixtures/Codecs`, the patterns of `make.py`, and files that are made from them.
enum CodecSamples {
    typealias Pixel = [UInt8]

    static let (width, height) = (19, 13)
    /// The size of a "photo" of `make.py`.
    static let photo = PixelSize(width: 37, height: 29)

    static let decoders: [any CancellableImageDecoding] = [JPEGDecoder(), PNGDecoder(), WebPDecoder()]
    static let jpegs = ["baseline", "progressive", "grey", "rgb", "restarts", "cmyk", "ycck", "ink"]

    static func file(_ name: String) throws -> Data { try DecoderTests.fixture("Codecs/\(name)") }

    static func decode(
        _ data: Data, size: PixelSize? = nil, limits: ImageLimits = .standard, cancellation: DecodingCancellation? = nil
    ) throws -> DecodedImage {
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true, limits: limits) else {
            throw ImageError.unknownFormat
        }
        guard let decoder = decoders.first(where: { $0.formats.contains(header.format) }) else {
            throw ImageError.unsupported(header.format)
        }
        let options = ImageDecodingOptions(size: size, limits: limits)
        return try decoder.decode(data, header: header, options: options, cancellation: cancellation)
    }

    static func header(_ data: Data) throws -> ImageHeader {
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true) else { throw ImageError.unknownFormat }
        return header
    }

    // MARK: Patterns of make.py

    static func color(_ x: Int, _ y: Int) -> Pixel { [UInt8(x * 13 % 256), UInt8(y * 19 % 256), UInt8((x ^ y) * 8 % 256), 255] }
    static func alpha(_ x: Int, _ y: Int) -> Pixel { Array(color(x, y).prefix(3)) + [UInt8(x * 14 % 256)] }

    // MARK: Comparisons

    /// The most by which a byte differs; nil for another size.
    static func difference(_ image: DecodedImage, _ wanted: Data) -> Int? {
        guard image.byteCount == wanted.count else { return nil }
        return image.withPixels { zip($0, wanted).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) } }
    }

    /// The mean by which bytes differ.
    static func meanDifference(_ image: DecodedImage, _ other: DecodedImage) -> Double {
        image.withPixels { left in
            other.withPixels { right in
                Double(zip(left, right).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }) / Double(max(1, left.count))
            }
        }
    }

    static func pixels(_ width: Int, _ height: Int, _ pixel: (Int, Int) -> Pixel) -> Data {
        Data((0..<height).flatMap { y in (0..<width).flatMap { x in pixel(x, y) } })
    }

    static func image(
        _ width: Int, _ height: Int, isPremultiplied: Bool = false, limits: ImageLimits = .standard, _ pixel: (Int, Int) -> Pixel
    ) throws -> DecodedImage {
        try DecodedImage(width: width, height: height, isPremultiplied: isPremultiplied, limits: limits) {
            $0.copyBytes(from: pixels(width, height, pixel))
        }
    }

    // MARK: CPU

    /// The CPU time of this thread in which `body` runs, in seconds.
    static func cpuTime(_ body: () throws -> Void) rethrows -> Double {
        let start = now()
        try body()
        return now() - start
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    // MARK: Files that are made

    /// The offsets at which scans begin, of a JPEG.
    static func scans(_ data: Data) -> [Int] {
        let bytes = Array(data)
        return bytes.indices.dropLast().filter { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA }
    }

    /// A progressive JPEG whose first scan is there `count` times more.
    static func jpeg(_ data: Data, repeatingFirstScan count: Int) throws -> Data {
        let start = try #require(scans(data).first)
        let end = try #require((start + 2..<data.count).first { data[$0] == 0xFF && data[$0 + 1] != 0 })
        return data[..<end] + Data(repeatElement(data[start..<end], count: count).joined()) + data[end...]
    }

    /// A PNG with `chunks` before its pixels.
    static func png(_ data: Data, inserting chunks: [UInt8]) -> Data { Data(data.prefix(33)) + Data(chunks) + data.dropFirst(33) }

    static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + content
        return ImageSamples.be32(content.count) + body + ImageSamples.be32(Int(crc(body[...])))
    }

    /// The same PNG with the right checksum in each chunk that is all there.
    static func withChecksums(_ data: Data) -> Data {
        var (bytes, offset) = (Array(data), 8)
        while offset + 12 <= bytes.count {
            let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            guard offset + 12 + length <= bytes.count else { break }
            bytes.replaceSubrange(
                offset + 8 + length..<offset + 12 + length, with: ImageSamples.be32(Int(crc(bytes[offset + 4..<offset + 8 + length]))))
            offset += 12 + length
        }
        return Data(bytes)
    }

    private static let table: [UInt32] = (0..<256).map { value in
        (0..<8).reduce(UInt32(value)) { current, _ in current & 1 == 1 ? 0xEDB8_8320 ^ current >> 1 : current >> 1 }
    }

    private static func crc(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(~UInt32(0)) { table[Int(($0 ^ UInt32($1)) & 255)] ^ $0 >> 8 }
    }

    /// A stream of zlib that inflates to `count` × 258 zeros and one, in 13 bits for each 258 (RFC 1951 section 3.2.6).
    static func inflating(_ count: Int) -> [UInt8] {
        var (output, word, bits) = ([0x78, 0x9C] as [UInt8], UInt32(0), UInt32(0))
        func put(_ value: UInt32, _ length: UInt32) {
            word |= value << bits
            bits += length
            while bits >= 8 {
                output.append(UInt8(truncatingIfNeeded: word))
                (word, bits) = (word >> 8, bits - 8)
            }
        }
        put(0b011, 3)  // the last block, of fixed codes
        put(0b0000_1100, 8)  // the literal 0: 00110000, its first bit first
        for _ in 0..<count { put(0b1010_0011, 8); put(0, 5) }  // length 258: 11000101; distance 1
        put(0, 7)
        put(0, 7)
        return output + [0, 0, 0, 0]
    }
}
#endif
