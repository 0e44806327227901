package import HTTPTypes

/// What a request is, settled once and shared by all its runs. Immutable.
package final class RequestTemplate: Sendable {
    package let url: RequestURL
    package let method: HTTPRequest.Method
    package let fields: HTTPFields
    package let headers: HeaderBlock
    package let body: RequestBody?
    package let options: RequestOptions
    package let transferOptions: TransferOptions
    /// Where a download goes.
    package let destination: String?
    package let errorBodyBytes: Int
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
        self.transferOptions = transferOptions
        self.destination = destination
        self.errorBodyBytes = errorBodyBytes
    }

    /// - Parameter make: called outside the lock until there is one.
    func cacheKey(_ make: () -> CacheKey?) -> CacheKey? {
        if let known = knownCacheKey.withLock({ $0 }) { return known }
        guard let key = make() else { return nil }
        knownCacheKey.withLock { $0 = key }
        return key
    }
}
