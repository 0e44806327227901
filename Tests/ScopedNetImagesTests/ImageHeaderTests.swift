import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// Formats and sizes, from first bytes alone.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct ImageHeaderTests {
    private func header(_ data: Data, isComplete: Bool = true, limits: ImageLimits = .standard) throws -> ImageHeader {
        switch try ImageHeader.read(data, isComplete: isComplete, limits: limits) {
        case .header(let header): return header
        case .needsMore(let count): throw ImageError.damaged(.bmp, "needs \(count)")
        }
    }

    /// Each format, and where it has several forms, each of them.
    private static let samples: [(name: String, data: Data, format: ImageFormat, width: Int, height: Int)] = [
        ("jpeg", ImageSamples.jpeg(4_000, 3_000), .jpeg, 4_000, 3_000),
        ("progressive jpeg", ImageSamples.jpeg(17, 9, orientation: 1, isProgressive: true), .jpeg, 17, 9),
        ("png", ImageSamples.png(1_600, 1_200), .png, 1_600, 1_200),
        ("gif", ImageSamples.gif(320, 200), .gif, 320, 200),
        ("lossy webp", ImageSamples.webP(lossy: 640, 480), .webP, 640, 480),
        ("lossless webp", ImageSamples.webP(lossless: 16_384, 1), .webP, 16_384, 1),
        ("extended webp", ImageSamples.webP(extended: 100_000, 70_000, isAnimated: true), .webP, 100_000, 70_000),
        ("bmp", ImageSamples.bmp(64, 32), .bmp, 64, 32),
        ("bmp from the top", ImageSamples.bmp(64, -32), .bmp, 64, 32),
        ("bmp of OS/2", ImageSamples.oldBMP(7, 5), .bmp, 7, 5),
        ("ico", ImageSamples.ico([16, 0, 32], last: ImageSamples.bitmap(256, 256)), .ico, 256, 256),
        ("ico of a wrong directory", ImageSamples.ico([32, 83], last: ImageSamples.bitmap(19, 13)), .ico, 19, 13),
        ("ico of png", ImageSamples.ico([16], last: [UInt8](ImageSamples.png(512, 500))), .ico, 512, 500),
        ("xbm", ImageSamples.xbm(16, 8), .xbm, 16, 8),
        ("tiff", ImageSamples.tiff(300, 200), .tiff, 300, 200),
        ("tiff of the other end", ImageSamples.tiff(300, 200, isBig: true), .tiff, 300, 200),
    ]

    @Test(arguments: samples.indices) func eachFormatTellsItsSize(_ index: Int) throws {
        let sample = Self.samples[index]
        let header = try header(sample.data)
        #expect(header.format == sample.format, "\(sample.name)")
        #expect(header.width == sample.width && header.height == sample.height, "\(sample.name): \(header)")
    }

    /// However little has come: either the right header, or a number of bytes that brings it nearer, and an error where no more will come.
    @Test(arguments: samples.indices) func itIsReadAsItArrives(_ index: Int) throws {
        let sample = Self.samples[index]
        let whole = try header(sample.data)
        for count in 0..<sample.data.count {
            let part = sample.data.prefix(count)
            switch try ImageHeader.read(Data(part)) {
            case .header(let early): #expect(early.width == whole.width && early.height == whole.height, "\(sample.name), \(count) bytes")
            case .needsMore(let more):
                #expect(more > count, "\(sample.name), \(count) bytes")
                #expect(throws: ImageError.self, "\(sample.name), \(count) bytes") { try header(Data(part)) }
            }
        }
        // A reader that does as it is told arrives.
        var (count, rounds) = (0, 0)
        while case .needsMore(let more) = try ImageHeader.read(sample.data.prefix(count)) {
            count = min(more, sample.data.count)
            rounds += 1
            try #require(rounds < 40, "\(sample.name)")
        }
    }

    /// A slice of a larger `Data` begins at an index of its own.
    @Test func aSliceIsReadFromItsStart() throws {
        let data = Data([1, 2, 3]) + ImageSamples.png(5, 6)
        #expect(try header(data.dropFirst(3)).width == 5)
    }

    @Test(arguments: ImageOrientation.allCases, [true, false]) func theOrientationIsThatOfEXIF(
        _ orientation: ImageOrientation, _ isBig: Bool
    ) throws {
        let header = try header(ImageSamples.jpeg(30, 20, orientation: orientation.rawValue, isBig: isBig))
        #expect(header.orientation == orientation)
        #expect((header.shownWidth, header.shownHeight) == (orientation.rawValue >= 5 ? (20, 30) : (30, 20)))
        let chunk = ImageSamples.chunk("eXIf", ImageSamples.exif(orientation.rawValue, isBig: isBig))
        #expect(try self.header(ImageSamples.png(30, 20, before: [chunk])).orientation == orientation)
    }

    /// A WebP has it behind its pixels, and a PNG may have: the complete file tells.
    @Test(arguments: ImageOrientation.allCases, [true, false]) func theOrientationMayStandBehindThePixels(
        _ orientation: ImageOrientation, _ isBig: Bool
    ) throws {
        let exif = ImageSamples.exif(orientation.rawValue, isBig: isBig)
        let files = [
            ImageSamples.png(30, 20) + Data(ImageSamples.chunk("eXIf", exif) + ImageSamples.chunk("IEND", [])),
            ImageSamples.webP(extended: 30, 20, isAnimated: false, exif: exif),
            ImageSamples.webP(extended: 30, 20, isAnimated: false, exif: Array("Exif\0\0".utf8) + exif),
        ]
        for file in files {
            guard case .header(let header) = try ImageHeader.read(file, isComplete: true) else { throw ImageError.unknownFormat }
            #expect(header.orientation == orientation)
            guard case .header(let early) = try ImageHeader.read(file) else { throw ImageError.unknownFormat }
            #expect(early.orientation == .up && early.width == 30)
        }
    }

    /// A picture with damaged EXIF is shown all the same.
    @Test func damagedEXIFIsNoReason() throws {
        for orientation in [0, 9, 65_535] {
            #expect(try header(ImageSamples.jpeg(3, 2, orientation: orientation)).orientation == .up)
        }
        var data = ImageSamples.jpeg(3, 2, orientation: 6)
        // The offset of its directory, far outside.
        let place = try #require(data.firstRange(of: Data("MM".utf8))).upperBound + 2
        data.replaceSubrange(place..<place + 4, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(try header(data) == header(ImageSamples.jpeg(3, 2)))
    }

    @Test func framesAreCountedWhereTheHeaderTells() throws {
        let animated = ImageSamples.chunk("acTL", ImageSamples.be32(24) + ImageSamples.be32(0))
        #expect(try header(ImageSamples.png(2, 2, before: [animated])).frameCount == 24)
        #expect(try header(ImageSamples.png(2, 2)).frameCount == 1)
        #expect(try header(ImageSamples.gif(2, 2)).frameCount == nil)
        #expect(try header(ImageSamples.webP(extended: 2, 2, isAnimated: true)).frameCount == nil)
        #expect(try header(ImageSamples.webP(extended: 2, 2, isAnimated: false)).frameCount == 1)
        #expect(try header(ImageSamples.ico([16, 32], last: ImageSamples.bitmap(32, 32))).frameCount == 2)
        #expect(try header(ImageSamples.jpeg(2, 2, isProgressive: true)).isProgressive)
    }

    // MARK: What is refused

    @Test func formatsKnownByNameAreRefusedByName() {
        let box: (String) -> Data = { Data([0, 0, 0, 24] + Array("ftyp\($0)".utf8) + [0, 0, 0, 0]) }
        let known: [(Data, ImageFormat)] = [
            (box("avif"), .avif), (box("heic"), .heic), (box("mif1"), .heic), (Data([0xFF, 0x0A, 0, 0]), .jpegXL),
            (Data("<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\">".utf8), .svg),
            (Data("<svg width=\"1\">".utf8), .svg),
        ]
        for (data, format) in known {
            #expect(throws: ImageError.unsupported(format)) { try ImageHeader.read(data, isComplete: true) }
        }
    }

    @Test func otherBytesAreOfNoFormat() {
        for text in [
            "", "x", "<!DOCTYPE html><html>", "{\"error\": 404}", "RIFF....WAVE....", "\u{0}\u{0}\u{0}\u{18}ftypisom....",
            String(repeating: "a", count: 5_000),
        ] {
            #expect(throws: ImageError.unknownFormat, "\(text.prefix(30))") { try ImageHeader.read(Data(text.utf8), isComplete: true) }
        }
    }

    @Test func aSideOfNothingIsDamage() {
        for data in [
            ImageSamples.jpeg(0, 5), ImageSamples.png(5, 0), ImageSamples.gif(0, 0), ImageSamples.webP(lossy: 0, 5),
            ImageSamples.bmp(-4, 4),
            ImageSamples.xbm(-1, 1), ImageSamples.tiff(0, 1), ImageSamples.ico([], last: []), ImageSamples.png(1 << 31, 1),
        ] {
            let error = #expect(throws: ImageError.self) { try ImageHeader.read(data, isComplete: true) }
            guard case .damaged = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }

    /// Bombs: a few bytes that stand for gigabytes.
    @Test func limitsAreJudgedByTheHeader() throws {
        let limits = ImageLimits.standard
        for data in [
            ImageSamples.png(30_000, 30_000), ImageSamples.gif(65_535, 65_535),
            ImageSamples.webP(extended: 1 << 24, 1 << 24, isAnimated: false),
            ImageSamples.ico([16], last: [UInt8](ImageSamples.png(30_000, 30_000))), ImageSamples.png(Int(Int32.max), Int(Int32.max)),
            ImageSamples.jpeg(65_500, 65_500), ImageSamples.bmp(Int(Int32.max), Int(Int32.min)), ImageSamples.tiff(65_535, Int(UInt32.max)),
        ] {
            let header = try header(data)
            let error = #expect(throws: ImageError.self) { try limits.check(header) }
            guard case .exceeds(.pixels, _, 40_000_000) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        try limits.check(try header(ImageSamples.jpeg(4_000, 3_000)))
        var small = limits
        small.decodedBytes = 1_000
        #expect(throws: ImageError.exceeds(.decodedBytes, actual: 48_000_000, most: 1_000)) {
            try small.check(try header(ImageSamples.jpeg(4_000, 3_000)))
        }
        // Decoded to a smaller size it fits.
        try small.check(try header(ImageSamples.jpeg(4_000, 3_000)), target: (10, 10))
        let frames = ImageSamples.chunk("acTL", ImageSamples.be32(501) + ImageSamples.be32(0))
        #expect(throws: ImageError.exceeds(.frames, actual: 501, most: 500)) {
            try limits.check(try header(ImageSamples.png(2, 2, before: [frames])))
        }
    }

    /// A header without an end costs no more than a mebibyte of it.
    @Test func headersEndSomewhere() {
        let endless = [
            Data([0xFF, 0xD8]) + Data(repeating: 0xFF, count: 3 << 20),
            Data([0xFF, 0xD8, 0xFF, 0xD0]) + Data(repeating: 0xFF, count: 3 << 20),
            ImageSamples.png(2, 2, before: [[UInt8]](repeating: ImageSamples.chunk("tEXt", []), count: 100_000)),
        ]
        for data in endless {
            let error = #expect(throws: ImageError.self) { try ImageHeader.read(data, isComplete: true) }
            guard case .exceeds(.headerBytes, _, 1 << 20) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        var limits = ImageLimits.standard
        limits.bodyBytes = 10
        #expect(throws: ImageError.exceeds(.bodyBytes, actual: 11, most: 10)) { try ImageHeader.read(Data(count: 11), limits: limits) }
    }

    /// Any bytes give a header, a number or an error.
    @Test func mutatedFilesDoNoHarm() {
        var random = SplitMix(state: 22)
        for sample in Self.samples {
            for _ in 0..<2_000 {
                var data = sample.data
                for _ in 0..<1 + Int(random.next() % 4) {
                    data[Int(random.next() % UInt64(data.count))] = UInt8(truncatingIfNeeded: random.next())
                }
                if random.next() % 4 == 0 { data = data.prefix(Int(random.next() % UInt64(data.count))) }
                guard case .header(let header) = try? ImageHeader.read(data, isComplete: random.next() % 2 == 0) else { continue }
                #expect(header.width > 0 && header.height > 0)
                try? ImageLimits.standard.check(header)
            }
        }
    }
}

/// The same numbers in each run (SplitMix64).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
