extension DecodedImage {
    /// The size in pixels.
    var size: PixelSize { PixelSize(width, height) }

    /// Makes a picture of another size, with the alpha and the scale of this one.
    ///
    /// - Parameters:
    ///   - size: the size.
    ///   - limits: the most pixels and bytes, checked before anything is allocated.
    ///   - fill: writes the new pixels, which are zero before. It reads those of this picture.
    /// - Returns: the new picture.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)``, and the errors of `fill`.
    func makeImage(
        _ size: PixelSize, _ limits: ImageLimits, fill: (UnsafeRawPointer, UnsafeMutableRawPointer) throws -> Void
    ) throws -> DecodedImage {
        try withPixels { source in
            try DecodedImage(
                width: size.width, height: size.height, isPremultiplied: isPremultiplied, scale: scale, limits: limits
            ) { result in
                guard let from = source.baseAddress, let to = result.baseAddress, source.count > 0 else { return }
                try fill(from, to)
            }
        }
    }

    /// Copies a part.
    ///
    /// - Parameters:
    ///   - x: its first column.
    ///   - y: its first row.
    ///   - part: its size. What lies outside of the picture is left out.
    ///   - limits: the most pixels and bytes.
    /// - Returns: the part; this picture where that is all of it.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)``.
    func cropped(x: Int, y: Int, _ part: PixelSize, _ limits: ImageLimits) throws -> DecodedImage {
        let (x, y) = (min(max(0, x), max(0, width - 1)), min(max(0, y), max(0, height - 1)))
        let part = PixelSize(min(max(1, part.width), width - x), min(max(1, part.height), height - y))
        if part == size { return self }
        return try makeImage(part, limits) { source, result in
            for row in 0..<part.height {
                let from = source + (y + row) * bytesPerRow + x * 4
                (result + row * part.width * 4).copyMemory(from: from, byteCount: part.width * 4)
            }
        }
    }
}

extension ImageLimits {
    /// Judges a size before anything is allocated for it.
    func check(_ size: PixelSize) throws(ImageError) {
        try check(ImageHeader(format: .bmp, width: max(1, size.width), height: max(1, size.height)))
    }

    /// Judges the bytes that an operation needs besides its result.
    func check(scratch bytes: Int) throws(ImageError) {
        guard bytes <= decodedBytes else { throw .exceeds(.decodedBytes, actual: bytes, most: decodedBytes) }
    }
}

/// Four numbers of a pixel: red, green and blue, multiplied by alpha, and alpha; each from 0 to 255.
typealias PixelValues = SIMD4<Float>

/// Pixels between bytes and numbers.
enum PixelCoding {
    /// Reads a pixel.
    @inline(__always)
    static func load(_ pixel: UnsafeRawPointer, isPremultiplied: Bool) -> PixelValues {
        let bytes = pixel.assumingMemoryBound(to: UInt8.self)
        let values = PixelValues(Float(bytes[0]), Float(bytes[1]), Float(bytes[2]), Float(bytes[3]))
        if isPremultiplied || bytes[3] == 255 { return values }
        let factor = values.w / 255
        return values * PixelValues(factor, factor, factor, 1)
    }

    /// Writes a pixel; a transparent one has no colour.
    @inline(__always)
    static func store(_ values: PixelValues, _ pixel: UnsafeMutableRawPointer, isPremultiplied: Bool) {
        let bytes = pixel.assumingMemoryBound(to: UInt8.self)
        let alpha = byte(values.w)
        guard alpha > 0 else {
            pixel.storeBytes(of: 0, as: UInt32.self)
            return
        }
        var colors = values
        if !isPremultiplied, alpha < 255 { colors *= 255 / values.w }
        let most = isPremultiplied ? alpha : 255
        bytes[0] = min(most, byte(colors.x))
        bytes[1] = min(most, byte(colors.y))
        bytes[2] = min(most, byte(colors.z))
        bytes[3] = alpha
    }

    /// The nearest byte. Numbers are finite here.
    @inline(__always)
    private static func byte(_ value: Float) -> UInt8 { UInt8(truncatingIfNeeded: Int32(min(255, max(0, value)) + 0.5)) }
}
