public import FoundationEssentials

/// Windows and OS/2 bitmaps: 1, 4, 8, 16, 24 and 32 bits, with masks, and run lengths of 4 and 8 bits (BITMAPINFOHEADER and its successors).
public struct BMPDecoder: ImageDecoding {
    /// The one format that it reads.
    public let formats: Set<ImageFormat> = [.bmp]

    /// Makes a decoder.
    public init() {}

    /// Makes the picture; see ``ImageDecoding/decode(_:header:options:)``.
    public func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        try options.limits.check(header)
        return try data.withUnsafeBytes { bytes in
            let bitmap = try Bitmap(ByteView(bytes), at: 14, pixels: ByteView(bytes).u32LE(10) ?? 0, .bmp)
            return try DecodedImage(width: bitmap.width, height: bitmap.height, limits: options.limits) { try bitmap.draw(into: $0) }
        }
    }
}

/// A device-independent bitmap, of a file of its own or inside of an ICO.
struct Bitmap {
    private enum Compression: Int {
        case none, runs8, runs4, masks
    }

    /// The place of a colour among the bits of a pixel.
    private struct Mask {
        let shift: UInt32
        let most: UInt32

        init(_ mask: UInt32) {
            shift = mask == 0 ? 0 : UInt32(mask.trailingZeroBitCount)
            most = mask >> shift
        }

        /// From 0 to 255; nil where there is no such colour.
        func value(of pixel: UInt32) -> UInt8? {
            guard most > 0 else { return nil }
            return UInt8(truncatingIfNeeded: (UInt64(pixel >> shift & most) * 255 + UInt64(most / 2)) / UInt64(most))
        }
    }

    let width: Int
    let height: Int
    let bits: Int
    private let isFromTop: Bool
    private let compression: Compression
    private let palette: [(UInt8, UInt8, UInt8)]
    private let masks: [Mask]
    private let bytes: ByteView
    private let format: ImageFormat
    /// The offset of the first row.
    let start: Int
    /// The bytes of a row, a multiple of four.
    var stride: Int { (width * bits + 31) / 32 * 4 }

    /// Reads the information header at `start`. `pixels` is the offset of the pixels, nil where they come right behind the palette; `halves` is true
    /// where the height counts a mask as well, as in an ICO.
    init(_ bytes: ByteView, at start: Int, pixels: Int?, _ format: ImageFormat, halves: Bool = false) throws(ImageError) {
        guard let size = bytes.u32LE(start), size == 12 || (40...256).contains(size) else { throw .damaged(format, "an unknown header") }
        let isOld = size == 12
        guard let wide = isOld ? bytes.u16LE(start + 4) : bytes.u32LE(start + 4),
            let high = isOld ? bytes.u16LE(start + 6) : bytes.u32LE(start + 8),
            let depth = bytes.u16LE(start + (isOld ? 10 : 14)), bytes.count >= start + size
        else { throw .damaged(format, "its header is cut short") }
        let signed = isOld ? high : Int(Int32(truncatingIfNeeded: high))
        (width, height, isFromTop) = (isOld ? wide : Int(Int32(truncatingIfNeeded: wide)), abs(signed) / (halves ? 2 : 1), signed < 0)
        guard width > 0, height > 0, width <= 1 << 24, height <= 1 << 24 else { throw .damaged(format, "a side of no use") }
        guard [1, 4, 8, 16, 24, 32].contains(depth) else { throw .damaged(format, "\(depth) bits a pixel") }
        bits = depth
        let kind = isOld ? 0 : bytes.u32LE(start + 16) ?? 0
        // 6 is masks with one for alpha.
        guard let compression = Compression(rawValue: kind == 6 ? 3 : kind) else { throw .damaged(format, "compression \(kind)") }
        self.compression = compression
        guard
            compression == .none || compression == .runs8 && depth == 8 || compression == .runs4 && depth == 4
                || compression == .masks && (depth == 16 || depth == 32)
        else { throw .damaged(format, "compression \(kind) of \(depth) bits") }
        let masksBehind = compression == .masks && size == 40 ? (kind == 6 ? 16 : 12) : 0
        masks = try Self.masks(bytes, start, size, depth, compression, hasAlpha: kind == 6 || size >= 56, format)
        let table = start + size + masksBehind
        let entry = isOld ? 3 : 4
        let declared = isOld ? 0 : bytes.u32LE(start + 32) ?? 0
        let colors = depth > 8 ? 0 : declared == 0 || declared > 1 << depth ? 1 << depth : declared
        palette = try Self.palette(bytes, at: table, colors, entry, format)
        // A palette may be there without a use.
        let extra = depth > 8 && declared <= 256 ? declared : colors
        self.start = pixels ?? table + extra * entry
        (self.bytes, self.format) = (bytes, format)
    }

    private static func masks(
        _ bytes: ByteView, _ start: Int, _ size: Int, _ depth: Int, _ compression: Compression, hasAlpha: Bool, _ format: ImageFormat
    ) throws(ImageError) -> [Mask] {
        guard compression == .masks else {
            return (depth == 16 ? [0x7C00, 0x03E0, 0x001F, 0] : [0xFF_0000, 0x00_FF00, 0x00_00FF, 0]).map { Mask($0) }
        }
        var masks: [Mask] = []
        for index in 0..<4 {
            guard index < 3 || hasAlpha else {
                masks.append(Mask(0))
                continue
            }
            guard let mask = bytes.u32LE(start + 40 + index * 4) else { throw .damaged(format, "its masks are cut short") }
            masks.append(Mask(UInt32(mask)))
        }
        return masks
    }

    private static func palette(
        _ bytes: ByteView, at start: Int, _ count: Int, _ entry: Int, _ format: ImageFormat
    ) throws(ImageError) -> [(UInt8, UInt8, UInt8)] {
        var palette: [(UInt8, UInt8, UInt8)] = []
        for index in 0..<count {
            let place = start + index * entry
            guard let blue = bytes.u8(place), let green = bytes.u8(place + 1), let red = bytes.u8(place + 2) else {
                throw .damaged(format, "its palette is cut short")
            }
            palette.append((red, green, blue))
        }
        return palette
    }

    /// Draws all rows. `alphaIsUsed` is for ICOs of 32 bits, whose fourth byte is alpha.
    func draw(into pixels: UnsafeMutableRawBufferPointer, alphaIsUsed: Bool = false) throws(ImageError) {
        if compression == .runs8 || compression == .runs4 { return try drawRuns(into: pixels) }
        guard start >= 0, bytes.count - start >= stride * height else { throw .damaged(format, "its pixels are cut short") }
        for row in 0..<height {
            let from = start + (isFromTop ? row : height - 1 - row) * stride
            for column in 0..<width { try set(pixel(from, column), in: pixels, row, column, alphaIsUsed) }
        }
    }

    private func pixel(_ row: Int, _ column: Int) -> UInt32 {
        switch bits {
        case 1: UInt32(bytes.u8(row + column / 8) ?? 0) >> UInt32(7 - column % 8) & 1
        case 4: UInt32(bytes.u8(row + column / 2) ?? 0) >> (column % 2 == 0 ? 4 : 0) & 15
        case 8: UInt32(bytes.u8(row + column) ?? 0)
        default: bytes.number(row + column * bits / 8, bytes: bits / 8, isBigEndian: false) ?? 0
        }
    }

    private func set(
        _ pixel: UInt32, in pixels: UnsafeMutableRawBufferPointer, _ row: Int, _ column: Int, _ alphaIsUsed: Bool
    ) throws(ImageError) {
        let place = (row * width + column) * 4
        if bits <= 8 {
            guard Int(pixel) < palette.count else { throw .damaged(format, "a colour that is not in its palette") }
            let color = palette[Int(pixel)]
            (pixels[place], pixels[place + 1], pixels[place + 2], pixels[place + 3]) = (color.0, color.1, color.2, 255)
            return
        }
        for channel in 0..<3 { pixels[place + channel] = masks[channel].value(of: pixel) ?? 0 }
        pixels[place + 3] = alphaIsUsed ? UInt8(truncatingIfNeeded: pixel >> 24) : masks[3].value(of: pixel) ?? 255
    }

    // MARK: Run lengths

    /// Rows from below, in runs of one colour or two, stretches of colours, and steps; what is stepped over is transparent.
    private func drawRuns(into pixels: UnsafeMutableRawBufferPointer) throws(ImageError) {
        var (offset, row, column) = (start, 0, 0)
        while row < height {
            guard let count = bytes.u8(offset), let value = bytes.u8(offset + 1) else { throw .damaged(format, "its runs are cut short") }
            offset += 2
            if count > 0 {
                // Behind the end of its row there is nothing to draw on.
                for index in 0..<min(Int(count), max(0, width - column)) { try setRun(index, of: value, in: pixels, row, column + index) }
                column += Int(count)
                continue
            }
            switch value {
            case 0: (row, column) = (row + 1, 0)
            case 1: return
            case 2:
                guard let right = bytes.u8(offset), let up = bytes.u8(offset + 1) else { throw .damaged(format, "its runs are cut short") }
                (row, column, offset) = (row + Int(up), column + Int(right), offset + 2)
            default:
                let length = bits == 8 ? Int(value) : (Int(value) + 1) / 2
                guard bytes.count >= offset + length else { throw .damaged(format, "its runs are cut short") }
                for index in 0..<min(Int(value), max(0, width - column)) {
                    let byte = bytes.u8(offset + (bits == 8 ? index : index / 2)) ?? 0
                    try setRun(index, of: byte, in: pixels, row, column + index)
                }
                column += Int(value)
                offset += (length + 1) / 2 * 2
            }
        }
    }

    private func setRun(
        _ index: Int, of value: UInt8, in pixels: UnsafeMutableRawBufferPointer, _ row: Int, _ column: Int
    ) throws(ImageError) {
        let color = bits == 8 ? value : index % 2 == 0 ? value >> 4 : value & 15
        try set(UInt32(color), in: pixels, isFromTop ? row : height - 1 - row, column, false)
    }
}
