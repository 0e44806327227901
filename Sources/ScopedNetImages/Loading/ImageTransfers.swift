import FoundationEssentials
import HTTPTypes
@_spi(Transport) import ScopedNet
import SystemSupport

/// The transfers of a loader: one for each file, a few at a time.
final class ImageTransfers: Sendable {
    /// One that waits for a file, and wants to know how far it is.
    struct Watcher: Sendable {
        /// True where it wants the bytes as they come.
        let wantsBytes: @Sendable () -> Bool
        let arrived: ArrivingImage.Watcher
        let progressed: @Sendable (TransferProgress) -> Void
    }

    private let session: Session
    private let configuration: ImageLoader.Configuration
    private let accept: String
    private let identity: @Sendable () -> String
    private let permits: Permits
    /// The files that are there or on their way, until their pictures are made: where decoding is behind, transfers wait.
    private let places: Permits
    private let coalescer = RequestCoalescer<ImageTransferKey, ImageBody>()
    private let partials = PartialImages()
    private let misses: MissingImages
    private let watchers = Lock<[ImageTransferKey: [UInt64: Watcher]]>([:])
    private let arriving = Lock<[UInt64: ArrivingImage]>([:])

    /// Makes one that asks `identity` for whom it fetches at a moment.
    init(
        _ session: Session, _ configuration: ImageLoader.Configuration, accept: String, identity: @escaping @Sendable () -> String
    ) {
        (self.session, self.configuration, self.accept, self.identity) = (session, configuration, accept, identity)
        permits = Permits(limit: configuration.transfersAtOnce, order: configuration.order)
        places = Permits(
            limit: max(1, configuration.transfersAtOnce) + max(1, configuration.decodesAtOnce), order: configuration.order)
        misses = MissingImages(age: configuration.missingAge)
    }

    /// Those that run, and those that wait for a permit.
    var counts: (running: Int, waiting: Int) { permits.counts }

    var waiterCount: Int { coalescer.followerCount }
    var arrivedBytes: Int { arriving.withLock { Array($0.values) }.reduce(0) { $0 + $1.count } }

    /// Returns the file of a request; several who ask for the same one get it from one transfer.
    func body(
        of request: ImageRequest, _ key: ImageTransferKey, for asker: CoalescedWork, _ origin: ImageOrigin
    ) async throws -> ImageBody {
        if let error = misses.error(for: key) { throw error }
        return try await coalescer.value(key, of: session, for: asker, fileID: origin.fileID, line: origin.line) { [self] work in
            try await permits.withPermit(origin.number, for: work) {
                try await transfer(request, key, work, try await places.lease(origin.number, for: work), origin)
            }
        }
    }

    /// Tells `watcher` of the file from here on.
    ///
    /// - Returns: what ends that.
    func watch(_ key: ImageTransferKey, _ watcher: Watcher) -> @Sendable () -> Void {
        let id = Identifier.next()
        watchers.withLock { $0[key, default: [:]][id] = watcher }
        return { [self] in
            let gone = watchers.withLock { watchers -> Watcher? in
                let gone = watchers[key]?.removeValue(forKey: id)
                if watchers[key]?.isEmpty == true { watchers[key] = nil }
                return gone
            }
            _ = gone
        }
    }

    func forget() {
        partials.removeAll()
        misses.removeAll()
    }

    private func watchers(of key: ImageTransferKey) -> [Watcher] { watchers.withLock { $0[key].map { Array($0.values) } ?? [] } }

    private func transfer(
        _ request: ImageRequest, _ key: ImageTransferKey, _ work: CoalescedWork, _ lease: Permits.Lease, _ origin: ImageOrigin
    ) async throws -> ImageBody {
        // It waited while another account logged in: the session would send that one's credentials.
        guard identity() == key.identity else { throw ImageLoadError.cancelled }
        let partial = configuration.resumes ? partials.take(key) : nil
        let image = ArrivingImage(
            after: partial, limits: configuration.limits,
            isWatched: { [weak self] in self?.watchers(of: key).contains { $0.wantsBytes() } ?? false }
        ) { [weak self] number, header, data in
            for watcher in self?.watchers(of: key) ?? [] { watcher.arrived(number, header, data) }
        }
        let id = Identifier.next()
        arriving.withLock { $0[id] = image }
        defer { _ = arriving.withLock { $0.removeValue(forKey: id) } }
        do {
            let response = try await response(to: request, key, image, after: partial, work, origin)
            misses.remove(key)
            guard let body = await whole(response, request, key, after: partial) else {
                // Not the rest of that file: all of it, then.
                return try await transfer(request, key, work, lease, origin)
            }
            return try ImageBody(body, from: response, limits: configuration.limits, lease)
        } catch {
            if let error = image.error { throw error }
            let status = (error as? NetworkError)?.status
            // The range is none any more; the beginning was taken, so that this comes once.
            if partial != nil, status == 416 { return try await transfer(request, key, work, lease, origin) }
            // The beginning of a file that is no picture is of no use to the next transfer.
            let isOfUse = status == nil && !(error is ImageError)
            if configuration.resumes, let kept = image.beginning ?? (isOfUse ? partial : nil) { partials.put(kept, for: key) }
            throw failure(error, key)
        }
    }

    /// The file that a response has, or is the rest of; nil for the rest of another one.
    private func whole(
        _ response: Response<Data>, _ request: ImageRequest, _ key: ImageTransferKey, after partial: PartialImage?
    ) async -> Data? {
        guard let partial else { return response.body }
        guard let body = response.status == 206 ? partial.joined(with: response.body, response.head) : response.body else { return nil }
        await store(body, response, request, key)
        return body
    }

    private func failure(_ error: any Error, _ key: ImageTransferKey) -> any Error {
        guard let error = error as? NetworkError else { return error }
        misses.note(error, for: key)
        guard error.code == .bodyTooLarge else { return error }
        let most = configuration.limits.bodyBytes
        return ImageError.exceeds(.bodyBytes, actual: most == .max ? most : most + 1, most: most)
    }

    private func response(
        to wanted: ImageRequest, _ key: ImageTransferKey, _ image: ArrivingImage, after partial: PartialImage?, _ work: CoalescedWork,
        _ origin: ImageOrigin
    ) async throws -> Response<Data> {
        let run = ImageRun { [onLastCancel = configuration.onLastCancel] in
            guard case .finish(let fraction) = onLastCancel else { return false }
            return (image.fraction ?? 0) >= fraction
        }
        let request = request(for: wanted, key, rest: partial).onDownloadProgress { @ArrivalActor [weak self] progress in
            guard image.look() else { return run.stop() }
            for watcher in self?.watchers(of: key) ?? [] { watcher.progressed(progress) }
        }
        request.arm { $0.bodyWatch = .holder { head, body in image.began(head, body) } }
        return try await run.response(to: request, for: work, origin)
    }

    /// Makes the request for a file, or for the rest of it.
    func request(for wanted: ImageRequest, _ key: ImageTransferKey, rest: PartialImage? = nil) -> Request<Data> {
        var headers = wanted.headers
        if headers[.accept] == nil, session.configuration.headers[.accept] == nil { headers[.accept] = accept }
        for (name, value) in rest?.fields ?? [] { headers[HeaderFields.Name(name)] = value }
        return session.request(wanted.url, headers: headers, decoder: .data).options { [limits = configuration.limits] options in
            options.limits.bodyBytes = min(options.limits.bodyBytes, limits.bodyBytes)
            options.priority = wanted.priority
            if let cache = wanted.cache { options.cache = cache }
            // The files of one account are not stored for the next.
            if options.cache.partition.isEmpty { options.cache.partition = key.identity }
            // A part is no answer to another request.
            if rest != nil { options.cache = .off }
        }
    }

    /// Keeps a file that came in two parts, as if it had come in one.
    private func store(_ body: Data, _ response: Response<Data>, _ wanted: ImageRequest, _ key: ImageTransferKey) async {
        guard let cache = session.configuration.cache else { return }
        var headers = response.headers
        headers[.contentRange] = nil
        await cache.store(body, headers: headers, for: request(for: wanted, key))
    }
}
