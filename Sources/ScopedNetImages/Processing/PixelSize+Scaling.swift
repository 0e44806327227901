extension PixelSize {
    /// Makes a size.
    ///
    /// - Parameters:
    ///   - width: pixels in a row.
    ///   - height: rows.
    public init(_ width: Int, _ height: Int) { self.init(width: width, height: height) }

    /// Makes the size of a view on a screen, rounded up to whole pixels.
    ///
    /// - Parameters:
    ///   - width: points; what is not finite or below 1 is one pixel.
    ///   - height: points; what is not finite or below 1 is one pixel.
    ///   - scale: pixels for each point.
    public init(points width: Double, _ height: Double, scale: Double) {
        func pixels(_ points: Double) -> Int {
            let pixels = (points * scale).rounded(.up)
            return pixels >= 1 && pixels < 0x1p53 ? Int(pixels) : 1
        }
        self.init(pixels(width), pixels(height))
    }

    /// Computes the largest size of the same shape that lies within bounds.
    ///
    /// - Parameters:
    ///   - bounds: the bounds; sides below 1 count as 1.
    ///   - upscales: true where the result may be larger than this size. Default: false.
    /// - Returns: the size, each side rounded to the nearest pixel and at least 1.
    public func scaled(toFit bounds: PixelSize, upscales: Bool = false) -> PixelSize { scaled(bounds, upscales, fills: false) }

    /// Computes the smallest size of the same shape that covers bounds.
    ///
    /// - Parameters:
    ///   - bounds: the bounds; sides below 1 count as 1.
    ///   - upscales: true where the result may be larger than this size. Default: false.
    /// - Returns: the size, each side rounded to the nearest pixel and at least 1.
    public func scaled(toFill bounds: PixelSize, upscales: Bool = false) -> PixelSize { scaled(bounds, upscales, fills: true) }

    /// Rounds both sides up to a power of two.
    ///
    /// Pictures are decoded to the bucket of their view, not to its size: while a window is resized, the same decoded
    /// picture serves until a side doubles, and the memory cache is not asked for a new size with each pixel.
    ///
    /// - Parameter minimum: the least side, in pixels. Default: 32.
    /// - Returns: the size.
    public func roundedUpToBucket(minimum: Int = 32) -> PixelSize {
        func side(_ pixels: Int) -> Int {
            let pixels = max(1, minimum, pixels)
            let bits = Int.bitWidth - (pixels - 1).leadingZeroBitCount
            return bits < Int.bitWidth - 1 ? 1 << bits : .max
        }
        return PixelSize(side(width), side(height))
    }

    /// Computes the least size that a decoder has to reach, where this size is what will be shown.
    ///
    /// A decoder that can scale, as JPEG in steps of an eighth, takes its next size upwards
    /// (``ImageDecodingOptions/size``); a resize does the rest.
    ///
    /// - Parameters:
    ///   - stored: the size of the file, before its orientation is applied.
    ///   - mode: the mode of the resize that follows. Default: it fits.
    ///   - orientation: the orientation of the file. Default: none.
    /// - Returns: the size, as stored; never above that of the file.
    public func minimumDecodeSize(
        stored: PixelSize, mode: ImageProcessors.Resize.Mode = .fit, orientation: ImageOrientation = .up
    ) -> PixelSize {
        let target = orientation.swapsSides ? PixelSize(height, width) : self
        return mode.size(of: stored, for: target, upscales: false)
    }

    /// True for a size with no pixels.
    var isEmpty: Bool { width <= 0 || height <= 0 }

    private func scaled(_ bounds: PixelSize, _ upscales: Bool, fills: Bool) -> PixelSize {
        let (width, height) = (max(1, self.width), max(1, self.height))
        let (most, highest) = (max(1, bounds.width), max(1, bounds.height))
        let isLimitedByWidth = (Self.isLess(most, width, highest, height)) != fills
        let (numerator, denominator) = isLimitedByWidth ? (most, width) : (highest, height)
        if numerator >= denominator, !upscales { return PixelSize(width, height) }
        return PixelSize(
            isLimitedByWidth ? most : Self.scaled(width, numerator, denominator),
            isLimitedByWidth ? Self.scaled(height, numerator, denominator) : highest)
    }

    /// True where a/b is less than c/d; all are positive.
    static func isLess(_ a: Int, _ b: Int, _ c: Int, _ d: Int) -> Bool {
        let (left, right) = (a.multipliedFullWidth(by: d), c.multipliedFullWidth(by: b))
        return (left.high, left.low) < (right.high, right.low)
    }

    /// The value times a fraction, rounded to the nearest number; at least 1, and at most `Int.max`.
    private static func scaled(_ value: Int, _ numerator: Int, _ denominator: Int) -> Int {
        let product = UInt(value).multipliedFullWidth(by: UInt(numerator))
        guard product.high < UInt(denominator) else { return .max }
        let (quotient, remainder) = UInt(denominator).dividingFullWidth(product)
        let rounded = quotient &+ (remainder >= UInt(denominator) - remainder ? 1 : 0)
        return max(1, Int(clamping: rounded))
    }
}
