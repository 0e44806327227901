#if Images
import CImageCodecs
public import FoundationEssentials
import SystemSupport

/// Previews of a progressive JPEG, one for each scan that is complete, or for several that came at once.
///
/// Each byte is decoded once, and each preview costs the drawing of a picture of the size wanted; the last one may be the picture
/// itself. The coefficients of all scans stay in memory until the last reference goes, two bytes for each value: 36 MB for 12 million
/// pixels of a camera.
public final class JPEGPreviewer: ImagePreviewing {
    private final class Scans: @unchecked Sendable {
        // Safety: used by the one thread that took it out of the lock, and freed by `deinit`.
        let preview: OpaquePointer
        var shown: Int32 = 0

        init(_ preview: OpaquePointer) { self.preview = preview }

        deinit { scopednet_jpeg_preview_free(preview) }
    }

    private let call: CodecCall
    private let cancellation: DecodingCancellation
    /// Nil while a preview is being made, and after an error or the picture.
    private let scans: Lock<Scans?>

    /// Makes a previewer; nil for a file that comes in one scan, of which there is nothing to show before it is complete.
    ///
    /// - Parameters:
    ///   - header: the header of the file.
    ///   - options: the size wanted, and the limits.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)``.
    public init?(header: ImageHeader, options: ImageDecodingOptions) throws {
        guard header.format == .jpeg, header.isProgressive else { return nil }
        cancellation = DecodingCancellation()
        call = try JPEGDecoder.call(header, options, cancellation)
        var request = try call.request()
        guard let preview = scopednet_jpeg_preview_make(&request) else {
            throw ImageError.exceeds(.decodedBytes, actual: call.output.width * call.output.height * 4, most: options.limits.decodedBytes)
        }
        scans = Lock(Scans(preview))
    }

    /// Makes a preview; see ``ImagePreviewing/preview(_:)``.
    public func preview(_ data: Data) throws -> DecodedImage? {
        guard let taken = scans.withLock({ $0.take() }) else { return nil }
        let count = try feed(taken, data)
        let image = count > taken.shown ? try draw(taken) : nil
        taken.shown = count
        scans.withLock { $0 = taken }
        return image
    }

    /// Makes the picture; see ``ImagePreviewing/picture(_:)``.
    public func picture(_ data: Data) throws -> DecodedImage? {
        guard let taken = scans.withLock({ $0.take() }) else { return nil }
        _ = try feed(taken, data, isWhole: true)
        try call.run { scopednet_jpeg_preview_check_whole(taken.preview, $0) }
        return try draw(taken)
    }

    /// Ends the preview that is being made, and all later ones.
    public func cancel() { cancellation.cancel() }

    /// Reads the scans that are complete, and returns their number.
    private func feed(_ scans: Scans, _ data: Data, isWhole: Bool = false) throws -> Int32 {
        try data.withUnsafeBytes { bytes in
            try call.run { scopednet_jpeg_preview_feed(scans.preview, bytes.octets, bytes.count, isWhole, $0) }
        }
        return scopednet_jpeg_preview_scans(scans.preview)
    }

    private func draw(_ scans: Scans) throws -> DecodedImage {
        let (width, height) = (call.output.width, call.output.height)
        let buffer = try PixelBuffer(byteCount: width * height * 4) { pixels in
            try call.run { scopednet_jpeg_preview_draw(scans.preview, pixels.octets, $0) }
        }
        return DecodedImage(width: width, height: height, buffer: buffer)
    }
}
#endif
