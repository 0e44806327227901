/// The format of a picture, found in its first bytes. New cases may be added; keep a default when you switch.
public enum ImageFormat: String, Sendable, Hashable, CaseIterable {
    case jpeg, png, gif, webP, bmp, ico, xbm, tiff
    /// Recognised, to be refused by name.
    case avif, heic, jpegXL, svg

    /// The media type that servers are asked for (IANA media types).
    public var mediaType: String {
        switch self {
        case .jpeg: "image/jpeg"
        case .png: "image/png"
        case .gif: "image/gif"
        case .webP: "image/webp"
        case .bmp: "image/bmp"
        case .ico: "image/vnd.microsoft.icon"
        case .xbm: "image/x-xbitmap"
        case .tiff: "image/tiff"
        case .avif: "image/avif"
        case .heic: "image/heic"
        case .jpegXL: "image/jxl"
        case .svg: "image/svg+xml"
        }
    }

    /// The result of a look at first bytes.
    enum Detection: Equatable {
        case found(ImageFormat)
        case needsMore
        case unknown
    }

    private static let signatures: [(ImageFormat, [UInt8])] = [
        (.jpeg, [0xFF, 0xD8, 0xFF]), (.png, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
        (.gif, Array("GIF87a".utf8)), (.gif, Array("GIF89a".utf8)), (.bmp, Array("BM".utf8)),
        (.ico, [0, 0, 1, 0]), (.tiff, [0x49, 0x49, 0x2A, 0]), (.tiff, [0x4D, 0x4D, 0, 0x2A]),
        (.jpegXL, [0xFF, 0x0A]), (.jpegXL, [0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A]),
    ]

    /// Finds the format. Types that a server names are not asked: they are wrong too often.
    static func detect(_ bytes: ByteView) -> Detection {
        if let known = signatures.first(where: { bytes.has($0.1) }) { return .found(known.0) }
        if bytes.has("RIFF") { return container(bytes, at: 8, "WEBP", .webP) }
        if bytes.has("ftyp", at: 4) { return brand(bytes) }
        if signatures.contains(where: { bytes.mayBecome($0.1) }) || bytes.mayBecome(Array("RIFF".utf8)) || bytes.count < 8 {
            return .needsMore
        }
        return text(bytes)
    }

    private static func container(_ bytes: ByteView, at offset: Int, _ name: StaticString, _ format: ImageFormat) -> Detection {
        if bytes.has(name, at: offset) { return .found(format) }
        return bytes.count < offset + name.utf8CodeUnitCount ? .needsMore : .unknown
    }

    /// The major brand of an ISO base media file (ISO/IEC 14496-12 section 4.3).
    private static func brand(_ bytes: ByteView) -> Detection {
        guard bytes.count >= 12 else { return .needsMore }
        if ["avif", "avis"].contains(where: { bytes.has(Array($0.utf8), at: 8) }) { return .found(.avif) }
        let ofHEIF = ["heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"]
        return ofHEIF.contains { bytes.has(Array($0.utf8), at: 8) } ? .found(.heic) : .unknown
    }

    private static func text(_ bytes: ByteView) -> Detection {
        let start = bytes.text(atMost: 1_024)
        if start.contains("<svg") { return .found(.svg) }
        if start.hasPrefix("#define ") || start.hasPrefix("/*") && start.contains("#define ") { return .found(.xbm) }
        let isMarkup = start.hasPrefix("<?xml") || start.hasPrefix("<!DOCTYPE svg") || start.hasPrefix("<!--") || start.hasPrefix("/*")
        return isMarkup && bytes.count < 1_024 ? .needsMore : .unknown
    }
}
