public import FoundationEssentials

/// The format and the size of a picture, read from its first bytes, without decoding.
///
/// ```swift
/// switch try ImageHeader.read(data) {
/// case .header(let header): print(header.format, header.width, header.height)
/// case .needsMore(let count): print("at least \(count) bytes are needed")
/// }
/// ```
public struct ImageHeader: Sendable, Hashable {
    /// The format.
    public var format: ImageFormat
    /// Pixels in a row, as stored.
    public var width: Int
    /// Rows, as stored.
    public var height: Int
    /// The way in which it is shown. WebP and PNG may tell it behind the pixels, where only a look at the complete file finds it.
    public var orientation = ImageOrientation.up
    /// The number of frames or pages; nil where only the whole file tells.
    public var frameCount: Int?
    /// True for a JPEG that comes in scans, each of the whole picture.
    public var isProgressive = false

    /// The width as shown, in pixels.
    public var shownWidth: Int { orientation.swapsSides ? height : width }
    /// The height as shown, in pixels.
    public var shownHeight: Int { orientation.swapsSides ? width : height }

    /// The result of reading the first bytes of a file.
    public enum Reading: Sendable, Hashable {
        case header(ImageHeader)
        /// Width and height come later: read again with this many bytes, or more.
        case needsMore(Int)
    }

    /// Reads a header. It costs microseconds, allocates next to nothing, and takes any bytes.
    ///
    /// - Parameters:
    ///   - data: the file from its start, as far as it came.
    ///   - isComplete: true where no more will come. Default: false.
    ///   - limits: `headerBytes` and `bodyBytes` count here.
    /// - Returns: the header, or the number of bytes that it takes.
    /// - Throws: ``ImageError``: `unknownFormat`, `unsupported` for formats known by name alone, `damaged`, `exceeds`.
    public static func read(_ data: Data, isComplete: Bool = false, limits: ImageLimits = .standard) throws(ImageError) -> Reading {
        guard data.count <= limits.bodyBytes else { throw .exceeds(.bodyBytes, actual: data.count, most: limits.bodyBytes) }
        let result: Result<Reading, ImageError> = data.withUnsafeBytes { bytes in
            Result { () throws(ImageError) in try read(ByteView(bytes), isComplete, limits) }
        }
        return try result.get()
    }

    private static func read(_ bytes: ByteView, _ isComplete: Bool, _ limits: ImageLimits) throws(ImageError) -> Reading {
        let format: ImageFormat
        switch ImageFormat.detect(bytes) {
        case .found(let found): format = found
        case .needsMore where !isComplete: return .needsMore(max(16, bytes.count + 1))
        case .needsMore, .unknown: throw .unknownFormat
        }
        // The index of these two may stand behind their pixels, and is found in a step or two. All others are read from their start, chunk by chunk.
        let most = format == .tiff || format == .ico ? limits.bodyBytes : limits.headerBytes
        let start = bytes.prefix(most)
        switch try read(start, format) {
        case .header(var header):
            if isComplete, header.orientation == .up { header.orientation = orientationBehindPixels(bytes, format) ?? .up }
            return .header(header)
        case .needsMore(let count):
            guard count <= most else { throw .exceeds(.headerBytes, actual: count, most: most) }
            if isComplete { throw .damaged(format, "it ends before its size is told") }
            return .needsMore(max(count, start.count + 1))
        }
    }

    private static func read(_ bytes: ByteView, _ format: ImageFormat) throws(ImageError) -> Reading {
        switch format {
        case .jpeg: try JPEGHeader.read(bytes)
        case .png: try PNGHeader.read(bytes)
        case .gif: try GIFHeader.read(bytes)
        case .webP: try WebPHeader.read(bytes)
        case .bmp: try BMPHeader.read(bytes)
        case .ico: try ICOHeader.read(bytes)
        case .xbm: try XBMHeader.read(bytes)
        case .tiff: try TIFFHeader.read(bytes, at: 0, .tiff)
        case .avif, .heic, .jpegXL, .svg: throw .unsupported(format)
        }
    }

    private static func orientationBehindPixels(_ bytes: ByteView, _ format: ImageFormat) -> ImageOrientation? {
        switch format {
        case .png: PNGHeader.orientation(bytes)
        case .webP: WebPHeader.orientation(bytes)
        default: nil
        }
    }

    /// - Throws: where a side is none.
    static func checked(
        _ format: ImageFormat, _ width: Int, _ height: Int, orientation: ImageOrientation = .up, frames: Int? = 1,
        isProgressive: Bool = false
    ) throws(ImageError) -> Reading {
        guard width > 0, height > 0 else { throw .damaged(format, "a side of \(min(width, height)) pixels") }
        return .header(
            ImageHeader(
                format: format, width: width, height: height, orientation: orientation, frameCount: frames, isProgressive: isProgressive))
    }
}
