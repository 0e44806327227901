#if Images
import CImageCodecs
public import FoundationEssentials

/// PNG pictures, over libpng: all colour types and depths, interlaced ones as well; of an animated PNG its default image.
///
/// A picture of twice the size wanted, or more, is made smaller while it is read, by the mean of boxes of pixels: the memory is that of
/// the result and of a few rows. An interlaced one is decoded at its own size. Profiles, texts and other chunks are stepped over, and
/// their checksums count all the same. Colours are as stored, without a look at `gAMA` and `iCCP`.
public struct PNGDecoder: CancellableImageDecoding {
    /// The one format that it reads.
    public let formats: Set<ImageFormat> = [.png]

    /// Makes a decoder.
    public init() {}

    /// Makes the picture; see ``CancellableImageDecoding/decode(_:header:options:cancellation:)``.
    public func decode(
        _ data: Data, header: ImageHeader, options: ImageDecodingOptions, cancellation: DecodingCancellation?
    ) throws -> DecodedImage {
        var call = CodecCall(header, options, cancellation)
        // The last byte of IHDR tells whether it is interlaced.
        let isInterlaced = data.withUnsafeBytes { ByteView($0).u8(28) } != 0
        if let wanted = options.storedSize(header), !isInterlaced {
            call.scale = max(1, min(header.width / wanted.width, header.height / wanted.height))
            call.output = PixelSize(width: (header.width - 1) / call.scale + 1, height: (header.height - 1) / call.scale + 1)
        }
        try options.limits.check(header, target: (call.output.width, call.output.height))
        return try call.decode(data) { scopednet_png_decode($0, $1) }
    }
}
#endif
