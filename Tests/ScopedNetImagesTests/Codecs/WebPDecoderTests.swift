#if Images
import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// WebP, still and animated, against patterns and the pixels that Pillow decodes.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct WebPDecoderTests {
    typealias S = CodecSamples

    @Test func eachPixelIsTheFiles() throws {
        for name in ["lossy", "lossy-alpha"] {
            #expect(S.difference(try S.decode(try S.file("\(name).webp")), try S.file("\(name).rgba")) == 0, "\(name)")
        }
        #expect(S.difference(try S.decode(try S.file("lossless.webp")), S.pixels(S.width, S.height, S.color)) == 0)
        #expect(S.difference(try S.decode(try S.file("lossless-alpha.webp")), S.pixels(S.width, S.height, S.alpha)) == 0)
    }

    @Test(arguments: ["lossy", "lossy-alpha"]) func theSmallestSizeThatCoversIsTaken(_ name: String) throws {
        let data = try S.file("\(name).webp")
        let sizes = [(10, 5, 10, 8), (5, 10, 13, 10), (37, 1, 37, 29), (99, 99, 37, 29), (0, -1, 2, 1), (1, 29, 37, 29)]
        for (width, height, wide, high) in sizes {
            let image = try S.decode(data, size: PixelSize(width: width, height: height))
            #expect(image.width == wide && image.height == high, "\(width) × \(height): \(image.width) × \(image.height)")
        }
    }

    @Test func largeOnesAreRefused() throws {
        for data in [
            ImageSamples.webP(lossy: 16_383, 16_383), ImageSamples.webP(lossless: 16_384, 16_384),
            ImageSamples.webP(extended: 16_383, 16_383, isAnimated: true), ImageSamples.webP(extended: 1 << 24, 1 << 24, isAnimated: false),
        ] {
            for size in [nil, PixelSize(width: 10, height: 10)] {
                let error = #expect(throws: ImageError.self) { try S.decode(data, size: size) }
                guard case .exceeds(.pixels, _, 40_000_000) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            }
        }
    }

    /// Lossless pixels are all held, however small the picture is wanted.
    @Test func memoryIsJudgedByTheKind() throws {
        let image = try S.image(200, 100, S.color)
        var limits = ImageLimits.standard
        limits.decodedBytes = 20 * 10 * 4
        let size = PixelSize(width: 20, height: 10)
        let (lossless, lossy) = (try WebPEncoder(isLossless: true).encode(image), try WebPEncoder().encode(image))
        #expect(throws: ImageError.exceeds(.decodedBytes, actual: 80_000, most: 800)) { try S.decode(lossless, size: size, limits: limits) }
        #expect(try S.decode(lossy, size: size, limits: limits).width == 20)
    }

    // MARK: Animations

    private func frame(_ index: Int) throws -> Data {
        let (all, count) = (try S.file("animated.rgba"), S.width * S.height * 4)
        return Data(all[index * count..<(index + 1) * count])
    }

    @Test func theFirstFrameIsThePicture() throws {
        #expect(S.difference(try S.decode(try S.file("animated.webp")), try frame(0)) == 0)
    }

    /// In any order.
    @Test(arguments: [[0, 1, 2, 3, 4], [4, 0, 3, 1, 2], [2, 2, 4, 4, 1]]) func framesAreMadeOnDemand(_ order: [Int]) throws {
        let animation = try AnimatedImage(try S.file("animated.webp"))
        #expect(animation.width == S.width && animation.height == S.height)
        #expect(animation.frameCount == 5 && animation.heldBytes == 0 && animation.loopCount == 3)
        #expect(animation.durations == [100, 100, 250, 40, 50].map { .milliseconds($0) })
        for index in order { #expect(S.difference(try animation.frame(at: index), try frame(index)) == 0, "frame \(index)") }
        #expect(animation.heldBytes == Set(order).count * S.width * S.height * 4)
        for index in [-1, 5] { #expect(throws: ImageError.damaged(.webP, "no frame \(index)")) { try animation.frame(at: index) } }
    }

    @Test func framesAreSharedByThreads() async throws {
        let animation = try AnimatedImage(try S.file("animated.webp"), windowBytes: 3_000)
        let frames = try (0..<5).map { try frame($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for step in 0..<40 {
                        let index = (task * 3 + step * 2) % 5
                        let image = try animation.frame(at: index)
                        #expect(S.difference(image, frames[index]) == 0, "frame \(index)")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(animation.heldBytes <= 3_000)
    }

    @Test func framesAreLimited() throws {
        let data = try S.file("animated.webp")
        let start = try #require(data.firstRange(of: Data("ANMF".utf8))).lowerBound
        let length = data[start + 4..<start + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
        let frame = data[start..<start + 8 + length + length % 2]
        var many = Data(data[..<start]) + Data(repeatElement(frame, count: 501).joined())
        many.replaceSubrange(4..<8, with: ImageSamples.le32(many.count - 8))
        #expect(throws: ImageError.exceeds(.frames, actual: 501, most: 500)) { try AnimatedImage(many) }
        var limits = ImageLimits.standard
        limits.frames = 501
        let animation = try AnimatedImage(many, limits: limits)
        #expect(S.difference(try animation.frame(at: 500), try self.frame(0)) == 0)
        // Two surfaces and the frame.
        limits.decodedBytes = S.width * S.height * 12 - 1
        #expect(throws: ImageError.self) { try AnimatedImage(data, limits: limits) }
        limits.decodedBytes += 1
        #expect(try AnimatedImage(data, limits: limits).frameCount == 5)
    }

    /// A still one has one frame, by another type.
    @Test func stillsAreNoAnimation() throws {
        for name in ["lossy.webp", "lossless.webp", "lossy-alpha.webp"] {
            let error = #expect(throws: ImageError.self) { try AnimatedImage(try S.file(name)) }
            #expect(error == .damaged(.webP, "no frame"))
        }
        #expect(throws: ImageError.unsupported(.png)) { try AnimatedImage(try S.file("png-2-8.png")) }
    }
}
#endif
