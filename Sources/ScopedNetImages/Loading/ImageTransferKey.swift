import ScopedNet

/// The identity of a transfer: two callers with the same one get the same bytes.
///
/// Fields count by a digest, as one of them may be a secret (AFNetworking merged by the URL alone, and handed one user's picture to another).
struct ImageTransferKey: Sendable, Hashable {
    let url: String
    private let fields: FieldDigest
    /// Of the loader; empty for none.
    let identity: String
    private let cache: CachePolicy?

    init(_ request: ImageRequest, url: String, identity: String) {
        self.url = url
        fields = FieldDigest(request.headers)
        self.identity = identity
        cache = request.cache
    }

    /// For the key of a picture in memory.
    var variant: String { identity.isEmpty && fields.isEmpty ? "" : "#\(identity.utf8.count):\(identity);\(fields.text);" }
}

/// A hundred and twenty-eight bits of all fields, which say nothing about them outside of this process.
private struct FieldDigest: Sendable, Hashable {
    let high: Int
    let low: Int
    let isEmpty: Bool
    var text: String { isEmpty ? "" : "\(high),\(low)" }

    init(_ headers: HeaderFields) {
        isEmpty = headers.isEmpty
        (high, low) = isEmpty ? (0, 0) : (Self.hash(headers, 0x5C), Self.hash(headers, 0x36))
    }

    private static func hash(_ headers: HeaderFields, _ salt: UInt8) -> Int {
        var hasher = Hasher()
        hasher.combine(salt)
        for field in headers.fields {
            hasher.combine(field.name)
            hasher.combine(field.value)
            hasher.combine(salt)
        }
        return hasher.finalize()
    }
}
