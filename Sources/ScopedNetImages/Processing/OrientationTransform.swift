/// Turns and mirrors a picture as stored into the one that is shown (EXIF 2.32, tag 0x0112).
public struct OrientationTransform: ImageProcessing {
    /// The orientation of the picture as stored.
    public let orientation: ImageOrientation

    /// Makes the transform.
    ///
    /// - Parameter orientation: the orientation of the header (``ImageHeader/orientation``).
    public init(_ orientation: ImageOrientation) { self.orientation = orientation }

    /// The operation and the number of the orientation.
    public var identifier: String { "orientation(\(orientation.rawValue))" }

    /// Makes the picture as shown; see ``ImageProcessing/process(_:limits:)``.
    public func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage {
        guard orientation != .up, !image.size.isEmpty else { return image }
        let size = orientation.swapsSides ? PixelSize(image.height, image.width) : image.size
        let steps = Steps(orientation, image.width, image.height)
        return try image.makeImage(size, limits) { source, result in
            steps.copy(
                source.assumingMemoryBound(to: UInt32.self), result.assumingMemoryBound(to: UInt32.self), size)
        }
    }

    /// The place in the source of each pixel of the result: `start + x * right + y * down`, counted in pixels.
    private struct Steps {
        let start: Int
        let right: Int
        let down: Int

        init(_ orientation: ImageOrientation, _ width: Int, _ height: Int) {
            let (lastColumn, lastRow) = (width - 1, (height - 1) * width)
            (start, right, down) =
                switch orientation {
                case .up: (0, 1, width)
                case .upMirrored: (lastColumn, -1, width)
                case .down: (lastRow + lastColumn, -1, -width)
                case .downMirrored: (lastRow, 1, -width)
                case .leftMirrored: (0, width, 1)
                case .right: (lastRow, -width, 1)
                case .rightMirrored: (lastRow + lastColumn, -width, -1)
                case .left: (lastColumn, width, -1)
                }
        }

        /// Copies in blocks of 32 × 32 pixels: where columns become rows, each cache line that is read serves eight or
        /// more rows of the block.
        func copy(_ source: UnsafePointer<UInt32>, _ result: UnsafeMutablePointer<UInt32>, _ size: PixelSize) {
            let block = 32
            for top in stride(from: 0, to: size.height, by: block) {
                for left in stride(from: 0, to: size.width, by: block) {
                    let end = min(left + block, size.width)
                    for y in top..<min(top + block, size.height) {
                        var place = start + left * right + y * down
                        for x in left..<end {
                            result[y * size.width + x] = source[place]
                            place &+= right
                        }
                    }
                }
            }
        }
    }
}
