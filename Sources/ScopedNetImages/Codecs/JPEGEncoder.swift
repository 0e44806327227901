#if Images
import CImageCodecs
public import FoundationEssentials

/// Writes baseline or progressive JPEG. It has no alpha: pixels are drawn over a background. A side has 65,500 pixels at most, the limit of libjpeg.
public struct JPEGEncoder: ImageEncoding {
    /// An opaque colour.
    public struct Background: Sendable, Hashable {
        /// From 0 to 255.
        public let red, green, blue: UInt8

        /// Makes a colour.
        public init(red: UInt8, green: UInt8, blue: UInt8) { (self.red, self.green, self.blue) = (red, green, blue) }

        /// White.
        public static let white = Background(red: 255, green: 255, blue: 255)
    }

    /// The one format that it writes.
    public let format = ImageFormat.jpeg
    /// From 0 (the smallest file) to 100 (the most alike).
    public let quality: Int
    /// The colour beneath pixels that are not opaque.
    public let background: Background
    /// True for files whose first bytes are all of the picture, coarse, and whose further ones make it finer.
    public let isProgressive: Bool

    /// Makes an encoder.
    ///
    /// - Parameters:
    ///   - quality: from 0 to 100; others are the nearest of them. Default: 85.
    ///   - background: the colour beneath pixels that are not opaque. Default: white.
    ///   - isProgressive: true for a file that can be shown before all of it has come; it takes longer to make, and more memory. Default: false.
    public init(quality: Int = 85, background: Background = .white, isProgressive: Bool = false) {
        (self.quality, self.background, self.isProgressive) = (max(0, min(quality, 100)), background, isProgressive)
    }

    /// Makes a file; see ``ImageEncoding/encode(_:)``.
    public func encode(_ image: DecodedImage) throws -> Data {
        var call = EncoderCall(.jpeg, most: Int(SCOPEDNET_JPEG_SIDE))
        call.request.quality = Int32(quality)
        call.request.is_progressive = isProgressive
        call.request.background = UInt32(background.red) << 16 | UInt32(background.green) << 8 | UInt32(background.blue)
        return try call.encode(image) { scopednet_jpeg_encode($0, $1, $2) }
    }
}
#endif
