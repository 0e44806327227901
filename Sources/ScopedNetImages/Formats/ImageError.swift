public import FoundationEssentials

/// The failure to make a picture of bytes. New cases may be added; keep a default when you switch.
public enum ImageError: Error, Sendable, Hashable {
    /// A limit of ``ImageLimits``, or one that is fixed.
    public enum Limit: String, Sendable, Hashable {
        case bodyBytes, headerBytes, pixels, side, decodedBytes, frames, scans
        /// The segments of a JPEG and the chunks of a PNG: 50,000; the chunks of a WebP that are no frames: 10,000.
        case chunks
    }

    /// The bytes are of no format that is known.
    case unknownFormat
    /// The format is known by name alone, or its decoder is not built in (trait `Images`).
    case unsupported(ImageFormat)
    /// The bytes are no picture of their format, or not all of one.
    case damaged(ImageFormat, String)
    /// A limit is exceeded; nothing was allocated for the pixels.
    case exceeds(Limit, actual: Int, most: Int)
}

extension ImageError: CustomStringConvertible {
    /// One line.
    public var description: String {
        switch self {
        case .unknownFormat: "the bytes are of no known image format"
        case .unsupported(let format): "\(format.mediaType) is not supported"
        case .damaged(let format, let reason): "the \(format.mediaType) is damaged: \(reason)"
        case .exceeds(let limit, let actual, let most): "the image has \(actual) \(limit.rawValue), and \(most) are allowed"
        }
    }
}

extension ImageError: LocalizedError {
    /// ``description``.
    public var errorDescription: String? { description }
}
