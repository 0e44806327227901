import CleanSlate
import Testing

@testable import ScopedNetImages

/// All orientations of EXIF, against `ImageOps.exif_transpose` of Pillow.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct OrientationTransformTests {
    typealias Samples = ProcessingSamples

    @Test(arguments: ImageOrientation.allCases) func eachOrientationIsPillows(_ orientation: ImageOrientation) throws {
        let image = try OrientationTransform(orientation).process(try Samples.image(5, 3, Samples.alpha))
        try Samples.expect(image, is: "orientation-\(orientation.rawValue)")
        #expect(image.scale == 2 && !image.isPremultiplied)
    }

    /// Larger than a block, with a rest on both sides; and the thinnest ones.
    @Test(
        arguments: ImageOrientation.allCases, [PixelSize(70, 45), PixelSize(64, 32), PixelSize(1, 99), PixelSize(99, 1), PixelSize(1, 1)])
    func blocksJoin(_ orientation: ImageOrientation, _ size: PixelSize) throws {
        let source = try Samples.image(size.width, size.height, Samples.alpha)
        let image = try OrientationTransform(orientation).process(source)
        let (width, height) = (size.width, size.height)
        #expect(image.size == (orientation.swapsSides ? PixelSize(height, width) : size))
        for y in 0..<image.height {
            for x in 0..<image.width {
                let (column, row) =
                    switch orientation {
                    case .up: (x, y)
                    case .upMirrored: (width - 1 - x, y)
                    case .down: (width - 1 - x, height - 1 - y)
                    case .downMirrored: (x, height - 1 - y)
                    case .leftMirrored: (y, x)
                    case .right: (y, height - 1 - x)
                    case .rightMirrored: (width - 1 - y, height - 1 - x)
                    case .left: (width - 1 - y, x)
                    }
                if Samples.pixel(image, x, y) != Samples.pixel(source, column, row) {
                    Issue.record("\(orientation): \(x), \(y)")
                    return
                }
            }
        }
    }

    /// Turned there and back.
    @Test func oppositesCancel() throws {
        let source = try Samples.image(40, 33, Samples.alpha)
        for (there, back) in [(ImageOrientation.right, ImageOrientation.left), (.down, .down), (.rightMirrored, .rightMirrored)] {
            let image = try ImageProcessors.Chain([.oriented(there), .oriented(back)]).process(source)
            #expect(Samples.bytes(image) == Samples.bytes(source))
        }
    }
}
