public import ScopedNet
public import ScopedNetImages

/// A picture for a view: the request, the picture until it comes, and closures. A value; ``ImageSlot`` puts it to work.
///
/// Closures run on the main actor, are handed the target, which nothing here keeps alive, and are destroyed at the end of the load or at its cancel,
/// called or not. A cancel calls none of them.
public struct ImageBinding<Target: AnyObject>: Sendable {
    /// The picture that is wanted; nil for none: a load that runs is cancelled, and the placeholder is shown.
    public var request: ImageRequest?
    /// The picture until it comes, and after a failure. Default: none, so that a row that is used again does not show the picture of another.
    public var placeholder: ImagePlaceholder
    /// Progressive pictures are shown while they arrive. Default: true.
    public var showsPreviews = true
    /// Takes the place of showing the picture, which is then left to the closure; from memory it is called before `bind` returns, and once more where
    /// that picture is stale and another comes. Default: nil.
    public var onSuccess: (@MainActor (Target, ImageResponse) -> Void)?
    /// Told of a failure, beside the placeholder that stays. Default: nil.
    public var onFailure: (@MainActor (Target, ImageLoadError) -> Void)?
    /// Told of the bytes of the transfer, which others may share. Default: nil.
    public var onProgress: (@MainActor (Target, TransferProgress) -> Void)?

    /// Makes a binding.
    ///
    /// - Parameters:
    ///   - request: the picture that is wanted; text is its URL.
    ///   - placeholder: the picture until it comes. Default: none.
    ///   - onSuccess: in place of showing it. Default: it is shown.
    ///   - onFailure: told of a failure. Default: nothing is done.
    public init(
        _ request: ImageRequest?, placeholder: ImagePlaceholder = .clear, onSuccess: (@MainActor (Target, ImageResponse) -> Void)? = nil,
        onFailure: (@MainActor (Target, ImageLoadError) -> Void)? = nil
    ) {
        (self.request, self.placeholder, self.onSuccess, self.onFailure) = (request, placeholder, onSuccess, onFailure)
    }
}

/// The picture of a view until the one that is wanted comes.
public enum ImagePlaceholder: Sendable {
    /// The picture that is there stays.
    case keep
    /// No picture is shown.
    case clear
    /// This picture is shown.
    case placeholder(DecodedImage)
}
