import CleanSlate
import Testing

@testable import ScopedNetImages

/// Processors as values: identifiers, chains, and pictures of all sizes.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct ImageProcessingTests {
    typealias Samples = ProcessingSamples

    private static let all: [any ImageProcessing] = [
        .resize(to: PixelSize(40, 30)), .resize(to: PixelSize(40, 30), mode: .fill), .resize(to: PixelSize(40, 30), upscales: true),
        .resize(to: PixelSize(4, 3), mode: .exact), .cropToFill(PixelSize(96, 96)), .cropToFill(PixelSize(96, 96), upscales: true),
        .rounded(radius: 3), .rounded(radius: 3.5), .circle, .blur(radius: 2), .blur(radius: 2.5), .tint(.white),
        .tint(.white, strength: 0.5), .tint(.white, mode: .multiply), .tint(PixelColor(255, 255, 255, 254)), .oriented(.left),
        .oriented(.down),
    ]

    @Test func aCallReadsWell() throws {
        let avatar = ImageProcessors.Chain([.cropToFill(PixelSize(96, 96)), .circle])
        let image = try avatar.process(try Samples.image(300, 200, Samples.opaque))
        #expect(image.size == PixelSize(96, 96) && image.scale == 2)
        #expect(Samples.pixel(image, 0, 0) == [0, 0, 0, 0] && Samples.pixel(image, 48, 48)[3] == 255)
    }

    @Test func identifiersDiffer() {
        #expect(Set(Self.all.map(\.identifier)).count == Self.all.count)
        #expect(ImageProcessors.Tint(PixelColor(1, 2, 171, 255)).identifier == "tint(sourceAtop,0102abff,1.0)")
    }

    /// Lists that join to the same text would share a picture.
    @Test func chainsDiffer() {
        struct Named: ImageProcessing {
            let identifier: String
            func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage { image }
        }
        func chain(_ names: String...) -> ImageProcessors.Chain { ImageProcessors.Chain(names.map { Named(identifier: $0) }) }
        let chains = [chain(), chain(""), chain("", ""), chain("a", "b"), chain("b", "a"), chain("a,1:b"), chain("ab"), chain("1:a")]
        #expect(Set(chains).count == chains.count && Set(chains.map(\.identifier)).count == chains.count)
        #expect(chain("a", "b") == chain("a", "b"))
        #expect(ImageProcessors.Chain([chain("a"), chain("b")]) != chain("a", "b"))
    }

    /// One pixel, one row, and nothing at all; straight and premultiplied.
    @Test(arguments: [(1, 1), (2, 1), (1, 2), (3, 3), (1, 40), (40, 1), (65, 33)]) func smallPicturesAreFine(_ width: Int, _ height: Int)
        throws
    {
        let straight = try Samples.image(width, height, Samples.alpha)
        for source in [straight, try Samples.premultiplied(straight)] {
            for processor in Self.all {
                let image = try processor.process(source)
                #expect(image.width >= 1 && image.height >= 1 && image.isPremultiplied == source.isPremultiplied, "\(processor)")
                #expect(Samples.bytes(image).count == image.width * image.height * 4)
            }
        }
        let empty = DecodedImage(width: 0, height: 0, buffer: try PixelBuffer(byteCount: 0) { _ in })
        for processor in Self.all { #expect(try processor.process(empty).width == 0) }
    }

    @Test func premultipliedColorsStayBelowAlpha() throws {
        let source = try Samples.premultiplied(try Samples.image(70, 50, Samples.alpha))
        for processor in Self.all {
            let bytes = Samples.bytes(try processor.process(source))
            let isValid = stride(from: 0, to: bytes.count, by: 4).allSatisfy { place in
                (0..<3).allSatisfy { bytes[place + $0] <= bytes[place + 3] }
            }
            #expect(isValid, "\(processor)")
        }
    }

    @Test func limitsHoldForEach() throws {
        let source = try Samples.image(70, 50, Samples.alpha)
        var limits = ImageLimits.standard
        limits.pixels = 4
        for processor in Self.all where processor.identifier != "resize(4x3,exact)" {
            let error = #expect(throws: ImageError.self, "\(processor)") { try processor.process(source, limits: limits) }
            guard case .exceeds(.pixels, _, 4) = error else {
                Issue.record("\(processor): \(String(describing: error))")
                continue
            }
        }
    }
}
