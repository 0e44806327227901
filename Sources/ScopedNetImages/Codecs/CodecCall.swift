#if Images
import CImageCodecs
import FoundationEssentials

/// One decoding in C: the sizes and limits that are handed over, and the errors that come back.
struct CodecCall {
    let header: ImageHeader
    let limits: ImageLimits
    let cancellation: DecodingCancellation?
    /// The size that is written.
    var output: PixelSize
    /// Eighths of a JPEG, or the side of a box of pixels of a PNG.
    var scale = 1

    typealias Function = (UnsafePointer<scopednet_decode_request>, UnsafeMutablePointer<CChar>) -> scopednet_codec_status

    init(_ header: ImageHeader, _ options: ImageDecodingOptions, _ cancellation: DecodingCancellation?) {
        (self.header, limits, self.cancellation) = (header, options.limits, cancellation)
        output = PixelSize(width: header.width, height: header.height)
    }

    /// Decodes straight into the memory of the picture. The limits are the caller's to check.
    func decode(_ data: Data, with function: Function) throws -> DecodedImage {
        var request = try request()
        let buffer = try PixelBuffer(byteCount: output.width * output.height * 4) { pixels in
            try data.withUnsafeBytes { bytes in
                request.bytes = bytes.octets
                request.count = bytes.count
                request.pixels = pixels.octets
                try run { message in withUnsafePointer(to: request) { function($0, message) } }
            }
        }
        return DecodedImage(width: output.width, height: output.height, buffer: buffer)
    }

    /// The request, without bytes and pixels.
    func request() throws(ImageError) -> scopednet_decode_request {
        var request = scopednet_decode_request()
        request.width = try Self.side(header.width)
        request.height = try Self.side(header.height)
        request.output_width = try Self.side(output.width)
        request.output_height = try Self.side(output.height)
        request.scale = Int32(clamping: scale)
        request.max_scans = Int32(clamping: scans)
        request.max_memory = most
        request.cancel = cancellation?.address
        return request
    }

    /// The bytes for coefficients: two for each of four in a pixel, which is twice as many as of its colours.
    private var most: Int {
        let (twice, overflows) = limits.decodedBytes.multipliedReportingOverflow(by: 2)
        return overflows ? .max : max(1, twice)
    }

    private var scans: Int { limits.scans(width: header.width, height: header.height) }

    private static func side(_ side: Int) throws(ImageError) -> Int32 {
        guard let side = Int32(exactly: side) else { throw .exceeds(.side, actual: side, most: Int(Int32.max)) }
        return side
    }

    /// Makes a call, and an error of its status and message. The flag outlives the call.
    func run(_ body: (UnsafeMutablePointer<CChar>) -> scopednet_codec_status) throws {
        try withExtendedLifetime(cancellation) {
            let (status, message) = CodecMessage.read(body)
            switch status {
            case SCOPEDNET_CODEC_OK: return
            case SCOPEDNET_CODEC_CANCELLED: throw CancellationError()
            // No more than one too many are counted.
            case SCOPEDNET_CODEC_SCANS: throw ImageError.exceeds(.scans, actual: Int(Int32(clamping: scans)) + 1, most: scans)
            case SCOPEDNET_CODEC_CHUNKS: throw ImageError.tooManyChunks(header.format)
            case SCOPEDNET_CODEC_MEMORY: throw ImageError.exceeds(.decodedBytes, actual: most, most: limits.decodedBytes)
            default: throw ImageError.damaged(header.format, message)
            }
        }
    }
}

extension ImageError {
    /// Makes the error for more segments of a JPEG or chunks than are allowed. No more than one too many are counted.
    static func tooManyChunks(_ format: ImageFormat) -> ImageError {
        let most = Int(format == .webP ? SCOPEDNET_MOST_WEBP_CHUNKS : SCOPEDNET_MOST_CHUNKS)
        return .exceeds(.chunks, actual: most + 1, most: most)
    }
}

/// The buffer for messages of C.
enum CodecMessage {
    /// Makes a call with a buffer for its message, which is empty where it says nothing.
    static func read<Status>(_ body: (UnsafeMutablePointer<CChar>) -> Status) -> (Status, String) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(SCOPEDNET_MESSAGE_SIZE)) { buffer in
            buffer.initialize(repeating: 0)
            // Safety: a buffer of that many bytes has an address.
            guard let start = buffer.baseAddress else { preconditionFailure("a buffer without an address") }
            let status = body(start)
            return (status, String(cString: start))
        }
    }
}

// Safety: of the two buffers one is a file, which `Data` holds as bytes, and the other pixels, which are allocated without a type. C has
// them for the length of a call.
extension UnsafeRawBufferPointer {
    var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
    var octets: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension ImageDecodingOptions {
    /// The size wanted along the sides as stored: at least 1, at most that of the file; nil for that of the file.
    func storedSize(_ header: ImageHeader) -> PixelSize? {
        guard let size else { return nil }
        let (width, height) = header.orientation.swapsSides ? (size.height, size.width) : (size.width, size.height)
        return PixelSize(width: max(1, min(width, header.width)), height: max(1, min(height, header.height)))
    }
}
#endif
