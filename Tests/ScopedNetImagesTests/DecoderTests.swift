import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// The decoders that are written in Swift, pixel by pixel, on files of Pillow (`Fixtures/make.py`) and on some written by hand.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct DecoderTests {
    typealias Pixel = [UInt8]

    static let (width, height) = (19, 13)

    private static func color(_ x: Int, _ y: Int) -> Pixel { [UInt8(x * 13 % 256), UInt8(y * 19 % 256), UInt8((x ^ y) * 8 % 256), 255] }
    private static func alpha(_ x: Int, _ y: Int) -> Pixel { Array(color(x, y).prefix(3)) + [UInt8(x * 14 % 256)] }
    private static func bit(_ x: Int, _ y: Int) -> Pixel { (x + y) % 3 == 0 ? [255, 255, 255, 255] : [0, 0, 0, 255] }
    private static func grey(_ x: Int, _ y: Int) -> Pixel { Array(repeating: UInt8((x * 13 + y) % 256), count: 3) + [255] }

    static func fixture(_ name: String) throws -> Data {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        return try Data(contentsOf: here.appending(path: "Fixtures/\(name)"))
    }

    static let decoders: [any ImageDecoding] = [BMPDecoder(), ICODecoder(), XBMDecoder(), GIFDecoder(), TIFFDecoder()]

    static func decode(_ data: Data, size: PixelSize? = nil, limits: ImageLimits = .standard) throws -> DecodedImage {
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true, limits: limits) else {
            throw ImageError.unknownFormat
        }
        guard let decoder = decoders.first(where: { $0.formats.contains(header.format) }) else {
            throw ImageError.unsupported(header.format)
        }
        return try decoder.decode(data, header: header, options: ImageDecodingOptions(size: size, limits: limits))
    }

    private func expect(
        _ image: DecodedImage, _ name: String, size: (Int, Int) = (width, height), location: SourceLocation = #_sourceLocation,
        _ wanted: (Int, Int) -> Pixel
    ) {
        let (width, height) = size
        guard image.width == width, image.height == height else {
            Issue.record("\(name): \(image.width) × \(image.height)", sourceLocation: location)
            return
        }
        let pixels = image.withPixels { Array($0) }
        for y in 0..<height {
            for x in 0..<width {
                let place = (y * width + x) * 4
                let pixel = Array(pixels[place..<place + 4])
                if pixel != wanted(x, y) {
                    Issue.record("\(name): \(pixel) at \(x), \(y), not \(wanted(x, y))", sourceLocation: location)
                    return
                }
            }
        }
    }

    @Test func eachPixelIsTheFiles() throws {
        for name in ["rgb.bmp", "palette.bmp", "palette.gif", "interlaced.gif", "rgb.tif", "packed.tif", "palette.tif"] {
            expect(try Self.decode(try Self.fixture(name)), name, Self.color)
        }
        for name in ["bits.bmp", "bits.tif"] { expect(try Self.decode(try Self.fixture(name)), name, Self.bit) }
        // The bits that are set in an XBM are black; Pillow sets those of white.
        expect(try Self.decode(try Self.fixture("bits.xbm")), "bits.xbm") { x, y in
            (x + y) % 3 == 0 ? [0, 0, 0, 255] : [255, 255, 255, 255]
        }
        expect(try Self.decode(try Self.fixture("alpha.ico")), "alpha.ico", Self.alpha)
        // Without a mask for it the fourth byte of a bitmap is nothing that is shown.
        expect(try Self.decode(try Self.fixture("alpha.bmp")), "alpha.bmp", Self.color)
        expect(try Self.decode(try Self.fixture("grey.tif")), "grey.tif", Self.grey)
        // The fourth sample of the baseline is nothing that is shown.
        expect(try Self.decode(try Self.fixture("alpha.tif")), "alpha.tif", Self.color)
    }

    // MARK: Animations

    private func walk(_ frame: Int) -> (Int, Int) -> Pixel { { x, y in square(frame, x, y) } }

    private func square(_ frame: Int, _ x: Int, _ y: Int) -> Pixel {
        (frame * 3..<frame * 3 + 4).contains(x) && (frame * 2..<frame * 2 + 4).contains(y) ? [0, 0, 0, 255] : Self.color(x, y)
    }

    /// The second frame is taken away before the third is drawn.
    @Test func aFrameMayLeaveWhatWasBefore() throws {
        func frame(_ flags: UInt8, _ left: UInt8, _ width: UInt8, _ codes: [UInt8]) -> [UInt8] {
            [0x21, 0xF9, 4, flags << 2, 0, 0, 0, 0, 0x2C, left, 0, 0, 0, width, 0, 1, 0, 0, 2, UInt8(codes.count)] + codes + [0]
        }
        let palette: [UInt8] = [10, 20, 30, 40, 50, 60]
        let frames = frame(1, 0, 2, [0x04, 0x0A]) + frame(3, 0, 1, [0x4C, 0x01]) + frame(1, 1, 1, [0x4C, 0x01])
        let animation = try AnimatedImage(Data(Array("GIF89a".utf8) + [2, 0, 1, 0, 0x80, 0, 0] + palette + frames + [0x3B]))
        let colors: [Pixel] = [[10, 20, 30, 255], [40, 50, 60, 255]]
        for (index, wanted) in [[0, 0], [1, 0], [0, 1]].enumerated() {
            expect(try animation.frame(at: index), "frame \(index)", size: (2, 1)) { x, _ in colors[wanted[x]] }
        }
    }

    /// In any order.
    @Test(arguments: [[0, 1, 2, 3, 4], [4, 0, 3, 1, 2], [2, 2, 4, 4, 1]]) func framesAreMadeOnDemand(_ order: [Int]) throws {
        let animation = try AnimatedImage(try Self.fixture("walk.gif"))
        #expect(animation.frameCount == 5 && animation.heldBytes == 0)
        #expect(animation.durations == [100, 100, 250, 40, 50].map { .milliseconds($0) })
        #expect(animation.loopCount == 4)
        for index in order { expect(try animation.frame(at: index), "frame \(index)", walk(index)) }
        #expect(animation.heldBytes == Set(order).count * Self.width * Self.height * 4)
        for index in [-1, 5] { #expect(throws: ImageError.self) { try animation.frame(at: index) } }
        expect(try Self.decode(try Self.fixture("walk.gif")), "the first frame", walk(0))
    }

    /// SDWebImage 548, 3515: all frames of an animation were held. No more are than its window may take.
    @Test func framesStayInTheirWindow() throws {
        let bytes = Self.width * Self.height * 4
        let animation = try AnimatedImage(try Self.fixture("walk.gif"), windowBytes: 2 * bytes)
        for round in 0..<3 {
            for index in 0..<5 {
                expect(try animation.frame(at: index), "frame \(index) of round \(round)", walk(index))
                #expect(animation.heldBytes <= 2 * bytes)
            }
        }
    }

    /// SDWebImage 2004, 2377: each animation that was shown stayed in memory. It goes with its last reference, and one that nobody plays holds no frame.
    @Test func animationsGoWithTheirLastReference() throws {
        weak var gone: AnimatedImage?
        for _ in 0..<50 {
            let animation = try AnimatedImage(try Self.fixture("walk.gif"))
            #expect(gone == nil && animation.heldBytes == 0)
            for index in 0..<animation.frameCount { _ = try animation.frame(at: index) }
            gone = animation
        }
        #expect(gone == nil)
    }

    @Test func framesAreSharedByThreads() async throws {
        let animation = try AnimatedImage(try Self.fixture("walk.gif"), windowBytes: 3_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for step in 0..<40 {
                        let index = (task * 3 + step * 2) % 5
                        self.expect(try animation.frame(at: index), "frame \(index)", self.walk(index))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: By hand

    private func bmp(_ bits: Int, _ compression: Int, _ width: Int, _ height: Int, table: [UInt8], pixels: [UInt8]) -> Data {
        let s = ImageSamples.self
        let head = Array("BM".utf8) + s.le32(0) + s.le32(0) + s.le32(54 + table.count)
        let info =
            s.le32(40) + s.le32(width) + s.le32(height) + [1, 0] + s.le16(bits) + s.le32(compression) + [UInt8](repeating: 0, count: 20)
        return Data(head + info + table + pixels)
    }

    private let palette: [UInt8] = [0, 0, 0, 0, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 0]  // black, red, green, blue

    @Test func runsOfBMPs() throws {
        let colors: [Pixel] = [[0, 0, 0, 255], [255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255], [0, 0, 0, 0]]
        func table(_ count: Int) -> [UInt8] { palette + [UInt8](repeating: 9, count: count * 4 - palette.count) }
        // From below: a run and a stretch with its filling byte; a step to the right; one that goes on behind its row.
        let eight = bmp(8, 1, 4, 3, table: table(256), pixels: [1, 1, 0, 3, 2, 3, 0, 9, 0, 0, 0, 2, 2, 0, 2, 3, 0, 0, 9, 2, 0, 1])
        let wanted = [[2, 2, 2, 2], [4, 4, 3, 3], [1, 2, 3, 0]]
        expect(try Self.decode(eight), "8 bits", size: (4, 3)) { x, y in colors[wanted[y][x]] }
        let four = bmp(4, 2, 5, 2, table: table(16), pixels: [3, 0x12, 0, 0, 0, 5, 0x31, 0x20, 0x10, 0, 0, 1])
        let other = [[3, 1, 2, 0, 1], [1, 2, 1, 4, 4]]
        expect(try Self.decode(four), "4 bits", size: (5, 2)) { x, y in colors[other[y][x]] }
        // Cut short, and a colour that is not there.
        #expect(throws: ImageError.self) { try Self.decode(eight.dropLast(4)) }
        #expect(throws: ImageError.self) { try Self.decode(bmp(8, 1, 4, 3, table: table(4), pixels: [1, 200, 0, 1])) }
    }

    @Test func sixteenBitsAndMasks() throws {
        let five = bmp(16, 0, 2, 1, table: [], pixels: [0x1F, 0x7C, 0xE0, 0x03])
        expect(try Self.decode(five), "5 bits each", size: (2, 1)) { x, _ in x == 0 ? [255, 0, 255, 255] : [0, 255, 0, 255] }
        let s = ImageSamples.self
        let six = bmp(16, 3, 2, 1, table: s.le32(0xF800) + s.le32(0x07E0) + s.le32(0x001F), pixels: [0x00, 0xF8, 0xE0, 0x07])
        expect(try Self.decode(six), "565", size: (2, 1)) { x, _ in x == 0 ? [255, 0, 0, 255] : [0, 255, 0, 255] }
        #expect(throws: ImageError.self) { try Self.decode(bmp(24, 0, 2, 2, table: [], pixels: [1, 2, 3])) }
    }

    /// A mask of one bit hides what is around an icon.
    @Test func iconsWithAMask() throws {
        let s = ImageSamples.self
        let info = s.bitmap(2, 2, bits: 24)
        let pixels: [UInt8] = [1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0]
        let mask: [UInt8] = [0x80, 0, 0, 0, 0x40, 0, 0, 0]
        let image = try Self.decode(s.ico([2], last: info + pixels + mask))
        let wanted: [[Pixel]] = [[[9, 8, 7, 255], [12, 11, 10, 0]], [[3, 2, 1, 0], [6, 5, 4, 255]]]
        expect(image, "icon", size: (2, 2)) { x, y in wanted[y][x] }
        // A PNG inside is for another decoder.
        #expect(throws: ImageError.unsupported(.png)) { try Self.decode(try Self.fixture("png.ico")) }
    }

    @Test func theIconThatFitsIsTaken() throws {
        let s = ImageSamples.self
        func bitmap(_ side: Int, _ value: UInt8) -> [UInt8] {
            s.bitmap(side, side) + [UInt8](repeating: value, count: side * side * 4 + side * 4)
        }
        let parts = [bitmap(4, 10), bitmap(8, 20), bitmap(16, 30)]
        var (directory, content, offset) = ([UInt8](), [UInt8](), 6 + 48)
        for (side, part) in zip([4, 8, 16], parts) {
            directory += [UInt8(side), UInt8(side), 0, 0, 1, 0, 32, 0] + s.le32(part.count) + s.le32(offset)
            (content, offset) = (content + part, offset + part.count)
        }
        let data = Data([0, 0, 1, 0, 3, 0] + directory + content)
        for (size, width) in [
            (nil, 16), (PixelSize(width: 3, height: 4), 4), (PixelSize(width: 5, height: 5), 8), (PixelSize(width: 99, height: 1), 16),
        ] {
            #expect(try Self.decode(data, size: size).width == width)
        }
        // The largest one is the picture: a file without its end has none, but for the smaller ones that are there.
        let cut = data.dropLast(4)
        #expect(throws: ImageError.self) { try Self.decode(cut) }
        #expect(try Self.decode(cut, size: PixelSize(width: 5, height: 5)).width == 8)
    }

    /// The directory says other sides than the picture: the picture has those that its header tells, and none of the smaller ones is larger.
    @Test func anIconHasTheSidesOfItsBitmap() throws {
        let s = ImageSamples.self
        func bitmap(_ width: Int, _ height: Int) -> [UInt8] { s.bitmap(width, height) + [UInt8](repeating: 9, count: width * height * 4) }
        let image = try Self.decode(s.ico([83], last: bitmap(19, 13)))
        #expect(image.width == 19 && image.height == 13)
        let (large, small) = (bitmap(8, 8), bitmap(9, 7))
        var directory = [UInt8]()
        for (side, count, start) in [(8, large.count, 38), (4, small.count, 38 + large.count)] {
            directory += [UInt8(side), UInt8(side), 0, 0, 1, 0, 32, 0] + s.le32(count) + s.le32(start)
        }
        let data = Data([0, 0, 1, 0, 2, 0] + directory + large + small)
        #expect(try Self.decode(data).width == 8)
        #expect(throws: ImageError.self) { try Self.decode(data, size: PixelSize(width: 4, height: 4)) }
    }

    /// Pictures of other shapes than the largest one are no damage.
    @Test func anIconMayHavePicturesOfSeveralShapes() throws {
        let s = ImageSamples.self
        func bitmap(_ width: Int, _ height: Int) -> [UInt8] {
            s.bitmap(width, height) + [UInt8](repeating: 9, count: width * height * 4 + height * ((width + 31) / 32 * 4))
        }
        let (wide, high) = (bitmap(64, 16), bitmap(16, 48))
        var directory = [UInt8]()
        for (sides, count, start) in [((64, 16), wide.count, 38), ((16, 48), high.count, 38 + wide.count)] {
            directory += [UInt8(sides.0), UInt8(sides.1), 0, 0, 1, 0, 32, 0] + s.le32(count) + s.le32(start)
        }
        let data = Data([0, 0, 1, 0, 2, 0] + directory + wide + high)
        for size in [nil, PixelSize(width: 16, height: 16), PixelSize(width: 16, height: 40)] {
            #expect(try Self.decode(data, size: size).width == 64)
        }
        // A directory that says 83 of a picture of 19 × 13, and the truth of the one beside it.
        let (small, other) = (bitmap(19, 13), bitmap(32, 32))
        directory = []
        for (side, count, start) in [(83, small.count, 38), (32, other.count, 38 + small.count)] {
            directory += [UInt8(side), UInt8(side), 0, 0, 1, 0, 32, 0] + s.le32(count) + s.le32(start)
        }
        let overstated = Data([0, 0, 1, 0, 2, 0] + directory + small + other)
        for size in [nil, PixelSize(width: 4, height: 4)] { #expect(try Self.decode(overstated, size: size).width == 19) }
    }

    /// A directory that says the width twice: one of the two counts, for the header and for the pixels.
    @Test func aTIFFHasTheSidesOfItsHeader() throws {
        let s = ImageSamples.self
        let entries: [(Int, Int)] = [(256, 2), (257, 1), (258, 8), (259, 1), (262, 1), (273, 98), (256, 3)]
        let directory = entries.flatMap { s.le16($0.0) + s.le16(4) + s.le32(1) + s.le32($0.1) }
        let data = Data(Array("II".utf8) + s.le16(42) + s.le32(8) + s.le16(entries.count) + directory + s.le32(0) + [1, 2, 3, 4])
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true) else { throw ImageError.unknownFormat }
        let image = try Self.decode(data)
        #expect(image.width == header.width && image.height == header.height && image.byteCount == header.width * 4)
    }

    // MARK: Hostile files

    /// Files of a few bytes that ask for much: refused before anything is made.
    @Test func bombsAreRefused() throws {
        let s = ImageSamples.self
        for data in [s.gif(65_535, 65_535) + Data([0]), s.bmp(30_000, 30_000), s.tiff(65_535, 65_535), s.xbm(30_000, 30_000)] {
            let error = #expect(throws: ImageError.self) { try Self.decode(data) }
            guard case .exceeds(.pixels, _, _) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        // 600 frames of one pixel.
        let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
        let frames = Data(
            Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255] + Array(repeatElement(frame, count: 600).joined()) + [
                0x3B
            ])
        #expect(throws: ImageError.exceeds(.frames, actual: 501, most: 500)) { try AnimatedImage(frames) }
        let first = try Self.decode(frames)
        #expect(first.width == 1)
        // 100,000 comments, and a frame that is larger than its screen by far.
        let comments = Data(
            Array("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0] + Array(repeatElement([0x21, 0xFE, 0] as [UInt8], count: 100_000).joined()))
        #expect(throws: ImageError.self) { try Self.decode(comments) }
        let wide = Data(
            Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 1, 1, 1, 0x2C, 0, 0, 0, 0, 255, 255, 255, 255, 0, 2, 1, 0x44, 0])
        #expect(throws: ImageError.self) { try Self.decode(wide) }
    }

    /// Whatever is changed or cut off: a picture of the size that the header says, or an error.
    @Test(arguments: [
        "rgb.bmp", "palette.bmp", "bits.bmp", "alpha.ico", "bits.xbm", "palette.gif", "walk.gif", "packed.tif", "palette.tif", "rgb.tif",
    ])
    func mutatedFilesDoNoHarm(_ name: String) throws {
        var random = SplitMix(state: UInt64(name.utf8.reduce(7) { $0 &* 31 &+ Int($1) } & 0xFFFF))
        let whole = try Self.fixture(name)
        var limits = ImageLimits.standard
        limits.pixels = 100_000
        for _ in 0..<500 {
            var data = whole
            for _ in 0..<1 + Int(random.next() % 6) {
                data[Int(random.next() % UInt64(data.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.next() % 4 == 0 { data = Data(data.prefix(Int(random.next() % UInt64(data.count)))) }
            do {
                let image = try Self.decode(data, limits: limits)
                #expect(image.width * image.height <= limits.pixels)
                if let animation = try? AnimatedImage(data, limits: limits) { _ = try? animation.frame(at: animation.frameCount - 1) }
            } catch let error as ImageError {
                #expect(!error.description.isEmpty)
            }
        }
    }
}
