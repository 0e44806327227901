/// The most that a picture may ask of the machine, judged by its header before anything is allocated for its pixels.
public struct ImageLimits: Sendable, Hashable {
    /// The bytes of the file. Default: 64 MiB.
    public var bodyBytes = 64 << 20
    /// The bytes before width and height are known. Default: 1 MiB.
    public var headerBytes = 1 << 20
    /// The pixels of one frame. Default: 40 million.
    public var pixels = 40_000_000
    /// The bytes of all pixels that are held at a time, four for each. Default: 160 MiB.
    public var decodedBytes = 160 << 20
    /// The frames of an animation. Default: 500.
    public var frames = 500
    /// The scans of a JPEG. Default: 500.
    ///
    /// A large picture may have fewer: 800 million divided by its pixels, or 32 where that is less. These are 500 up to 1.6 million pixels, 66
    /// at 12 million, and 32 from 25 million on; with a limit of twice 500 they are twice as many. A scan of a few bytes goes over all pixels nevertheless;
    /// programs write about 10, those that try for the smallest file up to 64. More are refused before the first is decoded.
    public var scans = 500

    /// The default limits.
    public static let standard = ImageLimits()

    /// Makes the default limits.
    public init() {}

    /// The most scans of a JPEG of that size. (pure)
    func scans(width: Int, height: Int) -> Int {
        let (all, overflows) = width.multipliedReportingOverflow(by: height)
        let bySize = overflows ? 32 : max(32, 800_000_000 / max(1, all))
        guard scans > Self.standard.scans else { return min(scans, bySize) }
        // A limit above the standard counts for large pictures, too.
        let (more, isHuge) = bySize.multipliedReportingOverflow(by: scans / Self.standard.scans)
        return isHuge ? scans : min(scans, more)
    }

    /// Judges a header.
    ///
    /// - Parameters:
    ///   - header: the header.
    ///   - target: the size that is decoded to, where the decoder can; nil for the size stored.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)`` where it asks for more.
    func check(_ header: ImageHeader, target: (width: Int, height: Int)? = nil) throws(ImageError) {
        let (all, overflows) = header.width.multipliedReportingOverflow(by: header.height)
        guard !overflows, all <= pixels else { throw .exceeds(.pixels, actual: overflows ? .max : all, most: pixels) }
        let (width, height) = target ?? (header.width, header.height)
        let (area, isHuge) = width.multipliedReportingOverflow(by: height)
        let (bytes, isLarge) = area.multipliedReportingOverflow(by: 4)
        let isTooMuch = isHuge || isLarge
        guard !isTooMuch, bytes <= decodedBytes else { throw .exceeds(.decodedBytes, actual: isTooMuch ? .max : bytes, most: decodedBytes) }
        if let count = header.frameCount, count > frames { throw .exceeds(.frames, actual: count, most: frames) }
    }
}
