#if Images
import CImageCodecs
public import FoundationEssentials

/// Writes PNG: eight bits a colour, with alpha where any pixel is not opaque. Nothing is lost.
public struct PNGEncoder: ImageEncoding {
    /// The one format that it writes.
    public let format = ImageFormat.png
    /// The effort, from 0 (none) to 9 (the smallest file).
    public let level: Int

    /// Makes an encoder.
    ///
    /// - Parameter level: from 0 to 9; others are the nearest of them. Default: 6.
    public init(level: Int = 6) { self.level = max(0, min(level, 9)) }

    /// Makes a file; see ``ImageEncoding/encode(_:)``.
    public func encode(_ image: DecodedImage) throws -> Data {
        var call = EncoderCall(.png, most: Int(Int32.max))
        call.request.level = Int32(level)
        return try call.encode(image) { scopednet_png_encode($0, $1, $2) }
    }
}
#endif
