/// An object whose requests end with it.
///
/// ```swift
/// @MainActor final class FeedModel: RequestOwner {
///     nonisolated let deallocBag = DeallocBag()
///     func load() { session.get("feed", as: Feed.self).start(for: self, onSuccess: { model, feed in model.feed = feed }) }
/// }
/// ```
public protocol RequestOwner: AnyObject {
    /// Make it the first stored property, so that it ends before the others are gone.
    nonisolated var deallocBag: DeallocBag { get }
}
