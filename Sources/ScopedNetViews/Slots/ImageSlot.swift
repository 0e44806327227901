public import ScopedNet
public import ScopedNetImages

/// The picture of one view: at most one load at a time, which ends with the slot.
///
/// ```swift
/// final class Row: ImageDisplaying {
///     lazy var photo = ImageSlot(for: self, loader: images)
/// }
/// row.photo.bind(ImageBinding("photos/7"))
/// ```
///
/// - Another request cancels the one before, silently; its result is never shown.
/// - The same request, while it is loading, goes on, and the closures of the new binding take the place of the old ones.
/// - A fresh picture in memory is shown before `bind` returns. A stale one is shown at once, too, and loaded again.
/// - Otherwise the placeholder is shown until the picture comes, and stays where it does not.
///
/// Make it a property of the view, or of the object behind it, and give it the bag of the view if there is one: the load ends with whichever goes first. A
/// bag may own it, too (`bag.insert(slot)`). It holds the view weakly.
@MainActor public final class ImageSlot<Target: ImageDisplaying>: Cancellable {
    private let core: ImageSlotCore<Target>

    /// Makes a slot without a picture.
    ///
    /// - Parameters:
    ///   - target: the view, held weakly.
    ///   - loader: loads the pictures; views may share one, or have their own.
    ///   - bag: ends the slot, for good. Default: none; the load ends with the slot.
    public init(for target: Target, loader: ImageLoader, in bag: DeallocBag? = nil) { core = ImageSlotCore(target, loader, in: bag) }

    /// True while a picture is loading.
    public var isLoading: Bool { core.isLoading }

    /// The picture that is loading; nil where none is.
    public var request: ImageRequest? { core.request }

    /// Asks for a picture, in place of the one before. Once the bag has ended it does nothing.
    ///
    /// - Parameters:
    ///   - binding: the picture, its placeholder and closures.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    public func bind(_ binding: ImageBinding<Target>, fileID: StaticString = #fileID, line: Int = #line) {
        core.bind(binding, at: .init(), fileID, line) { target, image, isPreview in
            if isPreview, let image { target.displayPreview(image) } else { target.display(image) }
        }
    }

    /// Ends the load, silently: no closure is called, and the view keeps what it shows. Idempotent, any thread.
    nonisolated public func cancel() { core.cancel() }
}
