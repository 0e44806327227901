import SystemSupport

/// Decoded pictures in memory; the least recently used ones go first. Any thread may use it.
///
/// Pictures may take `capacity` bytes. Above that those that were not used for longest go, until no more than `preferredUsage` is left: many at
/// a time, so that not every insertion has to. One that is larger than a tenth of the capacity is not kept, as it would push out a whole screen of
/// small ones. Pictures go outside the lock.
///
/// An entry carries the freshness of its response (RFC 9111 section 4.2): a picture that has become stale is still there, and says so.
public final class ImageMemoryCache: Sendable {
    /// A picture that was found.
    public struct Hit: Sendable {
        /// The picture.
        public let image: DecodedImage
        /// False where the response that it came with is stale by now: show it, and ask again.
        public let isFresh: Bool
        /// Names the version of the file that it was made of.
        let validator: String?
        let file: ImageResponse.File?
    }

    /// A class: its place in the list is then a pointer, which is moved without asking the runtime for the layout of an instant.
    private final class Entry: Sendable {
        let image: DecodedImage
        let freshUntil: ContinuousClock.Instant?
        let validator: String?
        let file: ImageResponse.File?

        init(image: DecodedImage, freshUntil: ContinuousClock.Instant?, validator: String?, file: ImageResponse.File?) {
            (self.image, self.freshUntil, self.validator, self.file) = (image, freshUntil, validator, file)
        }
    }

    /// The most bytes that pictures take. Default: 100 MiB.
    public let capacity: Int
    /// The bytes that are left after a sweep. Default: 60 MiB.
    public let preferredUsage: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let list = Lock(RecencyList<ImageKey, Entry>())

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - capacity: bytes; negative ones are zero, which keeps nothing.
    ///   - preferredUsage: bytes; at most `capacity`.
    ///   - now: the present time. Default: that of the continuous clock.
    public init(
        capacity: Int = 100 << 20, preferredUsage: Int = 60 << 20, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.capacity = max(0, capacity)
        self.preferredUsage = min(max(0, preferredUsage), max(0, capacity))
        self.now = now
    }

    /// The bytes that pictures take at this moment.
    public var usage: Int { list.withLock { $0.cost } }
    /// The number of pictures.
    public var count: Int { list.withLock { $0.count } }

    /// Finds a picture, which counts as a use of it.
    public func hit(for key: ImageKey) -> Hit? {
        guard let entry = list.withLock({ $0.use(key) }) else { return nil }
        return Hit(image: entry.image, isFresh: entry.freshUntil.map { now() < $0 } ?? true, validator: entry.validator, file: entry.file)
    }

    /// Keeps a picture, in place of one with the same key.
    ///
    /// - Parameters:
    ///   - image: the picture. Its cost is the bytes that it holds.
    ///   - key: its key.
    ///   - freshUntil: the time from which it is stale; nil for one that does not age, such as of a `data:` URL. What came with `no-store` is not
    ///     to be kept.
    /// - Returns: false where it is too large to be kept; what had that key has gone all the same.
    @discardableResult
    public func insert(_ image: DecodedImage, for key: ImageKey, freshUntil: ContinuousClock.Instant? = nil) -> Bool {
        insert(image, for: key, freshUntil: freshUntil, validator: nil, file: nil)
    }

    @discardableResult
    func insert(
        _ image: DecodedImage, for key: ImageKey, freshUntil: ContinuousClock.Instant?, validator: String?, file: ImageResponse.File? = nil
    ) -> Bool {
        let cost = image.byteCount
        let isKept = cost <= capacity / 10
        let gone = list.withLock { list -> [Entry] in
            guard isKept else { return list.remove(key).map { [$0] } ?? [] }
            let old = list.put(Entry(image: image, freshUntil: freshUntil, validator: validator, file: file), cost: cost, for: key)
            return (old.map { [$0] } ?? []) + (list.cost > capacity ? list.trim(to: preferredUsage) : [])
        }
        // Let go outside the lock: pictures are large.
        _ = gone
        return isKept
    }

    /// The keys of all pictures, the one used last at the end.
    var keys: [ImageKey] { list.withLock { $0.keys } }

    /// Removes a picture.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func remove(_ key: ImageKey) -> Bool { list.withLock { $0.remove(key) } != nil }

    /// Removes the pictures that were not used for longest, until no more than `bytes` are left.
    public func trim(to bytes: Int) { _ = list.withLock { $0.trim(to: max(0, bytes)) } }

    /// Removes all pictures.
    public func removeAll() { trim(to: 0) }
}
