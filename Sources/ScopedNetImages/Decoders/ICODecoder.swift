public import FoundationEssentials

/// Windows icons: the picture that fits the size wanted best, a bitmap with its mask. Those that are PNGs inside are left to the decoder of PNGs.
public struct ICODecoder: ImageDecoding {
    /// The one format that it reads.
    public let formats: Set<ImageFormat> = [.ico]
    private let png: (any ImageDecoding)?

    /// Makes a decoder. Without a decoder for PNGs icons that are PNGs are `unsupported`.
    public init(png: (any ImageDecoding)? = nil) { self.png = png }

    /// Makes the picture; see ``ImageDecoding/decode(_:header:options:)``.
    public func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        let (place, isPNG) = try data.withUnsafeBytes { bytes in try Self.place(ByteView(bytes), header, options.size) }
        guard isPNG else { return try bitmap(data, at: place, header, options) }
        guard let png else { throw ImageError.unsupported(.png) }
        let inner = Data(data.dropFirst(place.lowerBound).prefix(place.count))
        guard case .header(var known) = try ImageHeader.read(inner, isComplete: true, limits: options.limits), known.format == .png else {
            throw ImageError.damaged(.ico, "no PNG inside")
        }
        try Self.check(known.width, known.height, fit: header)
        try options.limits.check(known)
        known.orientation = header.orientation
        return try png.decode(inner, header: known, options: options)
    }

    private static func place(_ bytes: ByteView, _ header: ImageHeader, _ wanted: PixelSize?) throws -> (Range<Int>, isPNG: Bool) {
        let place = try ICODirectory(bytes).best(
            for: wanted.map { ($0.width, $0.height) }, header: header, within: bytes.count
        ).place
        guard place.upperBound <= bytes.count else { throw ImageError.damaged(.ico, "its picture is cut short") }
        return (place, ICODirectory.isPNG(bytes, at: place.lowerBound))
    }

    private func bitmap(_ data: Data, at place: Range<Int>, _ header: ImageHeader, _ options: ImageDecodingOptions) throws -> DecodedImage {
        try data.withUnsafeBytes { bytes in
            let view = ByteView(UnsafeRawBufferPointer(rebasing: bytes[place]))
            let bitmap = try Bitmap(view, at: 0, pixels: nil, .ico, halves: true)
            try Self.check(bitmap.width, bitmap.height, fit: header)
            return try DecodedImage(width: bitmap.width, height: bitmap.height, limits: options.limits) { pixels in
                try bitmap.draw(into: pixels, alphaIsUsed: bitmap.bits == 32)
                if bitmap.bits < 32 || !Self.hasAlpha(pixels) { Self.apply(view, bitmap, to: pixels) }
            }
        }
    }

    /// A picture of which the directory says that it is smaller than the largest one may not be larger.
    private static func check(_ width: Int, _ height: Int, fit header: ImageHeader) throws(ImageError) {
        guard width <= header.width, height <= header.height else {
            throw .damaged(.ico, "\(width) × \(height) pixels that the directory does not tell of")
        }
    }

    private static func hasAlpha(_ pixels: UnsafeMutableRawBufferPointer) -> Bool {
        stride(from: 3, to: pixels.count, by: 4).contains { pixels[$0] != 0 }
    }

    /// The mask behind the pixels, of one bit each: what is set is not shown. Where it is missing all of it is.
    private static func apply(_ bytes: ByteView, _ bitmap: Bitmap, to pixels: UnsafeMutableRawBufferPointer) {
        let (start, stride) = (bitmap.start + bitmap.stride * bitmap.height, (bitmap.width + 31) / 32 * 4)
        for row in 0..<bitmap.height {
            for column in 0..<bitmap.width {
                let byte = bytes.u8(start + (bitmap.height - 1 - row) * stride + column / 8) ?? 0
                pixels[(row * bitmap.width + column) * 4 + 3] = byte >> (7 - UInt8(column % 8)) & 1 == 1 ? 0 : 255
            }
        }
    }
}
