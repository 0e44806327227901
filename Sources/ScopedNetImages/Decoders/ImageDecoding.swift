public import FoundationEssentials

/// Makes pictures of the files of certain formats.
///
/// A decoder runs off the callers' threads, several at a time, on bytes that came from anywhere: it checks the limits before it allocates, and throws
/// ``ImageError`` for whatever it cannot read.
public protocol ImageDecoding: Sendable {
    /// The formats that it reads.
    var formats: Set<ImageFormat> { get }

    /// Makes the picture; of an animation, its first frame.
    ///
    /// - Parameters:
    ///   - data: the whole file.
    ///   - header: its header, as ``ImageHeader/read(_:isComplete:limits:)`` has read it.
    ///   - options: the size that is wanted, and the limits.
    /// - Returns: the picture, in its orientation as stored. A decoder that can decode to a smaller size may return any size from the one
    ///   wanted upwards.
    /// - Throws: ``ImageError``.
    func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage
}

/// The wishes for one decoding.
public struct ImageDecodingOptions: Sendable, Hashable {
    /// The size that will be shown, in pixels; nil for that of the file.
    public var size: PixelSize?
    /// The most that the picture may ask of the machine.
    public var limits = ImageLimits.standard

    /// Makes the default wishes.
    public init(size: PixelSize? = nil, limits: ImageLimits = .standard) { (self.size, self.limits) = (size, limits) }
}
