#if Images
import CImageCodecs
public import FoundationEssentials

/// JPEG pictures, over libjpeg-turbo: baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK.
///
/// It decodes to an eighth of the size or several, the fewest that cover the size wanted: a picture of a camera becomes a thumbnail with
/// the memory of a thumbnail, and in a fraction of the time. A progressive one takes the memory of its coefficients meanwhile, twice
/// `decodedBytes` at most. Ink (CMYK) becomes red, green and blue without a look at colour profiles. A file that is cut short is damaged;
/// while it arrives ``JPEGPreviewer`` shows it.
public struct JPEGDecoder: CancellableImageDecoding {
    /// The one format that it reads.
    public let formats: Set<ImageFormat> = [.jpeg]

    /// Makes a decoder.
    public init() {}

    /// Makes the picture; see ``CancellableImageDecoding/decode(_:header:options:cancellation:)``.
    public func decode(
        _ data: Data, header: ImageHeader, options: ImageDecodingOptions, cancellation: DecodingCancellation?
    ) throws -> DecodedImage {
        let call = try Self.call(header, options, cancellation)
        return try call.decode(data) { scopednet_jpeg_decode($0, $1) }
    }

    /// The call for the fewest eighths that cover the size wanted, within the limits.
    static func call(
        _ header: ImageHeader, _ options: ImageDecodingOptions, _ cancellation: DecodingCancellation?
    ) throws(ImageError) -> CodecCall {
        var call = CodecCall(header, options, cancellation)
        call.scale = 8
        let wanted = options.storedSize(header) ?? call.output
        for scale in 1..<8 {
            let size = PixelSize(width: scaled(header.width, scale), height: scaled(header.height, scale))
            guard size.width >= wanted.width, size.height >= wanted.height else { continue }
            (call.scale, call.output) = (scale, size)
            break
        }
        try options.limits.check(header, target: (call.output.width, call.output.height))
        return call
    }

    /// A side at some eighths, as libjpeg has it; whole where it is too long to be multiplied.
    private static func scaled(_ side: Int, _ scale: Int) -> Int {
        Int32(exactly: side).map { Int(scopednet_jpeg_scaled($0, Int32(scale))) } ?? side
    }
}
#endif
