import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// Pictures of patterns, and results of Pillow for them (`Fixtures/make-processing.py`).
enum ProcessingSamples {
    typealias Pixel = [UInt8]

    struct Result {
        let size: PixelSize
        let bytes: [UInt8]
    }

    static func opaque(_ x: Int, _ y: Int) -> Pixel { [UInt8(x * 7 % 256), UInt8(y * 11 % 256), UInt8((x * x + y * 3) % 256), 255] }
    static func alpha(_ x: Int, _ y: Int) -> Pixel { Array(opaque(x, y).prefix(3)) + [UInt8((x * 14 + y * 5) % 256)] }
    static func smooth(_ x: Int, _ y: Int) -> Pixel { [UInt8(x * 255 / 199), UInt8(y * 255 / 149), UInt8((x + y) * 255 / 348), 255] }

    static func image(
        _ width: Int, _ height: Int, isPremultiplied: Bool = false, _ pixel: (Int, Int) -> Pixel
    ) throws -> DecodedImage {
        try DecodedImage(width: width, height: height, isPremultiplied: isPremultiplied, scale: 2) { bytes in
            for place in 0..<width * height {
                let color = pixel(place % width, place / width)
                for channel in 0..<4 { bytes[place * 4 + channel] = color[channel] }
            }
        }
    }

    static func bytes(_ image: DecodedImage) -> [UInt8] { image.withPixels { Array($0) } }

    static func pixel(_ image: DecodedImage, _ x: Int, _ y: Int) -> Pixel {
        image.withPixels { Array($0[(y * image.width + x) * 4..<(y * image.width + x) * 4 + 4]) }
    }

    /// The same picture with colours that are multiplied by alpha.
    static func premultiplied(_ image: DecodedImage) throws -> DecodedImage {
        let bytes = bytes(image)
        return try self.image(image.width, image.height, isPremultiplied: true) { x, y in
            let place = (y * image.width + x) * 4
            let alpha = Int(bytes[place + 3])
            return (0..<3).map { UInt8((Int(bytes[place + $0]) * alpha + 127) / 255) } + [bytes[place + 3]]
        }
    }

    /// A result of Pillow.
    static func result(_ name: String) throws -> Result {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "Fixtures/processing.txt")
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let words = try #require(
            text.split(separator: "\n").map { $0.split(separator: " ") }.first { $0.first == name[...] }, "no fixture \(name)")
        let digits = Array(words[3].utf8)
        func value(_ digit: UInt8) -> UInt8 { digit < 58 ? digit - 48 : digit - 87 }
        let bytes = stride(from: 0, to: digits.count, by: 2).map { value(digits[$0]) << 4 | value(digits[$0 + 1]) }
        return Result(size: PixelSize(try #require(Int(words[1])), try #require(Int(words[2]))), bytes: bytes)
    }

    /// Compares all bytes, up to a tolerance.
    static func expect(
        _ image: DecodedImage, is name: String, within tolerance: Int = 0, location: SourceLocation = #_sourceLocation
    ) throws {
        let wanted = try result(name)
        guard image.size == wanted.size else {
            Issue.record("\(name): \(image.size) in place of \(wanted.size)", sourceLocation: location)
            return
        }
        let worst = zip(bytes(image), wanted.bytes).enumerated().map { ($0, abs(Int($1.0) - Int($1.1))) }.max { $0.1 < $1.1 } ?? (0, 0)
        if worst.1 > tolerance { Issue.record("\(name): byte \(worst.0) is off by \(worst.1)", sourceLocation: location) }
    }
}
