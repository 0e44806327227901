import CPlainImages
import Foundation

/// Plain C: libjpeg-turbo, libpng and libwebp, as a short program would use them.
enum PlainCodec {
    static func jpeg(_ data: Data, eighths: Int) -> plain_image {
        data.withUnsafeBytes { plain_jpeg_decode($0.octets, $0.count, Int32(eighths)) }
    }

    static func png(_ data: Data) -> plain_image { data.withUnsafeBytes { plain_png_decode($0.octets, $0.count) } }

    static func webP(_ data: Data, width: Int = 0, height: Int = 0) -> plain_image {
        data.withUnsafeBytes { plain_webp_decode($0.octets, $0.count, Int32(width), Int32(height)) }
    }

    /// Decodes at the DCT scale that covers the size, and resizes.
    static func jpegThumbnail(_ data: Data, _ eighths: Int, _ width: Int, _ height: Int) -> plain_image {
        resized(jpeg(data, eighths: eighths), width, height)
    }

    /// Decodes all of it, averages most of it away, and resizes the rest.
    static func pngThumbnail(_ data: Data, box: Int, _ width: Int, _ height: Int) -> plain_image {
        var whole = png(data)
        defer { plain_image_free(&whole) }
        return resized(plain_box(&whole, Int32(box)), width, height)
    }

    private static func resized(_ image: plain_image, _ width: Int, _ height: Int) -> plain_image {
        var image = image
        defer { plain_image_free(&image) }
        return plain_resize(&image, Int32(width), Int32(height))
    }

    /// Processor time of making a picture and freeing it again.
    static func time(_ make: () -> plain_image) -> Double {
        Stopwatch.thread {
            var image = make()
            plain_image_free(&image)
        }
    }
}

extension UnsafeRawBufferPointer {
    var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
