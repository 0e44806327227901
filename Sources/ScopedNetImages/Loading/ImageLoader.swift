import FoundationEssentials
public import ScopedNet
import SystemSupport

/// Loads pictures: each file is fetched once, decoded to the size in which it is shown, kept in memory within bounds, and gone with its owner.
///
/// ```swift
/// let images = ImageLoader(session)
/// let image = try await images.image(ImageRequest("users/7/avatar", size: PixelSize(96, 96), mode: .fill, processors: [.circle]))
/// ```
///
/// Keep one for each session. Files stay in the response cache of the session, pictures in ``memory``. Callers who want the same picture share one
/// load, and those who want one file in several sizes share its transfer. Any thread may use it.
public final class ImageLoader: Sendable {
    /// The session that fetches the files.
    public let session: Session
    /// The configuration it was made with.
    public let configuration: Configuration
    /// The pictures in memory.
    public var memory: ImageMemoryCache { configuration.memory }

    private let pictures = ImageLoad.Pictures()
    private let files = RequestCoalescer<ImageTransferKey, Void>()
    private let listeners = ImageListeners()
    private let transfers: ImageTransfers
    private let decoding: DecodePool
    private let maker: ImageMaker
    private let currentIdentity = Identity()
    private let relief: MemoryRelief?

    /// Makes a loader.
    ///
    /// - Parameters:
    ///   - session: fetches the files, with its base URL, credentials and cache.
    ///   - configuration: limits, decoders and the memory. Default: 100 MiB of pictures, four transfers at a time.
    public init(_ session: Session, configuration: Configuration = Configuration()) {
        self.session = session
        self.configuration = configuration
        let decoders = ImageDecoders(configuration.decoders)
        maker = ImageMaker(decoders: decoders, limits: configuration.limits)
        decoding = DecodePool(limit: configuration.decodesAtOnce, order: configuration.order)
        let identity = currentIdentity
        let transfers = ImageTransfers(session, configuration, accept: decoders.accept) { identity.name }
        self.transfers = transfers
        relief =
            configuration.relievesMemory
            ? MemoryRelief { [weak memory = configuration.memory, weak transfers] in
                memory?.removeAll()
                transfers?.forget()
            } : nil
    }

    /// The person or account for whom pictures are fetched, part of the identity of each. Set it at login and logout where credentials are the session's:
    /// what one account was shown is not shown to the next, and loads
    /// of the one before that have not been sent yet are cancelled. Default: empty.
    public var identity: String {
        get { currentIdentity.name }
        set { currentIdentity.name = newValue }
    }

    // MARK: Loading

    /// Finds a picture in memory, fresh or not, without waiting: for the thread that draws.
    ///
    /// - Parameter request: the picture that is wanted.
    /// - Returns: the picture; nil where it has to be loaded.
    public func cached(_ request: ImageRequest) -> DecodedImage? {
        request.readsMemory ? memory.hit(for: keys(of: request).picture)?.image : nil
    }

    /// Loads a picture, and awaits it.
    ///
    /// - Parameters:
    ///   - request: the picture that is wanted; text is its URL.
    ///   - bag: ends the load, too. Default: none; cancelling the task ends it.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the picture.
    /// - Throws: ``ImageLoadError``.
    public func image(
        _ request: ImageRequest, in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(ImageLoadError) -> DecodedImage {
        let waiting = AwaitedImage()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                var closures = ImageCall.Closures()
                closures.success = Callback { waiting.set(.success($0)) }
                closures.failure = Callback { waiting.set(.failure($0)) }
                closures.end = Callback { _ in continuation.resume() }
                waiting.began(start(request, closures, in: bag, fileID: fileID, line: line).operation)
            }
        } onCancel: {
            waiting.cancel()
        }
        return try waiting.result.get()
    }

    /// Makes a load with closures, for a page that shows the picture when it comes.
    ///
    /// - Parameter request: the picture that is wanted; text is its URL.
    /// - Returns: the load, not started.
    public func load(_ request: ImageRequest) -> ImageCall { ImageCall(self, request) }

    /// Fetches pictures ahead, with the least priority. A load that wants one of them meanwhile takes it over.
    ///
    /// - Parameters:
    ///   - requests: the pictures, in the order in which they will be wanted.
    ///   - destination: as far as they go. Default: the files alone, to the response cache.
    ///   - bag: ends it, too. Default: none.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the handle. Keep it: the rest is cancelled when it goes.
    public func prefetch(
        _ requests: [ImageRequest], to destination: ImagePrefetch.Destination = .files, in bag: DeallocBag? = nil,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> ImagePrefetch {
        ImagePrefetch(
            requests.map { request in
                var request = request
                request.priority = .low
                switch destination {
                case .memory: return start(request, ImageCall.Closures(), in: bag, fileID: fileID, line: line).operation
                case .files: return fetch(request, in: bag, fileID, line)
                }
            })
    }

    /// Removes what is in memory: pictures, beginnings of files, and the names of those that are missing. The response cache stays.
    public func removeAll() {
        memory.removeAll()
        transfers.forget()
    }

    /// The work at this moment: transfers and decodings that run, and those that wait for their turn.
    public var activity: Activity {
        let (transfers, decoding) = (transfers.counts, decoding.counts)
        return Activity(
            transfers: transfers.running, waitingTransfers: transfers.waiting, decodings: decoding.running,
            waitingDecodings: decoding.waiting)
    }

    /// Those who wait for a picture and for a file, and the bytes of files that are arriving: for tests.
    var waiterCount: Int { pictures.followerCount }
    var fileWaiters: Int { transfers.waiterCount }
    var arrivedBytes: Int { transfers.arrivedBytes }

    // MARK: One load

    func start(
        _ request: ImageRequest, _ closures: ImageCall.Closures, in bag: DeallocBag?, fileID: StaticString, line: Int
    ) -> ImageLoad {
        let keys = keys(of: request)
        let load = ImageLoad(
            request, keys.picture, among: pictures, of: session, closures, in: bag, onEnd: end(closures, keys.picture), fileID, line)
        if request.readsMemory, let hit = memory.hit(for: keys.picture), hit.isFresh {
            closures.finish(load.operation, .success(hit.image))
            return load
        }
        if closures.preview != nil || closures.progress != nil {
            listeners.add(
                ImageListeners.Listener(
                    id: closures.id, operation: load.operation, progress: closures.progress, preview: closures.preview), to: keys.picture)
        }
        let origin = ImageOrigin(fileID, line)
        load.join(of: session, closures, priority: request.priority, fileID, line) { [weak self] work in
            guard let self else { throw ImageLoadError.cancelled }
            return try await make(request, keys, work, origin)
        }
        return load
    }

    /// The callback for the end of a load, behind which nothing is told of it.
    private func end(_ closures: ImageCall.Closures, _ key: ImageKey) -> Callback<ScopedOperation.Outcome>? {
        guard closures.preview != nil || closures.progress != nil else { return closures.end }
        let id = closures.id
        guard let end = closures.end else { return Callback { [listeners] _ in listeners.remove(id, from: key) } }
        return end.map { [listeners] outcome in
            listeners.remove(id, from: key)
            return outcome
        }
    }

    private func make(
        _ request: ImageRequest, _ keys: Keys, _ work: CoalescedWork, _ origin: ImageOrigin
    ) async throws -> DecodedImage {
        let previews = ImagePreviews(interval: configuration.previewInterval) { [maker] header in
            ImageDecodingOptions(size: maker.decodeSize(header, request), limits: maker.limits)
        }
        return try await withTaskCancellationHandler {
            async let previewing: Void = showPreviews(previews, request, keys.picture, work, origin.number)
            defer { previews.end() }
            let body = try await body(of: request, keys, work, origin, previews)
            previews.finish()
            await previewing
            if let known = renewed(keys.picture, body) { return known }
            let image = try await decoding.run(origin.number, for: work) { [maker] cancellation in
                if let decoded = previews.picture(body.data) { return try maker.finish(decoded, body.header, request, cancellation) }
                return try maker.make(body.data, body.header, for: request, cancellation)
            }
            try Task.checkCancellation()
            keep(image, keys.picture, body)
            return image
        } onCancel: {
            previews.end()
        }
    }

    private func body(
        of request: ImageRequest, _ keys: Keys, _ work: CoalescedWork, _ origin: ImageOrigin, _ previews: ImagePreviews
    ) async throws -> ImageBody {
        let makesPreviews = configuration.makesPreviews && maker.decoders.makesPreviews
        let unwatch = transfers.watch(
            keys.file,
            ImageTransfers.Watcher { [listeners] in
                makesPreviews && listeners.wantsPreviews(keys.picture)
            } arrived: { [listeners] reading, header, data in
                if makesPreviews, listeners.wantsPreviews(keys.picture) { previews.note(reading, header, data) }
            } progressed: { [listeners] progress in
                listeners.tell(progress, of: keys.picture)
            })
        defer { unwatch() }
        return try await transfers.body(of: request, keys.file, for: work, origin)
    }

    private func keep(_ image: DecodedImage, _ key: ImageKey, _ body: ImageBody) {
        switch body.keeping {
        case .until(let instant): memory.insert(image, for: key, freshUntil: instant, validator: body.validator)
        case .never: memory.remove(key)
        }
    }

    /// The picture in memory, where the server has said that the file it was made of is still right (status 304): it is not made again.
    private func renewed(_ key: ImageKey, _ body: ImageBody) -> DecodedImage? {
        guard body.source == .validatedCache, let validator = body.validator, let hit = memory.hit(for: key), hit.validator == validator
        else { return nil }
        keep(hit.image, key, body)
        return hit.image
    }

    private func showPreviews(_ previews: ImagePreviews, _ request: ImageRequest, _ key: ImageKey, _ work: CoalescedWork, _ number: UInt64)
        async
    {
        await previews.run { [decoding, maker, listeners] header, make in
            let image = try? await decoding.run(number, for: work) { cancellation in
                try make().map { try maker.finish($0, header, request, cancellation) }
            }
            guard let image = image ?? nil else { return false }
            listeners.tell(preview: image, of: key)
            return true
        }
    }

    private func fetch(_ request: ImageRequest, in bag: DeallocBag?, _ fileID: StaticString, _ line: Int) -> ScopedOperation {
        let (keys, origin) = (keys(of: request), ImageOrigin(fileID, line))
        return files.join(
            keys.file, of: session, priority: request.priority, in: bag, tag: request.tag, to: Callback { _ in }, fileID: fileID, line: line
        ) { [transfers] work in
            _ = try await transfers.body(of: request, keys.file, for: work, origin)
        }
    }

    // MARK: Keys

    private final class Identity: Sendable {
        private let value = Lock("")
        var name: String {
            get { value.withLock { $0 } }
            set { value.withLock { $0 = newValue } }
        }
    }

    private struct Keys: Sendable {
        let picture: ImageKey
        let file: ImageTransferKey
    }

    private func keys(of request: ImageRequest) -> Keys {
        let url = session.request(request.url, decoder: .data).url
        let file = ImageTransferKey(request, url: url, identity: identity)
        return Keys(picture: ImageKey(url: url, variant: file.variant + request.variant, size: request.size), file: file)
    }
}
