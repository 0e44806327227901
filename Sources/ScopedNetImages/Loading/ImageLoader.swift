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
    private let results: ImageResults?
    private let count: LoaderCount
    private let urls = Lock(RecencyList<String, String>())
    /// The session's policy, for requests that have none of their own.
    private let readsPictures: Bool
    private let keepsPictures: Bool

    /// Makes a loader.
    ///
    /// - Parameters:
    ///   - session: fetches the files, with its base URL, credentials and cache.
    ///   - configuration: limits, decoders and the memory. Default: 100 MiB of pictures, four transfers at a time.
    public init(_ session: Session, configuration: Configuration = Configuration()) {
        self.session = session
        self.configuration = configuration
        let policy = session.configuration.options.cache
        (readsPictures, keepsPictures) = (policy.readsPictures, policy.keepsPictures)
        let decoders = ImageDecoders(configuration.decoders)
        maker = ImageMaker(decoders: decoders, limits: configuration.limits)
        decoding = DecodePool(limit: configuration.decodesAtOnce, order: configuration.order)
        let identity = currentIdentity
        let transfers = ImageTransfers(session, configuration, accept: decoders.accept) { identity.name }
        self.transfers = transfers
        count = LoaderCount(session)
        results = session.configuration.cache.flatMap { cache in configuration.resultEncoder.map { ImageResults(cache, $0) } }
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

    /// Finds a picture in memory as ``cached(_:)`` does, with its key and its freshness: for views, which ask again for one that is stale.
    package func lookUp(_ request: ImageRequest) -> (key: ImageKey, response: ImageResponse?, isFresh: Bool) {
        let key = keys(of: request).picture
        guard readsMemory(request), let hit = memory.hit(for: key) else { return (key, nil, false) }
        return (key, ImageResponse(image: hit.image, source: .memory, file: hit.file), hit.isFresh)
    }

    /// Finds a picture in memory, fresh or not, without waiting: for the thread that draws.
    ///
    /// - Parameter request: the picture that is wanted.
    /// - Returns: the picture; nil where it has to be loaded.
    public func cached(_ request: ImageRequest) -> DecodedImage? {
        readsMemory(request) ? memory.hit(for: keys(of: request).picture)?.image : nil
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
        try await response(request, in: bag, fileID: fileID, line: line).image
    }

    /// Loads a picture, and awaits it, with the facts of its load; otherwise as ``image(_:in:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - request: the picture that is wanted; text is its URL.
    ///   - bag: ends the load, too. Default: none; cancelling the task ends it.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the picture, where it came from, and the file it was made of.
    /// - Throws: ``ImageLoadError``.
    public func response(
        _ request: ImageRequest, in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(ImageLoadError) -> ImageResponse {
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
    var unfinishedResults: Int { results?.unfinished ?? 0 }

    // MARK: One load

    func start(
        _ request: ImageRequest, _ closures: ImageCall.Closures, in bag: DeallocBag?, fileID: StaticString, line: Int
    ) -> ImageLoad {
        let (keys, origin) = (keys(of: request), ImageOrigin(fileID, line))
        let load = ImageLoad(
            request, keys.picture, among: pictures, of: session, closures, in: bag, onEnd: end(closures, keys.picture), origin)
        if readsMemory(request), let hit = memory.hit(for: keys.picture), hit.isFresh {
            closures.finish(load.operation, .success(ImageResponse(image: hit.image, source: .memory, file: hit.file)))
            return load
        }
        if closures.preview != nil || closures.progress != nil {
            listeners.add(
                ImageListeners.Listener(
                    id: closures.id, operation: load.operation, progress: closures.progress, preview: closures.preview), to: keys.picture)
        }
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
    ) async throws -> ImageResponse {
        let place = results == nil ? nil : ImageResults.place(beside: { transfers.request(for: request, keys.file) }, of: request)
        if let place, readsMemory(request), let response = try await result(place, request, keys.picture, work, origin.number) {
            return response
        }
        do {
            let (response, validator) = try await makeOfFile(request, keys, work, origin)
            if let place, let validator { results?.keep(response.image, at: place, madeOf: validator) }
            return response
        } catch let error as NetworkError where error.status == 404 || error.status == 410 {
            // There is none any more: a list must not go on showing it.
            memory.remove(keys.picture)
            throw error
        }
    }

    /// The picture as it was made once, from the response cache; nil where it has to be made.
    private func result(
        _ place: ImageResults.Place, _ request: ImageRequest, _ key: ImageKey, _ work: CoalescedWork, _ number: UInt64
    ) async throws -> ImageResponse? {
        guard let found = await results?.find(place) else { return nil }
        let image: DecodedImage
        do {
            image = try await decoding.run(number, for: work) { [maker] cancellation in
                try maker.read(found.data, scale: request.scale, cancellation, number: number)
            }
        } catch {
            // One that cannot be read is made again; one that nobody waits for is not.
            try Task.checkCancellation()
            return nil
        }
        StepDoor.pass(.pictureMade, number)
        try Task.checkCancellation()
        if keepsPicture(of: request) {
            memory.insert(
                image, for: key, freshUntil: .now + .seconds(min(found.secondsLeft, 86_400)), validator: found.validator)
        }
        return ImageResponse(image: image, source: .result, file: nil)
    }

    private func makeOfFile(
        _ request: ImageRequest, _ keys: Keys, _ work: CoalescedWork, _ origin: ImageOrigin
    ) async throws -> (response: ImageResponse, validator: String?) {
        let previews = ImagePreviews(interval: configuration.previewInterval) { [maker] header in
            ImageDecodingOptions(size: maker.previewSize(header, request), limits: maker.limits)
        }
        return try await withTaskCancellationHandler {
            async let previewing: Void = showPreviews(previews, request, keys.picture, work, origin.number)
            defer { previews.end() }
            let body = try await body(of: request, keys, work, origin, previews)
            previews.finish()
            await previewing
            if let known = renewed(request, keys.picture, body) { return (body.response(known), nil) }
            // The coefficients of the scans are of no further use to a picture that is larger than its previews.
            if !maker.sharesPreviews(body.header, request) { previews.forget() }
            let image = try await decoding.run(origin.number, for: work) { [maker] cancellation in
                // Of previews in the size of the picture.
                if let decoded = previews.picture(body.data) {
                    return try maker.finish(decoded, body.header, request, cancellation, number: origin.number)
                }
                return try maker.make(body.data, body.header, for: request, cancellation, number: origin.number)
            }
            StepDoor.pass(.pictureMade, origin.number)
            try Task.checkCancellation()
            keep(image, of: request, keys.picture, body)
            return (body.response(image), body.keeping == .never ? nil : body.validator)
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

    private func keep(_ image: DecodedImage, of request: ImageRequest, _ key: ImageKey, _ body: ImageBody) {
        switch keepsPicture(of: request) ? body.keeping : .never {
        case .until(let instant):
            memory.insert(image, for: key, freshUntil: instant, validator: body.validator, file: body.response(image).file)
        // Nor is an older one: others would see it after somebody has seen this.
        case .never: memory.remove(key)
        }
    }

    /// The picture in memory, where the server has said that the file it was made of is still right (status 304): it is not made again.
    private func renewed(_ request: ImageRequest, _ key: ImageKey, _ body: ImageBody) -> DecodedImage? {
        guard body.source == .validatedCache, let validator = body.validator, let hit = memory.hit(for: key), hit.validator == validator
        else { return nil }
        keep(hit.image, of: request, key, body)
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
            StepDoor.pass(.pictureShown, number)
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

    private func readsMemory(_ request: ImageRequest) -> Bool { request.cache?.readsPictures ?? readsPictures }
    private func keepsPicture(of request: ImageRequest) -> Bool { request.cache?.keepsPictures ?? keepsPictures }

    // MARK: Keys

    private final class Identity: Sendable {
        private let value = Lock("")
        var name: String {
            get { value.withLock { $0 } }
            set { value.withLock { $0 = newValue } }
        }
    }

    /// The absolute URL. It is remembered: pictures are looked up while a list scrolls, and describing a request takes microseconds.
    private func url(of text: String) -> String {
        if let known = urls.withLock({ $0.use(text) }) { return known }
        let url = session.request(text, decoder: .data).url
        // One that may become https later (RFC 6797) is looked at each time.
        guard url.hasPrefix("https:") || session.configuration.hsts == nil else { return url }
        let gone = urls.withLock { urls in
            _ = urls.put(url, cost: 1, for: text)
            return urls.trim(to: 1_000)
        }
        _ = gone
        return url
    }

    private struct Keys: Sendable {
        let picture: ImageKey
        let file: ImageTransferKey
    }

    private func keys(of request: ImageRequest) -> Keys {
        let url = url(of: request.url)
        let file = ImageTransferKey(request, url: url, identity: identity)
        return Keys(picture: ImageKey(url: url, variant: file.variant + request.variant, size: request.size), file: file)
    }
}
