/// The identity of a picture in memory: where it came from, what was made of it, and the size it was decoded to.
///
/// Its hash is computed once: pictures are looked up while a list scrolls.
public struct ImageKey: Sendable, Hashable {
    /// The URL, in its normal form.
    public let url: String
    /// The difference between two pictures of one URL besides their size: processors, negotiated fields, the identity of who asks.
    public let variant: String
    /// The size in pixels; nil for that of the file.
    public let size: PixelSize?
    private let hash: Int

    /// Makes a key.
    public init(url: String, variant: String = "", size: PixelSize? = nil) {
        self.url = url
        self.variant = variant
        self.size = size
        var hasher = Hasher()
        hasher.combine(url)
        hasher.combine(variant)
        hasher.combine(size)
        hash = hasher.finalize()
    }

    /// Feeds the hash that was computed when the key was made.
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// True for the same URL, variant and size.
    public static func == (left: ImageKey, right: ImageKey) -> Bool {
        left.hash == right.hash && left.size == right.size && left.url == right.url && left.variant == right.variant
    }
}

/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable {
    /// Pixels in a row.
    public var width: Int
    /// Rows.
    public var height: Int

    /// Makes a size.
    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
}
