#if Images
import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// PNG of each type and depth, pixel by pixel.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct PNGDecoderTests {
    typealias S = CodecSamples

    /// One of the files of `make.py`.
    struct Kind: Sendable, CustomTestStringConvertible {
        let type: Int
        let depth: Int
        let isInterlaced: Bool
        let isTransparent: Bool

        var name: String { "png-\(type)-\(depth)\(isInterlaced ? "-i" : "")\(isTransparent ? "-t" : "").png" }
        var testDescription: String { name }
        var channels: Int { [0: 1, 2: 3, 3: 1, 4: 2, 6: 4][type] ?? 0 }

        static let all: [Kind] = [(0, [1, 2, 4, 8, 16]), (2, [8, 16]), (3, [1, 2, 4, 8]), (4, [8, 16]), (6, [8, 16])].flatMap {
            type, depths in
            depths.flatMap { depth in
                [false, true].flatMap { isInterlaced in
                    (type < 4 ? [false, true] : [false]).map {
                        Kind(type: type, depth: depth, isInterlaced: isInterlaced, isTransparent: $0)
                    }
                }
            }
        }

        private func sample(_ x: Int, _ y: Int, _ channel: Int) -> Int {
            depth == 16 ? (x * 3_001 + y * 1_777 + channel * 9_973) % 65_536 : (x * 13 + y * 7 + channel * 29) % (1 << depth)
        }

        /// The nearest of 256.
        private func eight(_ value: Int) -> UInt8 {
            UInt8(depth == 16 ? (value * 255 + 32_767) / 65_535 : value * 255 / (1 << depth - 1))
        }

        func pixel(_ x: Int, _ y: Int) -> [UInt8] {
            let samples = (0..<channels).map { sample(x, y, $0) }
            if type == 3 {
                let index = samples[0]
                let isFading = isTransparent && index < 1 << depth / 2
                return [index * 7 % 256, index * 13 % 256, 255 - index, isFading ? index * 11 % 256 : 255].map { UInt8($0) }
            }
            let isHidden = isTransparent && samples == (0..<channels).map { sample(3, 2, $0) }
            let values = samples.map(eight)
            switch type {
            case 0: return [values[0], values[0], values[0], isHidden ? 0 : 255]
            case 2: return values + [isHidden ? 0 : 255]
            case 4: return [values[0], values[0], values[0], values[1]]
            default: return values
            }
        }
    }

    @Test(arguments: Kind.all) func eachPixelIsTheFiles(_ kind: Kind) throws {
        let image = try S.decode(try S.file(kind.name))
        #expect(image.width == S.width && image.height == S.height && !image.isPremultiplied)
        let difference = S.difference(image, S.pixels(S.width, S.height, kind.pixel))
        // Sixteen bits are rounded in one place or another.
        #expect(difference == 0, "\(kind.name): \(String(describing: difference))")
    }

    /// Boxes of 2 × 2 or more, colours by their alpha.
    @Test(arguments: Kind.all.filter { !$0.isInterlaced }) func smallerSizesAreMeans(_ kind: Kind) throws {
        let data = try S.file(kind.name)
        for (size, box) in [(9, 2), (8, 2), (6, 3), (3, 6), (2, 9), (1, 13)] {
            let image = try S.decode(data, size: PixelSize(width: size, height: 1))
            #expect(image.width == (S.width - 1) / box + 1 && image.height == (S.height - 1) / box + 1)
            let difference = S.difference(image, S.pixels(image.width, image.height) { mean(kind, $0, $1, box) })
            #expect(difference == 0, "\(kind.name) by \(box): \(String(describing: difference))")
        }
    }

    private func mean(_ kind: Kind, _ x: Int, _ y: Int, _ box: Int) -> [UInt8] {
        var (sums, count) = ([0, 0, 0, 0], 0)
        for row in y * box..<min(S.height, y * box + box) {
            for column in x * box..<min(S.width, x * box + box) {
                let pixel = kind.pixel(column, row).map { Int($0) }
                for channel in 0..<3 { sums[channel] += pixel[channel] * pixel[3] }
                (sums[3], count) = (sums[3] + pixel[3], count + 1)
            }
        }
        let alpha = sums[3]
        return sums.prefix(3).map { alpha == 0 ? 0 : UInt8(($0 + alpha / 2) / alpha) } + [UInt8((alpha + count / 2) / count)]
    }

    @Test func anInterlacedOneHasItsOwnSize() throws {
        let image = try S.decode(try S.file("png-6-8-i.png"), size: PixelSize(width: 2, height: 2))
        #expect(image.width == S.width)
    }

    /// The limit is on what is held, which is less for a picture that is wanted small.
    @Test func memoryIsThatOfTheResult() throws {
        let data = try PNGEncoder(level: 1).encode(try S.image(400, 300, S.alpha))
        var limits = ImageLimits.standard
        limits.decodedBytes = 40 * 30 * 4
        #expect(throws: ImageError.exceeds(.decodedBytes, actual: 480_000, most: 4_800)) { try S.decode(data, limits: limits) }
        #expect(try S.decode(data, size: PixelSize(width: 40, height: 30), limits: limits).width == 40)
    }

    @Test func anIconMayBeAPNG() throws {
        let data = try DecoderTests.fixture("png.ico")
        let image = try ICODecoder(png: PNGDecoder()).decode(data, header: try S.header(data), options: ImageDecodingOptions())
        #expect(S.difference(image, S.pixels(S.width, S.height, S.alpha)) == 0)
    }

    @Test func checksumsCount() throws {
        let data = try S.file("png-2-8.png")
        let text = S.png(data, inserting: S.chunk("tEXt", Array("Comment".utf8) + [0, 65]))
        #expect(try S.decode(text).width == S.width)
        for (file, name) in [(data, "IHDR"), (data, "IDAT"), (text, "tEXt"), (data, "IEND")] {
            var broken = file
            let place = try #require(file.firstRange(of: Data(name.utf8))).lowerBound
            let length = file[place - 4..<place].reduce(0) { $0 << 8 | Int($1) }
            broken[place + 4 + length] ^= 1
            let error = #expect(throws: ImageError.self, "\(name)") { try S.decode(broken) }
            guard case .damaged(.png, _) = error else {
                Issue.record("\(name): \(String(describing: error))")
                continue
            }
        }
    }

    /// Texts and profiles that inflate to 20 MB each, in a picture of 19 × 13: they are stepped over.
    @Test(arguments: ["zTXt", "iCCP", "iTXt"]) func chunksAreNotInflated(_ name: String) throws {
        let stream = S.inflating(80_000)
        let content = name == "iTXt" ? Array("a".utf8) + [0, 1, 0, 0, 0] + stream : Array("a".utf8) + [0, 0] + stream
        let chunk = S.chunk(name, content)
        let data = S.png(try S.file("png-2-8.png"), inserting: chunk + (name == "iCCP" ? [] : chunk + chunk + chunk))
        let seconds = try S.cpuTime {
            let image = try S.decode(data)
            #expect(image.width == S.width)
        }
        #expect(seconds < 0.2)
    }

    /// A chunk of more than the header may have is refused as it is.
    @Test func largeChunksAreRefused() throws {
        let data = S.png(try S.file("png-2-8.png"), inserting: S.chunk("iCCP", [UInt8](repeating: 1, count: 2 << 20)))
        let error = #expect(throws: ImageError.self) { try S.decode(data) }
        guard case .exceeds(.headerBytes, _, 1 << 20) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func bombsAreRefused() throws {
        let seconds = S.cpuTime {
            for size in [nil, PixelSize(width: 10, height: 10)] {
                #expect(throws: ImageError.exceeds(.pixels, actual: 900_000_000, most: 40_000_000)) {
                    try S.decode(ImageSamples.png(30_000, 30_000), size: size)
                }
            }
        }
        #expect(seconds < 0.1)
    }
}
#endif
