import FoundationEssentials
import HTTPTypes
import ScopedNet
import SystemSupport

/// The transfers of a loader: one for each file, a few at a time.
final class ImageTransfers: Sendable {
    private let session: Session
    private let configuration: ImageLoader.Configuration
    private let accept: String
    private let permits: Permits
    private let coalescer = RequestCoalescer<ImageTransferKey, ImageBody>()
    private let partials = PartialImages()
    private let misses: MissingImages
    /// The files that are arriving or are watched, and the number of their users.
    private let arriving = Lock<[ImageTransferKey: (image: ArrivingImage, users: Int)]>([:])

    init(_ session: Session, _ configuration: ImageLoader.Configuration, accept: String) {
        (self.session, self.configuration, self.accept) = (session, configuration, accept)
        permits = Permits(limit: configuration.transfersAtOnce, order: configuration.order)
        misses = MissingImages(age: configuration.missingAge)
    }

    /// Those that run, and those that wait for a permit.
    var counts: (running: Int, waiting: Int) { permits.counts }

    var waiterCount: Int { coalescer.followerCount }
    var arrivedBytes: Int { arriving.withLock { $0.values.map(\.image) }.reduce(0) { $0 + $1.count } }

    /// Returns the file of a request; several who ask for the same one get it from one transfer.
    ///
    /// `progress` is called with each progress of the transfer.
    func body(
        of request: ImageRequest, _ key: ImageTransferKey, for asker: CoalescedWork, _ origin: ImageOrigin,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> ImageBody {
        if let error = misses.error(for: key) { throw error }
        return try await coalescer.value(key, of: session, for: asker, fileID: origin.fileID, line: origin.line) { [self] work in
            try await permits.withPermit(origin.number, for: work) { try await transfer(request, key, work, progress) }
        }
    }

    /// Shows a file that is arriving, or will be, to `watcher`.
    ///
    /// - Returns: what ends that.
    func watch(_ key: ImageTransferKey, _ watcher: @escaping ArrivingImage.Watcher) -> @Sendable () -> Void {
        let (image, id) = (use(key), Identifier.next())
        image.watch(id, watcher)
        return { [self] in
            image.unwatch(id)
            leave(key)
        }
    }

    func forget() {
        partials.removeAll()
        misses.removeAll()
    }

    private func use(_ key: ImageTransferKey) -> ArrivingImage {
        let fresh = ArrivingImage(limits: configuration.limits)
        return arriving.withLock { images in
            images[key, default: (fresh, 0)].users += 1
            return images[key]?.image ?? fresh
        }
    }

    /// The last user lets go of it.
    private func leave(_ key: ImageTransferKey) {
        let gone = arriving.withLock { images -> ArrivingImage? in
            images[key]?.users -= 1
            return images[key]?.users == 0 ? images.removeValue(forKey: key)?.image : nil
        }
        _ = gone
    }

    private func transfer(
        _ request: ImageRequest, _ key: ImageTransferKey, _ work: CoalescedWork, _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> ImageBody {
        let (image, partial) = (use(key), configuration.resumes ? partials.take(key) : nil)
        defer { leave(key) }
        do {
            let response = try await response(to: request, key, image, after: partial, work, progress)
            misses.remove(key)
            guard let partial, response.status == 206 else {
                return try ImageBody(response.body, from: response, limits: configuration.limits)
            }
            guard let whole = partial.joined(with: response.body, response.head) else {
                return try await transfer(request, key, work, progress)
            }
            await store(whole, response, request, key)
            return try ImageBody(whole, from: response, limits: configuration.limits)
        } catch {
            if let error = image.error { throw error }
            if (error as? NetworkError)?.code == .bodyTooLarge {
                let most = configuration.limits.bodyBytes
                throw ImageError.exceeds(.bodyBytes, actual: most + 1, most: most)
            }
            if let error = error as? NetworkError { misses.note(error, for: key) }
            if configuration.resumes, let partial = image.partial ?? partial { partials.put(partial, for: key) }
            throw error
        }
    }

    private func response(
        to wanted: ImageRequest, _ key: ImageTransferKey, _ image: ArrivingImage, after partial: PartialImage?, _ work: CoalescedWork,
        _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> Response<Data> {
        let run = ImageRun { [onLastCancel = configuration.onLastCancel] in
            guard case .finish(let fraction) = onLastCancel else { return false }
            return (image.fraction ?? 0) >= fraction
        }
        let request = request(for: wanted, key, rest: partial).onDownloadProgress { progress($0) }
            .onBody { [resumes = configuration.resumes] head, bytes in
                try await image.read(head, bytes, after: partial?.data ?? Data(), keeping: resumes) { run.stop() }
            }
        return try await run.response(to: request, for: work)
    }

    private func request(for wanted: ImageRequest, _ key: ImageTransferKey, rest: PartialImage?) -> Request<Data> {
        var headers = wanted.headers
        if headers[.accept] == nil, session.configuration.headers[.accept] == nil { headers[.accept] = accept }
        for (name, value) in rest?.fields ?? [] { headers[HeaderFields.Name(name)] = value }
        return session.request(wanted.url, headers: headers, decoder: .data).options { [limits = configuration.limits] options in
            options.limits.bodyBytes = min(options.limits.bodyBytes, limits.bodyBytes)
            options.timeouts.total = options.timeouts.total ?? .seconds(60)
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
        await cache.store(body, headers: headers, for: request(for: wanted, key, rest: nil))
    }
}
