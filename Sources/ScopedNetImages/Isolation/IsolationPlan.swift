#if Images
import CImageCodecs
import FoundationEssentials

/// The request for a picture: the sizes and limits of the decoders in process. No codec has a look at the file here. (pure)
struct IsolationPlan {
    let request: HelperMessage.Request
    private let header: ImageHeader
    private let limits: ImageLimits

    /// - Throws: ``ImageError`` where the limits do not allow the picture.
    init(_ data: Data, _ header: ImageHeader, _ options: ImageDecodingOptions) throws(ImageError) {
        (self.header, limits) = (header, options.limits)
        var (format, frames) = (HelperMessage.Format.jpeg, 0)
        let call: CodecCall
        switch header.format {
        case .jpeg: call = try JPEGDecoder.call(header, options, nil)
        case .png: (format, call) = (.png, try Self.pngCall(data, header, options))
        case .webP where Self.isAnimated(data):
            (format, call) = (.webPAnimation, CodecCall(header, options, nil))
            frames = try WebPFrames(data, header, limits: options.limits).durations.count
        case .webP: (format, call) = (.webP, try Self.webPCall(header, options))
        default: throw .unsupported(header.format)
        }
        guard !data.isEmpty else { throw .damaged(header.format, "it is empty") }
        let codec = try call.request()
        request = HelperMessage.Request(
            format: format, fileBytes: data.count, stored: PixelSize(width: header.width, height: header.height), output: call.output,
            scale: call.scale, scans: Int(codec.max_scans), memory: codec.max_memory, decodedBytes: max(0, options.limits.decodedBytes),
            frames: frames)
    }

    /// As ``PNGDecoder`` has it.
    private static func pngCall(_ data: Data, _ header: ImageHeader, _ options: ImageDecodingOptions) throws(ImageError) -> CodecCall {
        var call = CodecCall(header, options, nil)
        // The last byte of IHDR tells whether it is interlaced.
        let isInterlaced = data.withUnsafeBytes { ByteView($0).u8(28) } != 0
        if let wanted = options.storedSize(header), !isInterlaced {
            call.scale = max(1, min(header.width / wanted.width, header.height / wanted.height))
            call.output = PixelSize(width: (header.width - 1) / call.scale + 1, height: (header.height - 1) / call.scale + 1)
        }
        try options.limits.check(header, target: (call.output.width, call.output.height))
        return call
    }

    /// As ``WebPDecoder`` has it. The helper finds out whether all pixels are held at their stored size, and judges that by `decodedBytes`.
    private static func webPCall(_ header: ImageHeader, _ options: ImageDecodingOptions) throws(ImageError) -> CodecCall {
        var call = CodecCall(header, options, nil)
        if let wanted = options.storedSize(header) { call.output = WebPDecoder.cover(wanted, header) }
        try options.limits.check(header, target: (call.output.width, call.output.height))
        return call
    }

    /// By the flags of the first chunk (RFC 9649 section 2.7).
    private static func isAnimated(_ data: Data) -> Bool {
        data.withUnsafeBytes { bytes in
            let bytes = ByteView(bytes)
            return bytes.has("VP8X", at: 12) && (bytes.u8(20) ?? 0) & 0x02 != 0
        }
    }

    /// - Throws: the error of an answer; none where the pixels are there.
    func check(_ answer: HelperMessage.Answer) throws {
        switch answer.status {
        case .ok: return
        case .damaged: throw ImageError.damaged(header.format, answer.text)
        case .scans: throw ImageError.exceeds(.scans, actual: request.scans + 1, most: request.scans)
        case .chunks: throw ImageError.tooManyChunks(header.format)
        case .memory: throw ImageError.exceeds(.decodedBytes, actual: request.memory, most: limits.decodedBytes)
        case .decoded: throw ImageError.exceeds(.decodedBytes, actual: header.width * header.height * 4, most: limits.decodedBytes)
        case .cancelled, .refused: throw ImageIsolationError.protocolError(answer.text)
        }
    }
}
#endif
