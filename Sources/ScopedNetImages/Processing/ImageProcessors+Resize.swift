extension ImageProcessors {
    /// Resizes a picture: averages where it shrinks much, and a triangle filter for the rest. Colours of transparent
    /// pixels do not bleed into others.
    public struct Resize: ImageProcessing {
        /// The relation of the result to the size that is wanted. Each keeps the shape of the picture, but for `exact`.
        public enum Mode: String, Sendable, Hashable {
            /// The whole result lies within the size.
            case fit
            /// The result covers the size, and is larger on one side where the shapes differ.
            case fill
            /// The result has the size; without upscaling, the smaller one of both on each side.
            case exact

            /// Computes the size of a result.
            ///
            /// - Parameters:
            ///   - source: the size of the picture.
            ///   - target: the size that is wanted; sides below 1 count as 1.
            ///   - upscales: true where a smaller picture is enlarged.
            /// - Returns: the size, at least 1 × 1.
            public func size(of source: PixelSize, for target: PixelSize, upscales: Bool) -> PixelSize {
                switch self {
                case .fit: return source.scaled(toFit: target, upscales: upscales)
                case .fill: return source.scaled(toFill: target, upscales: upscales)
                case .exact:
                    let target = PixelSize(max(1, target.width), max(1, target.height))
                    let most = upscales ? target : PixelSize(max(1, source.width), max(1, source.height))
                    return PixelSize(min(target.width, most.width), min(target.height, most.height))
                }
            }
        }

        /// The size in pixels; sides below 1 count as 1.
        public let size: PixelSize
        /// The relation of the result to the size.
        public let mode: Mode
        /// True where a smaller picture is enlarged.
        public let upscales: Bool

        /// Makes the processor.
        ///
        /// - Parameters:
        ///   - size: the size in pixels.
        ///   - mode: the relation of the result to `size`. Default: it fits within.
        ///   - upscales: true where a smaller picture is enlarged. Default: false.
        public init(_ size: PixelSize, mode: Mode = .fit, upscales: Bool = false) {
            (self.size, self.mode, self.upscales) = (size, mode, upscales)
        }

        /// The operation, the size, the mode, and `up` where it enlarges.
        public var identifier: String { "resize(\(size.width)x\(size.height),\(mode.rawValue)\(upscales ? ",up" : ""))" }

        /// Resizes; see ``ImageProcessing/process(_:limits:)``.
        public func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage {
            let result = mode.size(of: image.size, for: size, upscales: upscales)
            guard result != image.size, !image.size.isEmpty else { return image }
            return try Resampler.resize(image, x: (0, Double(image.width)), y: (0, Double(image.height)), to: result, limits)
        }
    }

    /// Resizes a picture until it fills a size, and cuts off the rest on both sides.
    ///
    /// Without upscaling, a picture that is too small becomes the largest part of it that has the shape of the size.
    public struct CropToFill: ImageProcessing {
        /// The size in pixels; sides below 1 count as 1.
        public let size: PixelSize
        /// True where a smaller picture is enlarged.
        public let upscales: Bool

        /// Makes the processor.
        ///
        /// - Parameters:
        ///   - size: the size in pixels.
        ///   - upscales: true where a smaller picture is enlarged. Default: false.
        public init(_ size: PixelSize, upscales: Bool = false) { (self.size, self.upscales) = (size, upscales) }

        /// The operation, the size, and `up` where it enlarges.
        public var identifier: String { "cropToFill(\(size.width)x\(size.height)\(upscales ? ",up" : ""))" }

        /// Resizes and crops; see ``ImageProcessing/process(_:limits:)``.
        public func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage {
            guard !image.size.isEmpty else { return image }
            let target = PixelSize(max(1, size.width), max(1, size.height))
            // The largest part with the shape of the target.
            let part = target.scaled(toFit: image.size, upscales: true)
            if part == target || (part.width < target.width && !upscales) || (part.height < target.height && !upscales) {
                return try image.cropped(x: (image.width - part.width) / 2, y: (image.height - part.height) / 2, part, limits)
            }
            let shape = Double(target.width) / Double(target.height)
            let width = min(Double(image.width), Double(image.height) * shape)
            let height = min(Double(image.height), Double(image.width) / shape)
            return try Resampler.resize(
                image, x: ((Double(image.width) - width) / 2, width), y: ((Double(image.height) - height) / 2, height), to: target, limits)
        }
    }
}
