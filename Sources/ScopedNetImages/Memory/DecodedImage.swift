/// A picture in memory: eight bits each of red, green, blue and alpha, from the top left, row by row. Immutable; copies share the pixels.
public struct DecodedImage: Sendable {
    /// Pixels in a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// The bytes from one row to the next.
    public let bytesPerRow: Int
    /// True where colours are multiplied by alpha.
    public let isPremultiplied: Bool
    /// Pixels for each point of the screen that it was made for. Default: 1.
    public let scale: Double
    private let buffer: PixelBuffer

    /// The bytes that it holds.
    public var byteCount: Int { bytesPerRow * height }

    init(width: Int, height: Int, isPremultiplied: Bool = false, scale: Double = 1, buffer: PixelBuffer) {
        (self.width, self.height, bytesPerRow) = (width, height, width * 4)
        (self.isPremultiplied, self.scale, self.buffer) = (isPremultiplied, scale, buffer)
    }

    /// Makes a picture pixel by pixel.
    ///
    /// - Parameters:
    ///   - width: pixels in a row, at least 1.
    ///   - height: rows, at least 1.
    ///   - isPremultiplied: true where colours are multiplied by alpha. Default: false.
    ///   - scale: pixels for each point of the screen. Default: 1.
    ///   - limits: the most pixels and bytes.
    ///   - fill: writes all `width * height * 4` bytes, which are zero before.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)``, and what `fill` throws.
    public init(
        width: Int, height: Int, isPremultiplied: Bool = false, scale: Double = 1, limits: ImageLimits = .standard,
        fill: (UnsafeMutableRawBufferPointer) throws -> Void
    ) throws {
        let header = ImageHeader(format: .bmp, width: max(1, width), height: max(1, height))
        try limits.check(header)
        let buffer = try PixelBuffer(byteCount: header.width * header.height * 4, fill)
        self.init(width: header.width, height: header.height, isPremultiplied: isPremultiplied, scale: scale, buffer: buffer)
    }

    /// The same pixels, for another number of them to a point of the screen.
    func with(scale: Double) -> DecodedImage {
        DecodedImage(width: width, height: height, isPremultiplied: isPremultiplied, scale: scale, buffer: buffer)
    }

    /// Lends the pixels to `body`, without a copy. They are at the same address in all copies of the picture, until the last of these is gone.
    public func withPixels<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result { try buffer.withBytes(body) }
}
