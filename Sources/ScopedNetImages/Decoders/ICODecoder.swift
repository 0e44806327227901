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
        let place = try data.withUnsafeBytes { bytes in try Self.place(ByteView(bytes), options.size) }
        let content = data.dropFirst(place.lowerBound).prefix(place.count)
        if content.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
            guard let png else { throw ImageError.unsupported(.png) }
            let inner = Data(content)
            guard case .header(let header) = try ImageHeader.read(inner, isComplete: true, limits: options.limits), header.format == .png
            else {
                throw ImageError.damaged(.ico, "no PNG inside")
            }
            try options.limits.check(header)
            return try png.decode(inner, header: header, options: options)
        }
        return try data.withUnsafeBytes { bytes in
            let view = ByteView(UnsafeRawBufferPointer(rebasing: bytes[place]))
            let bitmap = try Bitmap(view, at: 0, pixels: nil, .ico, halves: true)
            return try DecodedImage(width: bitmap.width, height: bitmap.height, limits: options.limits) { pixels in
                try bitmap.draw(into: pixels, alphaIsUsed: bitmap.bits == 32)
                if bitmap.bits < 32 || !Self.hasAlpha(pixels) { Self.apply(view, bitmap, to: pixels) }
            }
        }
    }

    /// The place of the smallest picture that is large enough, else of the largest one.
    private static func place(_ bytes: ByteView, _ wanted: PixelSize?) throws(ImageError) -> Range<Int> {
        var best: (area: Int, place: Range<Int>)?
        for index in 0..<(bytes.u16LE(4) ?? 0) {
            let entry = 6 + index * 16
            guard let wide = bytes.u8(entry), let high = bytes.u8(entry + 1), let length = bytes.u32LE(entry + 8),
                let start = bytes.u32LE(entry + 12), start + length <= bytes.count, length > 0
            else { continue }
            let (width, height) = (wide == 0 ? 256 : Int(wide), high == 0 ? 256 : Int(high))
            let isEnough = wanted.map { width >= $0.width && height >= $0.height } ?? false
            // One that is large enough comes before one that is not; among the former the smaller one, among the latter the larger one.
            let area = isEnough ? 1 << 40 - width * height : width * height
            if best.map({ area > $0.area }) ?? true { best = (area, start..<start + length) }
        }
        guard let best else { throw .damaged(.ico, "no picture that is all there") }
        return best.place
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
