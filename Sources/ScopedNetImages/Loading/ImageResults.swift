import Dispatch
import FoundationEssentials
import HTTPTypes
import ScopedNet
import SystemSupport

/// Pictures as they were made, in the response cache beside their files: the thumbnail of a large picture is read, and not made again.
///
/// A result counts while the very file that it was made of is in the cache and fresh: what refreshes, replaces or removes the file, or all that an account
/// has stored, does so to its results. Files without `ETag` and `Last-Modified` have none, nor have
/// requests with fields of their own: one of them may be a secret.
final class ImageResults: Sendable {
    /// The requests under which a result and its file are stored.
    struct Place: Sendable {
        let result: Request<Data>
        let file: Request<Data>
    }

    /// A result that was found.
    struct Finding: Sendable {
        let data: Data
        let secondsLeft: Int
        /// That of the file.
        let validator: String?
    }

    private struct Waiting: Sendable {
        var count = 0
        var bytes = 0
    }

    private let cache: ResponseCache
    private let encoder: any ImageEncoding
    /// Encoding has time.
    private let queue = DispatchQueue(label: "ScopedNetImages.encoding", qos: .background)
    private let waiting = Lock(Waiting())
    /// Pixels that wait to be encoded are held beside the memory cache: the rest is made again when it is wanted.
    private static let mostBytes = 32 << 20
    /// The version of the file that a result was made of.
    private static let versionField = HTTPField.Name("X-Picture-Version")

    init(_ cache: ResponseCache, _ encoder: any ImageEncoding) { (self.cache, self.encoder) = (cache, encoder) }

    /// The results that are being encoded and stored: for tests.
    var unfinished: Int { waiting.withLock { $0.count } }

    /// Makes the place of a result.
    ///
    /// - Parameters:
    ///   - file: makes a request for the file.
    ///   - wanted: the picture.
    /// - Returns: nil for a picture that is its file's, and for one that is not stored.
    static func place(beside file: () -> Request<Data>, of wanted: ImageRequest) -> Place? {
        guard wanted.size != nil || !wanted.processors.isEmpty, wanted.headers.isEmpty else { return nil }
        let name = "picture \(wanted.size.map { "\($0.width)x\($0.height)" } ?? "") \(wanted.variant)"
        let result = file().options { options in
            let own = options.cache.customKey
            options.cache.customKey = CachePolicy.CustomKey("\(name) \(own?.name ?? "")") { method, url in
                "\(name) \(own?.make(method, url) ?? url)"
            }
            options.cache.timeToLive = nil
        }
        return Place(result: result, file: file())
    }

    /// Finds a result of the file that is stored now.
    func find(_ place: Place) async -> Finding? {
        guard let version = await version(of: place.file), let found = await cache.find(place.result), found.secondsLeft > 0,
            found.headers[.contentType] == encoder.format.mediaType,
            Self.versionField.map({ found.headers[$0] == version.name }) == true
        else { return nil }
        return Finding(data: found.body, secondsLeft: min(found.secondsLeft, version.secondsLeft), validator: version.name)
    }

    /// Encodes and stores a picture, behind its load. Errors leave it unstored: it can be made again.
    ///
    /// - Parameters:
    ///   - image: the picture.
    ///   - place: the place.
    ///   - validator: that of the file which it was made of.
    func keep(_ image: DecodedImage, at place: Place, madeOf validator: String) {
        let isTaken = waiting.withLock { waiting in
            guard waiting.bytes + image.byteCount <= Self.mostBytes else { return false }
            waiting.count += 1
            waiting.bytes += image.byteCount
            return true
        }
        guard isTaken else { return }
        queue.async { [self] in
            let data = try? encoder.encode(image)
            let bytes = image.byteCount
            Task {
                if let data { await store(data, at: place, madeOf: validator) }
                waiting.withLock { waiting in
                    waiting.count -= 1
                    waiting.bytes -= bytes
                }
            }
        }
    }

    /// The file is looked at now: while the picture was encoded it may have been refreshed, and the picture is of the one before, or its account removed.
    private func store(_ data: Data, at place: Place, madeOf validator: String) async {
        guard let version = await version(of: place.file), version.name == validator, let field = Self.versionField else { return }
        let headers: HTTPFields = [
            .contentType: encoder.format.mediaType, .cacheControl: "max-age=\(version.secondsLeft)", field: version.name,
        ]
        await cache.store(data, headers: headers, for: place.result)
    }

    private func version(of file: Request<Data>) async -> (name: String, secondsLeft: Int)? {
        guard let found = await cache.find(file, withBody: false), found.secondsLeft > 0,
            let validator = found.headers[.eTag] ?? found.headers[.lastModified]
        else { return nil }
        return (validator, found.secondsLeft)
    }
}
