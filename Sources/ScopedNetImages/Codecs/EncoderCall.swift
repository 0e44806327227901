#if Images
import CImageCodecs
import FoundationEssentials

/// One encoding in C.
struct EncoderCall {
    let format: ImageFormat
    /// The most pixels of a side that the format can tell.
    let most: Int
    var request = scopednet_encode_request()

    init(_ format: ImageFormat, most: Int) { (self.format, self.most) = (format, most) }

    typealias Function = (
        UnsafePointer<scopednet_encode_request>, UnsafeMutablePointer<scopednet_bytes>, UnsafeMutablePointer<CChar>
    ) -> scopednet_codec_status

    /// Encodes into memory that the returned data owns.
    func encode(_ image: DecodedImage, with function: Function) throws -> Data {
        let side = max(image.width, image.height)
        guard side <= most, let width = Int32(exactly: image.width), let height = Int32(exactly: image.height) else {
            throw ImageError.exceeds(.side, actual: side, most: most)
        }
        return try image.withPixels { pixels in
            var request = request
            (request.width, request.height, request.is_premultiplied) = (width, height, image.isPremultiplied)
            request.pixels = pixels.octets
            var output = scopednet_bytes()
            let (status, message) = CodecMessage.read { function(&request, &output, $0) }
            guard status == SCOPEDNET_CODEC_OK, let start = output.start else {
                // The one other reason is memory.
                guard status == SCOPEDNET_CODEC_DAMAGED else { throw ImageError.exceeds(.bodyBytes, actual: image.byteCount, most: 0) }
                throw ImageError.damaged(format, message)
            }
            return Data(bytesNoCopy: start, count: output.count, deallocator: .free)
        }
    }
}
#endif
