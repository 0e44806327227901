import CleanSlate
import Testing

@testable import ScopedNetImages

/// Round corners, blur and tint.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct EffectTests {
    typealias Samples = ProcessingSamples

    // MARK: Corners

    /// Coverage by distance is that of an area, sampled 256 times, up to an eighth.
    @Test func cornersAreSmooth() throws {
        let white = try Samples.image(24, 16) { _, _ in [255, 255, 255, 255] }
        for (name, image) in [
            ("mask-6", try ImageProcessors.RoundedCorners(radius: 6).process(white)),
            ("mask-circle", try ImageProcessors.Chain([.circle]).process(try Samples.image(35, 21) { _, _ in [255, 255, 255, 255] })),
        ] {
            let wanted = try Samples.result(name)
            #expect(image.size == wanted.size)
            let alphas = stride(from: 3, to: image.byteCount, by: 4).map { Samples.bytes(image)[$0] }
            let worst = zip(alphas, wanted.bytes).map { abs(Int($0) - Int($1)) }.max() ?? 0
            #expect(worst <= 32, "\(name)")
        }
    }

    @Test(arguments: [false, true]) func cornersAreClearAndTheMiddleStays(_ isPremultiplied: Bool) throws {
        let source = try Samples.image(30, 20, isPremultiplied: isPremultiplied) { _, _ in [100, 60, 20, 200] }
        for radius in [0.5, 3, 9.9, 10, 1_000, Double.infinity] {
            let image = try ImageProcessors.RoundedCorners(radius: radius).process(source)
            #expect(image.size == source.size && Samples.pixel(image, 15, 10) == [100, 60, 20, 200])
            for (x, y) in [(0, 0), (29, 0), (0, 19), (29, 19)] {
                let pixel = Samples.pixel(image, x, y)
                #expect((pixel[3] < 200 || radius < 1) && (pixel[3] == 0 || isPremultiplied || pixel[0] == 100))
                #expect(pixel == Samples.pixel(image, 0, 0))
                #expect(!isPremultiplied || pixel.prefix(3).allSatisfy { $0 <= pixel[3] })
                #expect(radius < 3 || pixel == [0, 0, 0, 0])
            }
        }
        for radius in [0, -1, Double.nan, -Double.infinity] {
            #expect(Samples.bytes(try ImageProcessors.RoundedCorners(radius: radius).process(source)) == Samples.bytes(source))
        }
    }

    @Test func circlesOfAFewPixels() throws {
        for side in 1...4 {
            let image = try ImageProcessors.Chain([.circle]).process(try Samples.image(side, side + 3) { _, _ in [9, 9, 9, 255] })
            #expect(image.size == PixelSize(side, side))
            #expect(Samples.pixel(image, side / 2, side / 2)[3] > 200 - (side == 2 ? 60 : 0))
        }
    }

    // MARK: Blur

    @Test(arguments: ["0.4", "1", "3", "20"]) func blursArePillows(_ radius: String) throws {
        let blur = ImageProcessors.Blur(radius: try #require(Double(radius)))
        try Samples.expect(try blur.process(try Samples.image(37, 23, Samples.opaque)), is: "blur-\(radius)", within: 2)
    }

    @Test func alphaIsBlurred() throws {
        let straight = try ImageProcessors.Blur(radius: 3).process(try Samples.image(37, 23, Samples.alpha))
        try Samples.expect(try Samples.premultiplied(straight), is: "blur-alpha", within: 3)
        let premultiplied = try ImageProcessors.Blur(radius: 3).process(try Samples.premultiplied(try Samples.image(37, 23, Samples.alpha)))
        try Samples.expect(premultiplied, is: "blur-alpha", within: 2)
    }

    @Test(arguments: [0.1, 1, 2.5, 40, 1e9, Double.infinity]) func constantColorsStay(_ radius: Double) throws {
        for pixel: [UInt8] in [[200, 100, 3, 255], [200, 100, 3, 9], [1, 2, 3, 1], [0, 0, 0, 0]] {
            for (width, height) in [(1, 1), (7, 1), (1, 7), (50, 31)] {
                let source = try Samples.image(width, height) { _, _ in pixel }
                #expect(Samples.bytes(try ImageProcessors.Blur(radius: radius).process(source)) == Samples.bytes(source))
            }
        }
    }

    @Test func transparentColorsDoNotBleed() throws {
        let source = try Samples.image(40, 30) { x, _ in x < 20 ? [255, 0, 0, 255] : [0, 255, 0, 0] }
        let image = try ImageProcessors.Blur(radius: 4).process(source)
        for x in 0..<40 {
            let pixel = Samples.pixel(image, x, 15)
            #expect(pixel[1] == 0 && (pixel[0] == 255 || pixel[3] == 0))
        }
        // Half of the light at the edge.
        #expect((115...140).contains(Samples.pixel(image, 19, 15)[3]))
    }

    /// The time is that of the pixels, whatever the radius: also of as many lines of one pixel.
    @Test(.timeLimit(.minutes(1))) func aThinPictureTakesNoLonger() throws {
        for (width, height) in [(1, 50_000), (50_000, 1)] {
            let source = try Samples.image(width, height) { x, y in (x + y) % 2 == 0 ? [200, 0, 0, 255] : [0, 0, 0, 255] }
            let image = try ImageProcessors.Blur(radius: 1e9).process(source)
            #expect((98...102).contains(Samples.pixel(image, width / 2, height / 2)[0]))
        }
    }

    @Test func aLineThatTakesTooMuchIsRefused() throws {
        var limits = ImageLimits.standard
        limits.decodedBytes = 5_000
        let source = try Samples.image(1_000, 1, Samples.opaque)
        let error = #expect(throws: ImageError.self) { try ImageProcessors.Blur(radius: 1).process(source, limits: limits) }
        guard case .exceeds(.decodedBytes, _, 5_000) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    // MARK: Tint

    @Test func tintsArePillows() throws {
        let source = try Samples.image(37, 23, Samples.opaque)
        let color = PixelColor(200, 100, 50)
        try Samples.expect(try ImageProcessors.Tint(color, mode: .multiply).process(source), is: "tint-multiply", within: 1)
        try Samples.expect(try ImageProcessors.Tint(color, strength: 0.25).process(source), is: "tint-atop", within: 1)
        // Alpha of the colour is a part of the strength.
        let faint = ImageProcessors.Tint(PixelColor(200, 100, 50, 51), strength: 0.5)
        let same = ImageProcessors.Tint(color, strength: 0.1)
        #expect(Samples.bytes(try faint.process(source)) == Samples.bytes(try same.process(source)))
    }

    @Test(arguments: [ImageProcessors.Tint.Mode.multiply, .sourceAtop], [0.3, 1]) func alphaStays(
        _ mode: ImageProcessors.Tint.Mode, _ strength: Double
    ) throws {
        let tint = ImageProcessors.Tint(PixelColor(10, 200, 90), strength: strength, mode: mode)
        let straight = try Samples.image(40, 30, Samples.alpha)
        let image = try tint.process(straight)
        let premultiplied = try tint.process(try Samples.premultiplied(straight))
        for place in stride(from: 0, to: image.byteCount, by: 4) {
            let (pixel, other) = (Array(Samples.bytes(image)[place..<place + 4]), Array(Samples.bytes(premultiplied)[place..<place + 4]))
            #expect(pixel[3] == Samples.bytes(straight)[place + 3] && other[3] == pixel[3])
            for channel in 0..<3 {
                #expect(other[channel] <= other[3])
                #expect(abs(Int(other[channel]) - (Int(pixel[channel]) * Int(pixel[3]) + 127) / 255) <= 1)
            }
        }
    }

    @Test func aWholeTintIsTheColor() throws {
        let image = try ImageProcessors.Chain([.tint(PixelColor(1, 2, 3))]).process(try Samples.image(9, 9, Samples.alpha))
        #expect(Samples.pixel(image, 4, 4).prefix(3) == [1, 2, 3])
        let source = try Samples.image(9, 9, Samples.alpha)
        for strength in [0, -3, Double.nan] {
            let image = try ImageProcessors.Tint(.black, strength: strength).process(source)
            #expect(Samples.bytes(image) == Samples.bytes(source))
        }
    }
}
