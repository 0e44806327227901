import CleanSlate
import Testing

@testable import ScopedNetImages

/// Sizes that fit, that fill, and buckets of sizes (pure).
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct PixelSizeScalingTests {
    @Test func fitAndFill() {
        let photo = PixelSize(4_000, 3_000)
        #expect(photo.scaled(toFit: PixelSize(256, 256)) == PixelSize(256, 192))
        #expect(photo.scaled(toFill: PixelSize(256, 256)) == PixelSize(341, 256))
        #expect(photo.scaled(toFit: PixelSize(8_000, 8_000)) == photo)
        #expect(photo.scaled(toFill: PixelSize(8_000, 8_000), upscales: true) == PixelSize(10_667, 8_000))
        #expect(PixelSize(10_000, 1).scaled(toFit: PixelSize(10, 10)) == PixelSize(10, 1))
        #expect(PixelSize(0, -3).scaled(toFit: PixelSize(0, 0)) == PixelSize(1, 1))
    }

    /// Whatever the numbers are: no overflow, at least one pixel, within the bounds or covering them.
    @Test func anyNumbers() {
        let numbers = [Int.min, -1, 0, 1, 2, 3, 1_000, 1 << 31, 1 << 40, Int.max / 2 + 1, Int.max - 1, Int.max]
        for width in numbers {
            for height in numbers {
                for bound in numbers {
                    for other in numbers {
                        let (size, bounds) = (PixelSize(width, height), PixelSize(bound, other))
                        let fit = size.scaled(toFit: bounds, upscales: true)
                        #expect(fit.width >= 1 && fit.height >= 1 && fit.width <= max(1, bound) && fit.height <= max(1, other))
                        let fill = size.scaled(toFill: bounds, upscales: true)
                        #expect(fill.width >= max(1, bound) && fill.height >= max(1, other))
                        let smaller = size.scaled(toFill: bounds)
                        #expect(smaller.width <= max(1, width) && smaller.height <= max(1, height))
                    }
                }
                _ = PixelSize(width, height).roundedUpToBucket()
            }
        }
    }

    @Test func bucketsArePowersOfTwo() {
        #expect(PixelSize(1, 33).roundedUpToBucket() == PixelSize(32, 64))
        #expect(PixelSize(256, 257).roundedUpToBucket() == PixelSize(256, 512))
        #expect(PixelSize(-4, 0).roundedUpToBucket(minimum: 0) == PixelSize(1, 1))
        #expect(PixelSize(1 << 62, 1 << 62 + 1).roundedUpToBucket() == PixelSize(1 << 62, .max))
        // A window that grows from 300 to 500 pixels asks for one picture.
        #expect(Set((300...500).map { PixelSize($0, $0 / 2 + 20).roundedUpToBucket() }).count == 2)
    }

    @Test func pointsBecomePixels() {
        #expect(PixelSize(points: 100, 33.4, scale: 1.5) == PixelSize(150, 51))
        for points in [Double.nan, .infinity, -Double.infinity, -3, 0, 1e300] {
            #expect(PixelSize(points: points, 1, scale: 1) == PixelSize(1, 1))
        }
    }

    @Test func decodersAreToldTheLeast() {
        let (stored, view) = (PixelSize(4_000, 3_000), PixelSize(300, 200))
        #expect(view.minimumDecodeSize(stored: stored) == PixelSize(267, 200))
        #expect(view.minimumDecodeSize(stored: stored, mode: .fill) == PixelSize(300, 225))
        #expect(view.minimumDecodeSize(stored: stored, mode: .exact) == view)
        // As stored: what is shown upright lies on its side in the file.
        #expect(view.minimumDecodeSize(stored: stored, orientation: .right) == PixelSize(200, 150))
        #expect(PixelSize(9_000, 9_000).minimumDecodeSize(stored: stored) == stored)
    }
}
