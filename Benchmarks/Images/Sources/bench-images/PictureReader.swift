import Foundation
import ScopedNetImages

/// Decoding as a program does it without a loader: the header, the decoder of the format, and a resize.
enum PictureReader {
    private static let decoders: [any ImageDecoding] = .standard

    static func decoder(for format: ImageFormat) throws -> any ImageDecoding {
        guard let decoder = decoders.last(where: { $0.formats.contains(format) }) else { throw ImageError.unsupported(format) }
        return decoder
    }

    static func header(_ data: Data) throws -> ImageHeader {
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true) else { throw ImageError.unknownFormat }
        return header
    }

    /// Makes a picture that lies within a size, or has that of the file.
    static func picture(_ data: Data, size: PixelSize? = nil) throws -> DecodedImage {
        let header = try header(data)
        let decoder = try decoder(for: header.format)
        guard let size else { return try decoder.decode(data, header: header, options: ImageDecodingOptions()) }
        let least = size.minimumDecodeSize(stored: PixelSize(header.width, header.height))
        let decoded = try decoder.decode(data, header: header, options: ImageDecodingOptions(size: least))
        return try ImageProcessors.Resize(size).process(decoded)
    }

    static func time(_ data: Data, size: PixelSize? = nil) throws -> Double { try Stopwatch.thread { _ = try picture(data, size: size) } }
}
