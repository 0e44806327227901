public import ScopedNet

/// A picture, and the facts of its load.
public struct ImageResponse: Sendable {
    /// The place from which a picture came.
    public enum Source: Sendable, Hashable {
        /// The memory cache: nothing was read, and nothing decoded.
        case memory
        /// The response cache, where pictures are kept as they were made (``ImageLoader/Configuration/resultEncoder``).
        case result
        /// A file, which came from there.
        case file(ResponseSource)
    }

    /// The file of a picture.
    public struct File: Sendable, Hashable {
        /// Its format, and the size and orientation as stored.
        public let header: ImageHeader
        /// Its bytes.
        public let byteCount: Int
    }

    /// The picture.
    public let image: DecodedImage
    /// The place from which it came. Those who share one load have the same.
    public let source: Source
    /// The file that it was made of; nil where that is not known: of a result, and of a picture that a program put into memory itself.
    public let file: File?
}
