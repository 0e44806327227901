import Persistence
import SystemSupport

/// Resolves the URLs of a session's requests against its base URL.
///
/// Each is parsed once; programs ask for the same few again and again.
struct URLResolver: ~Copyable, Sendable {
    /// The number of URLs that are remembered.
    static let capacity = 1024

    private let base: String?
    /// By the bytes of their texts.
    private let known = Lock<[ExactString: RequestURL]>([:])

    init(base: String?) { self.base = base }

    /// Resolves a URL, relative or absolute.
    func resolve(_ text: String) throws(NetworkError) -> RequestURL {
        let key = ExactString(text)
        if let url = known.withLock({ $0[key] }) { return url }
        if base == nil, URLText.scheme(of: text) == nil { throw .relativeURL(text) }
        let url = try RequestURL(text, relativeTo: base.map { base throws(NetworkError) in try RequestURL(base) })
        known.withLock { known in
            if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
            known[key] = url
        }
        return url
    }
}
