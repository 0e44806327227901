#if Images
import CImageCodecs
import FoundationEssentials

/// The frames of an animated WebP, by its container (RFC 9649 section 2.7).
struct WebPFrames: AnimationFrames {
    let format = ImageFormat.webP
    let width: Int
    let height: Int
    private(set) var loopCount = 1
    private(set) var durations: [Duration] = []
    /// A copy of the file, which stays where it is as long as there is a canvas: libwebp reads each frame from it.
    private let file: PixelBuffer

    /// Reads the chunks of all frames, and none of their pixels.
    init(_ data: Data, _ header: ImageHeader, limits: ImageLimits) throws(ImageError) {
        (width, height) = (header.width, header.height)
        // Two surfaces of libwebp and the frame that is made of them.
        try limits.check(header, target: (width, height))
        let (held, overflows) = (width * height).multipliedReportingOverflow(by: 12)
        guard !overflows, held <= limits.decodedBytes else {
            throw .exceeds(.decodedBytes, actual: overflows ? .max : held, most: limits.decodedBytes)
        }
        do {
            file = try PixelBuffer(byteCount: data.count) { _ = data.copyBytes(to: $0) }
        } catch {
            throw .exceeds(.bodyBytes, actual: data.count, most: limits.bodyBytes)
        }
        let result = file.withBytes { bytes in Result { () throws(ImageError) in try Self.read(ByteView(bytes), limits) } }
        (loopCount, durations) = try result.get()
    }

    func makeCanvas() throws(ImageError) -> any AnimationCanvas {
        guard let canvas = WebPCanvas(file, width, height, frames: durations.count) else {
            throw .damaged(.webP, "its frames are not those of its container")
        }
        return canvas
    }

    /// Walks over the chunks. Their number is bounded by that of frames, besides some others.
    private static func read(_ bytes: ByteView, _ limits: ImageLimits) throws(ImageError) -> (Int, [Duration]) {
        var (offset, loops, others, durations) = (12, 1, 0, [Duration]())
        guard let size = bytes.u32LE(4), size + 8 <= bytes.count else { throw .damaged(.webP, "it is cut short") }
        while offset < size + 8, let length = bytes.u32LE(offset + 4) {
            if bytes.has("ANMF", at: offset) {
                guard durations.count < limits.frames else { throw .exceeds(.frames, actual: durations.count + 1, most: limits.frames) }
                guard length >= 16, let milliseconds = bytes.u24LE(offset + 20) else { throw .damaged(.webP, "a frame is cut short") }
                durations.append(.milliseconds(milliseconds < 20 ? 100 : milliseconds))
            } else {
                others += 1
                guard others <= SCOPEDNET_MOST_WEBP_CHUNKS else { throw .tooManyChunks(.webP) }
                if bytes.has("ANIM", at: offset) { loops = bytes.u16LE(offset + 12) ?? 1 }
            }
            offset += 8 + length + length % 2
        }
        guard !durations.isEmpty else { throw .damaged(.webP, "no frame") }
        return (loops, durations)
    }
}

/// The surface on which libwebp draws the frames.
private final class WebPCanvas: AnimationCanvas, @unchecked Sendable {
    // Safety: `AnimatedImage` takes a canvas out of its lock while a thread draws on it; `deinit` frees the decoder when no other
    // reference exists.
    private let frames: OpaquePointer
    private let file: PixelBuffer
    private let width: Int
    private let height: Int
    /// Memory of the decoder, which the next frame is drawn on.
    private var pixels: UnsafePointer<UInt8>?
    private(set) var latest: Int?

    init?(_ file: PixelBuffer, _ width: Int, _ height: Int, frames count: Int) {
        guard let width32 = Int32(exactly: width), let height32 = Int32(exactly: height), let count = Int32(exactly: count) else {
            return nil
        }
        // Safety: the address stays valid, as this object keeps the buffer, which is never written again.
        let frames = file.withBytes { bytes in
            scopednet_webp_frames_make(bytes.octets, bytes.count, width32, height32, count)
        }
        guard let frames else { return nil }
        (self.frames, self.file, self.width, self.height) = (frames, file, width, height)
    }

    deinit { scopednet_webp_frames_free(frames) }

    func drawNext() throws {
        let (status, message) = CodecMessage.read { scopednet_webp_frames_next(frames, &pixels, $0) }
        guard status == SCOPEDNET_CODEC_OK else { throw ImageError.damaged(.webP, message) }
        latest = (latest ?? -1) + 1
    }

    func image(_ limits: ImageLimits) throws -> DecodedImage {
        guard let pixels else { throw ImageError.damaged(.webP, "no frame") }
        return try DecodedImage(width: width, height: height, limits: limits) { output in
            output.copyMemory(from: UnsafeRawBufferPointer(start: pixels, count: width * height * 4))
        }
    }
}
#endif
