/// A step that makes a new picture of a decoded one, such as resizing or rounding its corners.
///
/// Processors are values. Their identifiers are part of the key of the result (``ImageKey/variant``): two processors
/// with the same identifier make the same picture. They run off the thread that draws, several at a time.
///
/// ```swift
/// let steps: [any ImageProcessing] = [.cropToFill(PixelSize(96, 96)), .circle]
/// let avatar = try ImageProcessors.Chain(steps).process(image)
/// ```
public protocol ImageProcessing: Sendable, Hashable {
    /// The operation and all of its parameters, as text.
    var identifier: String { get }

    /// Makes the new picture.
    ///
    /// - Parameters:
    ///   - image: the picture. It stays as it is.
    ///   - limits: the most pixels and bytes of the result. They are checked before anything is allocated.
    /// - Returns: the new picture; the same one where there is nothing to do.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)``, or an error of the processor.
    func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage
}

extension ImageProcessing {
    /// Makes the new picture within the default limits.
    ///
    /// - Parameter image: the picture. It stays as it is.
    /// - Returns: the new picture; the same one where there is nothing to do.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)``, or an error of the processor.
    public func process(_ image: DecodedImage) throws -> DecodedImage { try process(image, limits: .standard) }
}

/// The processors of this library. Each is also a static member of ``ImageProcessing``, such as `.blur(radius: 4)`.
public enum ImageProcessors {
    /// Several processors, one after the other.
    public struct Chain: ImageProcessing {
        /// The processors, in their order.
        public let processors: [any ImageProcessing]

        /// Makes a chain. An empty one leaves pictures as they are.
        ///
        /// - Parameter processors: the processors, in their order.
        public init(_ processors: [any ImageProcessing]) { self.processors = processors }

        /// The identifiers of all processors, each behind its length: no two different lists have the same text.
        public var identifier: String { processors.map { "\($0.identifier.utf8.count):\($0.identifier)" }.joined(separator: ",") }

        /// Runs all processors; see ``ImageProcessing/process(_:limits:)``.
        public func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage {
            try processors.reduce(image) { try $1.process($0, limits: limits) }
        }

        /// Feeds the identifier.
        public func hash(into hasher: inout Hasher) { hasher.combine(identifier) }

        /// True for chains with the same identifier.
        public static func == (left: Self, right: Self) -> Bool { left.identifier == right.identifier }
    }
}

extension ImageProcessing where Self == ImageProcessors.Resize {
    /// Resizes.
    ///
    /// - Parameters:
    ///   - size: the size in pixels.
    ///   - mode: the relation of the result to `size`. Default: it fits within.
    ///   - upscales: true where a smaller picture is enlarged. Default: false.
    /// - Returns: the processor.
    public static func resize(to size: PixelSize, mode: ImageProcessors.Resize.Mode = .fit, upscales: Bool = false) -> Self {
        Self(size, mode: mode, upscales: upscales)
    }
}

extension ImageProcessing where Self == ImageProcessors.CropToFill {
    /// Resizes until a size is filled, and cuts off the rest on both sides.
    ///
    /// - Parameters:
    ///   - size: the size in pixels.
    ///   - upscales: true where a smaller picture is enlarged. Default: false.
    /// - Returns: the processor.
    public static func cropToFill(_ size: PixelSize, upscales: Bool = false) -> Self { Self(size, upscales: upscales) }
}

extension ImageProcessing where Self == ImageProcessors.RoundedCorners {
    /// Rounds the corners.
    ///
    /// - Parameter radius: the radius in pixels, at most half of the shorter side.
    /// - Returns: the processor.
    public static func rounded(radius: Double) -> Self { Self(radius: radius) }

    /// Cuts out the circle in the middle: of a picture that is not square, its largest square first.
    public static var circle: Self { .largestCircle }
}

extension ImageProcessing where Self == ImageProcessors.Blur {
    /// Blurs.
    ///
    /// - Parameter radius: the standard deviation in pixels.
    /// - Returns: the processor.
    public static func blur(radius: Double) -> Self { Self(radius: radius) }
}

extension ImageProcessing where Self == ImageProcessors.Tint {
    /// Colours what is not transparent.
    ///
    /// - Parameters:
    ///   - color: the colour. Its alpha counts as a part of the strength.
    ///   - strength: from 0, nothing changes, to 1. Default: 1.
    ///   - mode: the way of mixing. Default: the colour takes the place of the picture's own.
    /// - Returns: the processor.
    public static func tint(_ color: PixelColor, strength: Double = 1, mode: ImageProcessors.Tint.Mode = .sourceAtop) -> Self {
        Self(color, strength: strength, mode: mode)
    }
}

extension ImageProcessing where Self == OrientationTransform {
    /// Turns and mirrors a picture as stored into the one that is shown.
    ///
    /// - Parameter orientation: the orientation of its header.
    /// - Returns: the processor.
    public static func oriented(_ orientation: ImageOrientation) -> Self { Self(orientation) }
}
