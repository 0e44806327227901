extension ImageProcessors {
    /// Makes the corners of a picture transparent, outside of a quarter of a circle each. The edge is smooth.
    public struct RoundedCorners: ImageProcessing {
        /// The radius in pixels, at most half of the shorter side; nil for the circle in the middle.
        public let radius: Double?

        /// The circle in the middle: of a picture that is not square, its largest square first.
        static let largestCircle = Self(radius: nil)

        /// Makes the processor.
        ///
        /// - Parameter radius: the radius in pixels; at most half of the shorter side is used. What is not above 0 changes nothing.
        public init(radius: Double) { self.init(radius: .some(radius.isNaN ? 0 : max(0, radius))) }

        private init(radius: Double?) { self.radius = radius }

        /// The operation and the radius.
        public var identifier: String { radius.map { "rounded(\($0))" } ?? "circle" }

        /// Rounds the corners; see ``ImageProcessing/process(_:limits:)``.
        public func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage {
            guard !image.size.isEmpty else { return image }
            let side = min(image.width, image.height)
            guard let radius else {
                let (x, y) = ((image.width - side) / 2, (image.height - side) / 2)
                return try round(image.cropped(x: x, y: y, PixelSize(side, side), limits), Double(side) / 2, limits)
            }
            return radius > 0 ? try round(image, min(radius, Double(side) / 2), limits) : image
        }

        private func round(_ image: DecodedImage, _ radius: Double, _ limits: ImageLimits) throws -> DecodedImage {
            try image.makeImage(image.size, limits) { source, result in
                result.copyMemory(from: source, byteCount: image.byteCount)
                let count = Int(radius.rounded(.up))
                for y in 0..<min(count, (image.height + 1) / 2) {
                    for x in 0..<min(count, (image.width + 1) / 2) {
                        let coverage = Self.coverage(x, y, radius)
                        // Of the rest of a row, each pixel is covered.
                        if coverage >= 1 { break }
                        for row in y == image.height - 1 - y ? [y] : [y, image.height - 1 - y] {
                            for column in x == image.width - 1 - x ? [x] : [x, image.width - 1 - x] {
                                Self.cover(result + row * image.bytesPerRow + column * 4, coverage, image.isPremultiplied)
                            }
                        }
                    }
                }
            }
        }

        /// The part of a pixel that lies within the circle, by the distance of its middle from the circle's edge.
        private static func coverage(_ x: Int, _ y: Int, _ radius: Double) -> Double {
            let (right, down) = (radius - Double(x) - 0.5, radius - Double(y) - 0.5)
            if right <= 0 || down <= 0 { return 1 }
            return min(1, max(0, radius - (right * right + down * down).squareRoot() + 0.5))
        }

        private static func cover(_ pixel: UnsafeMutableRawPointer, _ coverage: Double, _ isPremultiplied: Bool) {
            let bytes = pixel.assumingMemoryBound(to: UInt8.self)
            let alpha = UInt8(Double(bytes[3]) * coverage + 0.5)
            for channel in 0..<3 {
                bytes[channel] =
                    alpha == 0 ? 0 : isPremultiplied ? min(alpha, UInt8(Double(bytes[channel]) * coverage + 0.5)) : bytes[channel]
            }
            bytes[3] = alpha
        }
    }
}
