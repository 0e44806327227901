public import FoundationEssentials

/// Baseline TIFF: strips, uncompressed or PackBits, bilevel, grey, palette and RGB of 8 bits, the first page (TIFF 6.0 part 1).
public struct TIFFDecoder: ImageDecoding {
    /// The one format that it reads.
    public let formats: Set<ImageFormat> = [.tiff]

    /// Makes a decoder.
    public init() {}

    /// Makes the picture; see ``ImageDecoding/decode(_:header:options:)``.
    public func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        try options.limits.check(header)
        return try data.withUnsafeBytes { bytes in
            let page = try TIFFPage(ByteView(bytes), header.width, header.height)
            return try DecodedImage(width: header.width, height: header.height, limits: options.limits) { try page.draw(into: $0) }
        }
    }
}

/// The first page of a TIFF.
struct TIFFPage {
    private enum Photometry: Int {
        case whiteIsZero, blackIsZero, rgb, palette
    }

    private let width: Int
    private let height: Int
    private let bytes: ByteView
    private let isBig: Bool
    private let photometry: Photometry
    private let bits: Int
    private let samples: Int
    private let isPacked: Bool
    private let rowsPerStrip: Int
    private let offsets: [Int]
    private let counts: [Int]
    private let colors: [Int]

    private var bytesPerRow: Int { (width * samples * bits + 7) / 8 }

    /// The sides are those of the header: a directory may name one of them twice.
    init(_ bytes: ByteView, _ width: Int, _ height: Int) throws(ImageError) {
        let isBig = bytes.has("MM")
        let tags = try Self.tags(bytes, isBig)
        (self.bytes, self.isBig) = (bytes, isBig)
        (self.width, self.height) = (width, height)
        guard width > 0, height > 0 else { throw .damaged(.tiff, "no size") }
        let compression = tags[259]?.first ?? 1
        guard compression == 1 || compression == 32_773 else { throw .damaged(.tiff, "compression \(compression) is not of the baseline") }
        isPacked = compression != 1
        guard let photometry = Photometry(rawValue: tags[262]?.first ?? -1) else {
            throw .damaged(.tiff, "colours that are not of the baseline")
        }
        self.photometry = photometry
        let depths = tags[258] ?? [1]
        (bits, samples) = (depths.first ?? 1, tags[277]?.first ?? 1)
        let isRight =
            switch photometry {
            case .rgb: bits == 8 && (3...4).contains(samples) && depths.allSatisfy { $0 == 8 }
            case .palette: [4, 8].contains(bits) && samples == 1
            case .whiteIsZero, .blackIsZero: [1, 4, 8].contains(bits) && samples == 1
            }
        guard isRight, tags[284]?.first ?? 1 == 1 else {
            throw .damaged(.tiff, "\(samples) samples of \(bits) bits are not of the baseline")
        }
        rowsPerStrip = max(1, min(height, tags[278]?.first ?? height))
        (offsets, counts) = (tags[273] ?? [], tags[279] ?? [])
        guard offsets.count >= (height + rowsPerStrip - 1) / rowsPerStrip, counts.count >= offsets.count || !isPacked else {
            throw .damaged(.tiff, "too few strips")
        }
        colors = tags[320] ?? []
        guard photometry != .palette || colors.count >= 3 << bits else { throw .damaged(.tiff, "its palette is cut short") }
    }

    /// The numbers of the first directory. A list may be as long as the file is.
    private static func tags(_ bytes: ByteView, _ isBig: Bool) throws(ImageError) -> [Int: [Int]] {
        guard let directory = bytes.number(4, bytes: 4, isBigEndian: isBig).map(Int.init),
            let count = bytes.number(directory, bytes: 2, isBigEndian: isBig).map(Int.init)
        else { throw .damaged(.tiff, "no directory") }
        var tags: [Int: [Int]] = [:]
        for index in 0..<count {
            let entry = directory + 2 + index * 12
            guard let tag = bytes.number(entry, bytes: 2, isBigEndian: isBig),
                let type = bytes.number(entry + 2, bytes: 2, isBigEndian: isBig),
                let length = bytes.number(entry + 4, bytes: 4, isBigEndian: isBig).map(Int.init),
                [258, 259, 262, 273, 277, 278, 279, 284, 320].contains(tag)
            else { continue }
            let size = type == 3 ? 2 : type == 4 ? 4 : type == 1 ? 1 : 0
            guard size > 0, length > 0, tags[Int(tag)] == nil else { continue }
            let place = size * length <= 4 ? entry + 8 : bytes.number(entry + 8, bytes: 4, isBigEndian: isBig).map(Int.init) ?? bytes.count
            guard length <= 1 << 20, place <= bytes.count - size * length else { throw .damaged(.tiff, "a list that lies outside") }
            tags[Int(tag)] = (0..<length).compactMap { bytes.number(place + $0 * size, bytes: size, isBigEndian: isBig).map(Int.init) }
        }
        return tags
    }

    func draw(into pixels: UnsafeMutableRawBufferPointer) throws(ImageError) {
        for strip in 0..<(height + rowsPerStrip - 1) / rowsPerStrip {
            let rows = min(rowsPerStrip, height - strip * rowsPerStrip)
            if isPacked {
                let unpacked = try unpack(strip, bytesPerRow * rows)
                for row in 0..<rows { draw(strip * rowsPerStrip + row, into: pixels) { unpacked[row * bytesPerRow + $0] } }
            } else {
                guard offsets[strip] <= bytes.count - bytesPerRow * rows else { throw .damaged(.tiff, "its pixels are cut short") }
                for row in 0..<rows {
                    let start = offsets[strip] + row * bytesPerRow
                    draw(strip * rowsPerStrip + row, into: pixels) { bytes.u8(start + $0) ?? 0 }
                }
            }
        }
    }

    /// PackBits (section 9).
    private func unpack(_ strip: Int, _ wanted: Int) throws(ImageError) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(wanted)
        var offset = offsets[strip]
        let end = min(bytes.count, offset + counts[strip])
        while output.count < wanted {
            guard offset < end, let byte = bytes.u8(offset) else { throw .damaged(.tiff, "its pixels are cut short") }
            let count = Int(Int8(bitPattern: byte))
            offset += 1
            switch count {
            case 0...127:
                for index in 0...count { output.append(bytes.u8(offset + index) ?? 0) }
                offset += count + 1
            case -127 ... -1:
                output += repeatElement(bytes.u8(offset) ?? 0, count: 1 - count)
                offset += 1
            default: break
            }
        }
        return output
    }

    private func draw(_ row: Int, into pixels: UnsafeMutableRawBufferPointer, _ byte: (Int) -> UInt8) {
        for column in 0..<width {
            let place = (row * width + column) * 4
            pixels[place + 3] = 255
            if photometry == .rgb {
                for channel in 0..<3 { pixels[place + channel] = byte(column * samples + channel) }
                continue
            }
            let value = sample(column, byte)
            for channel in 0..<3 { pixels[place + channel] = color(value, channel) }
        }
    }

    private func sample(_ column: Int, _ byte: (Int) -> UInt8) -> Int {
        switch bits {
        case 1: Int(byte(column / 8) >> (7 - UInt8(column % 8)) & 1)
        case 4: Int(column % 2 == 0 ? byte(column / 2) >> 4 : byte(column / 2) & 15)
        default: Int(byte(column))
        }
    }

    private func color(_ value: Int, _ channel: Int) -> UInt8 {
        let most = 1 << bits - 1
        switch photometry {
        case .whiteIsZero: return UInt8(truncatingIfNeeded: 255 - value * 255 / most)
        case .blackIsZero: return UInt8(truncatingIfNeeded: value * 255 / most)
        // Sixteen bits a colour.
        default: return UInt8(truncatingIfNeeded: colors[channel << bits + value] >> 8)
        }
    }
}
