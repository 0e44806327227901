#if Images
import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// JPEG, against the pixels that Pillow decodes.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct JPEGDecoderTests {
    typealias S = CodecSamples

    /// Baseline and progressive, grey, RGB, with restarts, and ink of three kinds.
    @Test(arguments: CodecSamples.jpegs) func eachPixelIsPillows(_ name: String) throws {
        let image = try S.decode(try S.file("\(name).jpg"))
        #expect(image.width == S.photo.width && image.height == S.photo.height && !image.isPremultiplied)
        let difference = try #require(S.difference(image, try S.file("\(name).rgba")))
        // Pillow rounds the product of ink and black in another way.
        #expect(difference <= (["cmyk", "ycck", "ink"].contains(name) ? 1 : 0), "\(name): \(difference)")
    }

    @Test func theOrientationIsNotApplied() throws {
        let data = try S.file("rotated.jpg")
        let header = try S.header(data)
        #expect(header.orientation == .right && header.shownWidth == S.photo.height)
        let image = try S.decode(data)
        #expect(image.width == S.photo.width)
        #expect(S.difference(image, try S.file("baseline.rgba")) == 0)
        // The size wanted is that of what is shown: 14 wide and 18 high.
        let part = try S.decode(data, size: PixelSize(width: 15, height: 19))
        #expect(part.width == 19 && part.height == 15)
    }

    @Test(arguments: [2, 4, 8]) func partsOfTheSizeArePillows(_ part: Int) throws {
        let size = PixelSize(width: (37 + part - 1) / part, height: (29 + part - 1) / part)
        let image = try S.decode(try S.file("baseline.jpg"), size: size)
        #expect(image.width == size.width && image.height == size.height)
        #expect(S.difference(image, try S.file("baseline-\(part).rgba")) == 0)
    }

    @Test func theFewestEighthsAreTaken() throws {
        let data = try S.file("progressive.jpg")
        for scale in 1...8 {
            let (width, height) = ((37 * scale + 7) / 8, (29 * scale + 7) / 8)
            let image = try S.decode(data, size: PixelSize(width: width, height: height))
            #expect(image.width == width && image.height == height)
            // A pixel more in one direction takes the next eighth.
            let more = try S.decode(data, size: PixelSize(width: width, height: min(29, height + 1)))
            #expect(more.height >= min(29, height + 1) && (scale == 8 || more.width > width))
        }
        for size in [PixelSize(width: 500, height: 1), PixelSize(width: .max, height: .max)] {
            #expect(try S.decode(data, size: size).width == 37)
        }
        for size in [PixelSize(width: 0, height: -4), PixelSize(width: .min, height: .min)] {
            #expect(try S.decode(data, size: size).width == 5)
        }
    }

    /// The mean colour stays, whatever the scale.
    @Test func eachScaleShowsTheSame() throws {
        func mean(_ image: DecodedImage, _ channel: Int) -> Double {
            image.withPixels { pixels in
                let values = stride(from: channel, to: pixels.count, by: 4).map { Double(pixels[$0]) }
                return values.reduce(0, +) / Double(values.count)
            }
        }
        let data = try S.file("scans.jpg")
        let whole = try S.decode(data)
        for scale in 1...7 {
            let image = try S.decode(data, size: PixelSize(width: 160 * scale / 8, height: 120 * scale / 8))
            #expect(image.width == 20 * scale && image.height == 15 * scale)
            for channel in 0..<4 { #expect(abs(mean(image, channel) - mean(whole, channel)) < 2) }
        }
        let eighth = try S.decode(data, size: PixelSize(width: 20, height: 15))
        #expect(S.difference(eighth, try S.file("scans8.rgba")) == 0)
    }

    @Test func otherHeadersAreRefused() throws {
        let data = try S.file("baseline.jpg")
        var header = try S.header(data)
        (header.width, header.height) = (header.height, header.width)
        #expect(throws: ImageError.damaged(.jpeg, "its size is not that of its header")) {
            try JPEGDecoder().decode(data, header: header, options: ImageDecodingOptions())
        }
        (header.width, header.height) = (1 << 33, 1)
        #expect(throws: ImageError.self) { try JPEGDecoder().decode(data, header: header, options: ImageDecodingOptions()) }
    }

    /// Libjpeg keeps the coefficients of all scans; a picture that is wanted small is no reason to allow it more.
    @Test func coefficientsAreBounded() throws {
        let data = try S.file("scans.jpg")
        var limits = ImageLimits.standard
        limits.decodedBytes = 20_000
        let error = #expect(throws: ImageError.self) { try S.decode(data, size: PixelSize(width: 20, height: 15), limits: limits) }
        guard case .exceeds(.decodedBytes, let actual, 20_000) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(actual > 20_000)
        limits.decodedBytes = 160 * 120 * 4
        #expect(try S.decode(data, size: PixelSize(width: 20, height: 15), limits: limits).width == 20)
    }

    @Test func scansAreLimited() throws {
        let bomb = try S.jpeg(try S.file("scans.jpg"), repeatingFirstScan: 600)
        #expect(throws: ImageError.exceeds(.scans, actual: 501, most: 500)) { try S.decode(bomb) }
        var limits = ImageLimits.standard
        limits.scans = 1_000
        #expect(try S.decode(bomb, limits: limits).width == 160)
        // Fewer than the file has from the start.
        limits.scans = 3
        #expect(throws: ImageError.exceeds(.scans, actual: 4, most: 3)) { try S.decode(try S.file("scans.jpg"), limits: limits) }
    }
}
#endif
