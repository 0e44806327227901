package import HTTPTypes
import SystemSupport

/// What a request is, settled once and shared by all its runs. Immutable.
package final class RequestTemplate: Sendable {
    package let url: RequestURL
    package let method: HTTPRequest.Method
    package let fields: HTTPFields
    package let headers: HeaderBlock
    package let body: RequestBody?
    package let options: RequestOptions
    /// True if the fields have a key by which the server knows a repeated request.
    let hasIdempotencyKey: Bool
    package let transferOptions: TransferOptions
    /// Where a download goes.
    package let destination: String?
    package let errorBodyBytes: Int
    /// The URL that was asked for, where its host wants https (``Session/HSTSStore``); nil where it is the template's own.
    let upgradedFrom: RequestURL?
    /// Of the first exchange of each run, in the session's cache.
    private let knownCacheKey = Lock<CacheKey?>(nil)

    package init(
        url: RequestURL, method: HTTPRequest.Method, fields: HTTPFields, headers: HeaderBlock, body: RequestBody?,
        options: RequestOptions, transferOptions: TransferOptions, destination: String?, errorBodyBytes: Int
    ) {
        self.url = url
        self.method = method
        self.fields = fields
        self.headers = headers
        self.body = body
        self.options = options
        hasIdempotencyKey = !method.isIdempotent && fields.contains(.idempotencyKey)
        self.transferOptions = transferOptions
        self.destination = destination
        self.errorBodyBytes = errorBodyBytes
        upgradedFrom = nil
    }

    init(_ other: RequestTemplate, upgradedFrom: RequestURL) {
        url = other.url
        method = other.method
        fields = other.fields
        headers = other.headers
        body = other.body
        options = other.options
        hasIdempotencyKey = other.hasIdempotencyKey
        transferOptions = other.transferOptions
        destination = other.destination
        errorBodyBytes = other.errorBodyBytes
        self.upgradedFrom = upgradedFrom
    }

    /// True if the server does the work of such a request once, however often it comes (RFC 9110 section 9.2.2).
    func isIdempotent(_ method: HTTPRequest.Method) -> Bool { method.isIdempotent || hasIdempotencyKey }

    /// Finds the key of the first exchange in the session's cache. `make` is called outside the lock until there is one.
    func cacheKey(_ make: () -> CacheKey?) -> CacheKey? {
        if let known = knownCacheKey.withLock({ $0 }) { return known }
        guard let key = make() else { return nil }
        knownCacheKey.withLock { $0 = key }
        return key
    }
}

extension HTTPField.Name {
    /// draft-ietf-httpapi-idempotency-key-header. The name is a token, so there is no other.
    static let idempotencyKey = HTTPField.Name("Idempotency-Key") ?? .via
}
