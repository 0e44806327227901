import Dispatch
import FoundationEssentials
import HTTPTypes
import ScopedNet
import SystemSupport

/// Pictures as they were made, in the response cache beside their files: the thumbnail of a large picture is read, and not made again.
///
/// A result is as fresh as its file was, and is stored where the file may be. Requests with fields of their own have none: one of them may be a secret.
final class ImageResults: Sendable {
    private let cache: ResponseCache
    private let encoder: any ImageEncoding
    /// Encoding has time.
    private let queue = DispatchQueue(label: "ScopedNetImages.encoding", qos: .background)
    private let writing = Lock(0)

    init(_ cache: ResponseCache, _ encoder: any ImageEncoding) { (self.cache, self.encoder) = (cache, encoder) }

    /// The results that are being encoded and stored: for tests.
    var unfinished: Int { writing.withLock { $0 } }

    /// Makes the request under which a result is stored.
    ///
    /// - Parameters:
    ///   - file: the request for the file.
    ///   - wanted: the picture.
    ///   - key: its key.
    /// - Returns: nil for a picture that is its file's, and for one that is not stored.
    static func request(_ file: Request<Data>, for wanted: ImageRequest, _ key: ImageKey) -> Request<Data>? {
        guard wanted.size != nil || !wanted.processors.isEmpty, wanted.headers.isEmpty, wanted.readsMemory else { return nil }
        let name = "picture \(wanted.size.map { "\($0.width)x\($0.height)" } ?? "") \(wanted.variant)"
        return file.options { options in
            options.cache.customKey = CachePolicy.CustomKey(name) { _, url in "\(name) \(url)" }
            options.cache.timeToLive = nil
        }
    }

    /// Finds the bytes of a result.
    func find(_ request: Request<Data>) async -> ResponseCache.Finding? {
        let found = await cache.find(request)
        return found.flatMap { $0.secondsLeft > 0 && $0.headers[.contentType] == encoder.format.mediaType ? $0 : nil }
    }

    /// Encodes and stores a picture, behind its load. Errors leave it unstored: it can be made again.
    func keep(_ image: DecodedImage, under request: Request<Data>, until: ContinuousClock.Instant) {
        let seconds = Int((until - .now) / .seconds(1))
        guard seconds > 0 else { return }
        writing.withLock { $0 += 1 }
        queue.async { [self] in
            let data = try? encoder.encode(image)
            Task {
                defer { writing.withLock { $0 -= 1 } }
                guard let data else { return }
                let headers: HTTPFields = [.contentType: encoder.format.mediaType, .cacheControl: "max-age=\(seconds)"]
                await cache.store(data, headers: headers, for: request)
            }
        }
    }
}
