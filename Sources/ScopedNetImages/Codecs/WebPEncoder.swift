#if Images
import CImageCodecs
public import FoundationEssentials

/// Writes WebP, lossy or lossless, with alpha. A side has 16,383 pixels at most.
public struct WebPEncoder: ImageEncoding {
    /// The one format that it writes.
    public let format = ImageFormat.webP
    /// From 0 (the smallest file) to 100 (the most alike); of lossy files alone.
    public let quality: Int
    /// True where each pixel stays as it is, transparent ones too.
    public let isLossless: Bool

    /// Makes an encoder.
    ///
    /// - Parameters:
    ///   - quality: from 0 to 100; others are the nearest of them. Default: 80.
    ///   - isLossless: keeps each pixel as it is. Default: false.
    public init(quality: Int = 80, isLossless: Bool = false) { (self.quality, self.isLossless) = (max(0, min(quality, 100)), isLossless) }

    /// Makes a file; see ``ImageEncoding/encode(_:)``.
    public func encode(_ image: DecodedImage) throws -> Data {
        var call = EncoderCall(.webP, most: Int(SCOPEDNET_WEBP_SIDE))
        call.request.quality = Int32(quality)
        call.request.is_lossless = isLossless
        return try call.encode(image) { scopednet_webp_encode($0, $1, $2) }
    }
}
#endif
