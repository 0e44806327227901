import CleanSlate
import Testing

@testable import ScopedNetImages

/// Resizing and cropping: sizes, colours, and the numbers of Pillow.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct ResizeTests {
    typealias Samples = ProcessingSamples

    private func resize(_ image: DecodedImage, _ width: Int, _ height: Int) throws -> DecodedImage {
        try ImageProcessors.Resize(PixelSize(width, height), mode: .exact, upscales: true).process(image)
    }

    @Test func theNumbersArePillows() throws {
        try Samples.expect(try resize(try Samples.image(37, 23, Samples.opaque), 12, 7), is: "shrink", within: 1)
        try Samples.expect(try resize(try Samples.image(37, 23, Samples.opaque), 50, 31), is: "enlarge", within: 1)
        try Samples.expect(try resize(try Samples.image(192, 144, Samples.smooth), 16, 12), is: "much", within: 1)
        // The averages before the filter change little.
        try Samples.expect(try resize(try Samples.image(200, 150, Samples.smooth), 16, 12), is: "much-whole", within: 3)
        let fill = ImageProcessors.CropToFill(PixelSize(12, 12))
        try Samples.expect(try fill.process(try Samples.image(200, 150, Samples.smooth)), is: "fill", within: 3)
    }

    /// Pillow multiplies by alpha in eight bits; so does the test.
    @Test func alphaIsPillows() throws {
        let straight = try resize(try Samples.image(37, 23, Samples.alpha), 12, 7)
        try Samples.expect(try Samples.premultiplied(straight), is: "alpha", within: 2)
        let premultiplied = try resize(try Samples.premultiplied(try Samples.image(37, 23, Samples.alpha)), 12, 7)
        #expect(premultiplied.isPremultiplied)
        try Samples.expect(premultiplied, is: "alpha", within: 1)
    }

    @Test func theMiddleIsCutOutExactly() throws {
        let image = try ImageProcessors.CropToFill(PixelSize(23, 23)).process(try Samples.image(37, 23, Samples.alpha))
        try Samples.expect(image, is: "crop")
        // A smaller picture is not enlarged: the largest part of the shape that is wanted.
        let small = try ImageProcessors.CropToFill(PixelSize(500, 500)).process(try Samples.image(37, 23, Samples.alpha))
        try Samples.expect(small, is: "crop")
    }

    @Test(arguments: [
        (37, 23, 100, 100), (37, 23, 12, 7), (37, 23, 1, 1), (1, 1, 1, 1), (1, 1, 9, 5), (300, 2, 10, 10), (2, 300, 1, 299),
        (700, 500, 31, 33),
        (1_300, 9, 1_299, 1), (640, 640, 3, 3),
    ]) func sizesAndColors(_ width: Int, _ height: Int, _ targetWidth: Int, _ targetHeight: Int) throws {
        let color: [UInt8] = [200, 100, 3, 255]
        for pixel in [color, [200, 100, 3, 9], [0, 0, 0, 0]] {
            let source = try Samples.image(width, height) { _, _ in pixel }
            let image = try resize(source, targetWidth, targetHeight)
            #expect(image.size == PixelSize(targetWidth, targetHeight))
            // A constant colour stays constant, whatever its alpha.
            let pixels = Set(stride(from: 0, to: image.byteCount, by: 4).map { Array(Samples.bytes(image)[$0..<$0 + 4]) })
            #expect(pixels == [pixel])
            let fill = try ImageProcessors.CropToFill(PixelSize(targetWidth, targetHeight), upscales: true).process(source)
            #expect(fill.size == PixelSize(targetWidth, targetHeight) && Samples.pixel(fill, 0, 0) == pixel)
        }
    }

    /// Any sizes and shapes: the size that is wanted, and colours between the least and the most of the source.
    @Test func randomSizes() throws {
        var random = SplitMix(state: 11)
        func side() -> Int { Int(random.next() % [2, 9, 70, 400][Int(random.next() % 4)]) + 1 }
        for _ in 0..<150 {
            let source = try Samples.image(side(), side()) { x, y in [UInt8(40 + (x * 7 + y * 3) % 100), 90, 200, y % 3 == 0 ? 255 : 7] }
            let size = PixelSize(side(), side())
            for processor in [.resize(to: size, mode: .exact, upscales: true), .cropToFill(size, upscales: true)] as [any ImageProcessing] {
                let image = try processor.process(source)
                #expect(image.size == size)
                let bytes = Samples.bytes(image)
                let isRight = stride(from: 0, to: bytes.count, by: 4).allSatisfy {
                    (39...140).contains(bytes[$0]) && bytes[$0 + 1] == 90 && bytes[$0 + 2] == 200 && bytes[$0 + 3] >= 7
                }
                #expect(isRight, "\(source.size) to \(processor.identifier)")
            }
        }
    }

    /// Red in view, green behind alpha 0: no green, at any ratio.
    @Test(arguments: [3, 10, 47, 130]) func transparentColorsDoNotBleed(_ side: Int) throws {
        let source = try Samples.image(101, 67) { x, y in (x / 3 + y / 2) % 2 == 0 ? [255, 0, 0, 255] : [0, 255, 0, 0] }
        let image = try resize(source, side, side)
        for place in stride(from: 0, to: image.byteCount, by: 4) {
            let pixel = Array(Samples.bytes(image)[place..<place + 4])
            #expect(pixel[1] == 0 && (pixel[0] == 255 || pixel[3] == 0))
        }
    }

    /// Rows that are opaque and rows that are not, in one average.
    @Test func opaqueAndOtherRowsMix() throws {
        let source = try Samples.image(60, 60) { _, y in y % 2 == 0 ? [100, 50, 20, 255] : [100, 50, 20, 55] }
        let image = try resize(source, 3, 3)
        #expect(Samples.pixel(image, 1, 1) == [100, 50, 20, 155])
    }

    /// The mean of all values is kept where each counts as much as any other.
    @Test func theMeanIsKept() throws {
        var random = SplitMix(state: 5)
        let noise = (0..<960 * 480).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let source = try Samples.image(960, 480) { x, y in [noise[y * 960 + x], noise[x * 480 + y], 128, 255] }
        let image = try resize(source, 60, 30)
        for channel in 0..<3 {
            func mean(_ image: DecodedImage) -> Double {
                let bytes = Samples.bytes(image)
                return stride(from: channel, to: bytes.count, by: 4).reduce(0) { $0 + Double(bytes[$1]) } / Double(bytes.count / 4)
            }
            #expect(abs(mean(image) - mean(source)) < 0.5)
        }
    }

    @Test func nothingIsDoneWhereNothingIsToDo() throws {
        let source = try Samples.image(37, 23, Samples.alpha)
        for processor in [.resize(to: PixelSize(37, 23)), .resize(to: PixelSize(90, 23)), .cropToFill(PixelSize(37, 23))]
            as [any ImageProcessing]
        {
            let image = try processor.process(source)
            #expect(image.withPixels { $0.baseAddress } == source.withPixels { $0.baseAddress })
        }
    }

    @Test func modes() throws {
        let source = try Samples.image(40, 20, Samples.opaque)
        func size(_ width: Int, _ height: Int, _ mode: ImageProcessors.Resize.Mode, upscales: Bool = false) throws -> PixelSize {
            try ImageProcessors.Resize(PixelSize(width, height), mode: mode, upscales: upscales).process(source).size
        }
        #expect(try size(10, 10, .fit) == PixelSize(10, 5))
        #expect(try size(10, 10, .fill) == PixelSize(20, 10))
        #expect(try size(10, 10, .exact) == PixelSize(10, 10))
        #expect(try size(80, 10, .exact) == PixelSize(40, 10))
        #expect(try size(80, 80, .fit) == PixelSize(40, 20))
        #expect(try size(80, 80, .fit, upscales: true) == PixelSize(80, 40))
        #expect(try size(80, 80, .fill, upscales: true) == PixelSize(160, 80))
        #expect(try size(0, -5, .fit) == PixelSize(1, 1))
    }

    /// Too large for the limits, or for any machine: an error, before anything is allocated.
    @Test func limitsAreJudgedFirst() throws {
        let source = try Samples.image(3, 2, Samples.opaque)
        for size in [PixelSize(.max, .max), PixelSize(30_000, 30_000), PixelSize(1, .max), PixelSize(.max, 1), PixelSize(40_000_001, 1)] {
            let error = #expect(throws: ImageError.self) {
                try ImageProcessors.Resize(size, mode: .exact, upscales: true).process(source)
            }
            guard case .exceeds = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(throws: ImageError.self) { try ImageProcessors.CropToFill(size, upscales: true).process(source) }
        }
        var limits = ImageLimits.standard
        limits.pixels = 20
        #expect(throws: ImageError.exceeds(.pixels, actual: 24, most: 20)) {
            try ImageProcessors.Resize(PixelSize(6, 4), upscales: true).process(source, limits: limits)
        }
    }

    /// Long thin pictures: more rows or columns than sixteen bits count.
    @Test func extremeShapes() throws {
        for (width, height) in [(100_000, 1), (1, 100_000)] {
            let source = try Samples.image(width, height) { x, y in (x + y) % 2 == 0 ? [255, 255, 255, 255] : [0, 0, 0, 255] }
            let image = try resize(source, 1, 1)
            #expect(Samples.pixel(image, 0, 0).allSatisfy { (126...129).contains($0) || $0 == 255 })
        }
    }
}
