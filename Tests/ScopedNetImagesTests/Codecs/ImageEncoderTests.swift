#if Images
import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// Files that are written and read again.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct ImageEncoderTests {
    typealias S = CodecSamples

    private let lossless: [any ImageEncoding] = [PNGEncoder(), PNGEncoder(level: 0), PNGEncoder(level: 99), WebPEncoder(isLossless: true)]
    private let all: [any ImageEncoding] = [PNGEncoder(), JPEGEncoder(), WebPEncoder(), WebPEncoder(isLossless: true)]

    @Test func nothingIsLost() throws {
        for encoder in lossless {
            for pixel in [S.color, S.alpha] {
                for (width, height) in [(1, 1), (19, 13), (130, 70), (300, 1), (1, 300)] {
                    let wanted = S.pixels(width, height, pixel)
                    let data = try encoder.encode(try S.image(width, height, pixel))
                    #expect(try S.header(data).format == encoder.format)
                    #expect(S.difference(try S.decode(data), wanted) == 0, "\(encoder.format), \(width) × \(height)")
                }
            }
        }
    }

    /// Files have colours that are not multiplied by alpha.
    @Test func premultipliedColoursAreDivided() throws {
        let image = try S.image(19, 13, isPremultiplied: true) { x, y in
            let pixel = S.alpha(x, y)
            return pixel.prefix(3).map { UInt8((Int($0) * Int(pixel[3]) + 127) / 255) } + [pixel[3]]
        }
        for encoder in lossless {
            let pixels = try S.decode(try encoder.encode(image)).withPixels { Array($0) }
            for y in 0..<13 {
                for x in 0..<19 {
                    let (wanted, place) = (S.alpha(x, y), (y * 19 + x) * 4)
                    #expect(pixels[place + 3] == wanted[3])
                    // A step of the multiplied colour is 255 / alpha of it.
                    let most = wanted[3] == 0 ? 255 : 1 + 128 / Int(wanted[3])
                    for channel in 0..<3 { #expect(abs(Int(pixels[place + channel]) - Int(wanted[channel])) <= most) }
                }
            }
        }
    }

    @Test func lossyOnesAreAlike() throws {
        func soft(_ x: Int, _ y: Int) -> [UInt8] { [UInt8(x * 2), UInt8(y * 3), UInt8(128 + x / 2), 255] }
        let image = try S.image(100, 80, soft)
        let encoders: [(any ImageEncoding, any ImageEncoding)] = [
            (JPEGEncoder(quality: 95), JPEGEncoder(quality: 10)), (WebPEncoder(quality: 95), WebPEncoder(quality: 5)),
        ]
        for (fine, coarse) in encoders {
            let (large, small) = (try fine.encode(image), try coarse.encode(image))
            #expect(S.meanDifference(try S.decode(large), image) < 2)
            #expect(S.meanDifference(try S.decode(small), image) < 12)
            #expect(small.count < large.count)
        }
        #expect(JPEGEncoder(quality: -3).quality == 0 && WebPEncoder(quality: 200).quality == 100 && PNGEncoder(level: -1).level == 0)
    }

    /// Scans change the order of a file alone.
    @Test func progressiveFilesHaveTheSamePixels() throws {
        let image = try S.image(130, 70, S.color)
        let (plain, progressive) = (try JPEGEncoder().encode(image), try JPEGEncoder(isProgressive: true).encode(image))
        let (first, second) = (try S.header(plain), try S.header(progressive))
        #expect(!first.isProgressive && second.isProgressive)
        #expect(S.meanDifference(try S.decode(progressive), try S.decode(plain)) == 0)
    }

    /// JPEG has no alpha.
    @Test func transparencyBecomesTheBackground() throws {
        let encoder = JPEGEncoder(quality: 100, background: .init(red: 200, green: 100, blue: 0))
        for (pixel, isPremultiplied, wanted) in [
            ([10, 20, 30, 0], false, [200, 100, 0]), ([100, 0, 200, 128], false, [150, 50, 100]),
            ([50, 0, 100, 128], true, [150, 50, 100]), ([255, 255, 255, 0], true, [255, 255, 255]), ([9, 8, 7, 255], false, [9, 8, 7]),
        ] {
            let image = try S.image(16, 16, isPremultiplied: isPremultiplied) { _, _ in pixel.map { UInt8($0) } }
            let pixels = try S.decode(try encoder.encode(image)).withPixels { Array($0.prefix(4)) }
            for channel in 0..<3 { #expect(abs(Int(pixels[channel]) - wanted[channel]) <= 3, "\(pixel): \(pixels)") }
        }
    }

    @Test func sidesAreLimited() throws {
        for (encoder, most) in [(JPEGEncoder() as any ImageEncoding, 65_500), (WebPEncoder(), 16_383)] {
            for (width, height) in [(most + 1, 1), (1, most + 1)] {
                let image = try DecodedImage(width: width, height: height) { _ in }
                #expect(throws: ImageError.exceeds(.side, actual: most + 1, most: most)) { try encoder.encode(image) }
            }
            let image = try DecodedImage(width: most, height: 1) { _ in }
            #expect(try S.decode(try encoder.encode(image)).width == most)
        }
        // Libpng's own limit of a million is not ours.
        let long = try DecodedImage(width: 1_000_001, height: 2) { _ in }
        #expect(try S.decode(try PNGEncoder(level: 1).encode(long)).width == 1_000_001)
    }

    /// Noise is larger than any first guess at its size.
    @Test func memoryGrowsWithTheFile() throws {
        var random = SplitMix(state: 3)
        let noise = (0..<200 * 200).map { _ in Array(withUnsafeBytes(of: random.next()) { $0.prefix(3) }) + [255] }
        let image = try S.image(200, 200) { x, y in noise[y * 200 + x] }
        for encoder in all + [JPEGEncoder(quality: 100)] {
            let data = try encoder.encode(image)
            #expect(try S.decode(data).height == 200)
            if encoder.format == .png { #expect(data.count > 100_000) }
        }
    }
}
#endif
