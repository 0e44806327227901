#if Images
import CImageCodecs
public import FoundationEssentials

/// WebP pictures, over libwebp: lossy and lossless; of an animation the first frame, see ``AnimatedImage`` for the others.
///
/// It decodes to the smallest size of the same shape that covers the size wanted. A lossless picture, or one with alpha, takes the memory
/// of its stored size meanwhile. An animation of more frames than the limits allow is refused.
public struct WebPDecoder: CancellableImageDecoding {
    /// The one format that it reads.
    public let formats: Set<ImageFormat> = [.webP]

    /// Makes a decoder.
    public init() {}

    /// Makes the picture; see ``CancellableImageDecoding/decode(_:header:options:cancellation:)``.
    ///
    /// `cancellation` is looked at once for each 16 KiB of the file.
    public func decode(
        _ data: Data, header: ImageHeader, options: ImageDecodingOptions, cancellation: DecodingCancellation?
    ) throws -> DecodedImage {
        // Before anything is looked for in the chunks of the file.
        try options.limits.check(header, target: (1, 1))
        var info = scopednet_webp_info()
        var call = CodecCall(header, options, cancellation)
        try call.run { message in
            data.withUnsafeBytes { scopednet_webp_read_info($0.octets, $0.count, &info, message) }
        }
        if info.is_animated { return try Self.firstFrame(data, header, options.limits) }
        if let wanted = options.storedSize(header) { call.output = Self.cover(wanted, header) }
        try options.limits.check(header, target: info.needs_all ? nil : (call.output.width, call.output.height))
        return try call.decode(data) { scopednet_webp_decode($0, $1) }
    }

    /// The smallest size of the picture's shape that covers `wanted`, which is no larger than the picture.
    static func cover(_ wanted: PixelSize, _ header: ImageHeader) -> PixelSize {
        let (width, height) = (header.width, header.height)
        // A side of a WebP has 24 bits at most: no product overflows.
        guard wanted.width * height >= wanted.height * width else {
            return PixelSize(width: (width * wanted.height + height - 1) / height, height: wanted.height)
        }
        return PixelSize(width: wanted.width, height: (height * wanted.width + width - 1) / width)
    }

    private static func firstFrame(_ data: Data, _ header: ImageHeader, _ limits: ImageLimits) throws -> DecodedImage {
        let frames = try WebPFrames(data, header, limits: limits)
        var canvas = try frames.makeCanvas()
        try canvas.drawNext()
        return try canvas.image(limits)
    }
}
#endif
