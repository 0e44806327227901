extension RequestOptions {
    /// The interceptors of a request, in the order in which they see it. None by default.
    public struct Interceptors: Sendable {
        /// Around the whole call. The fields that they add are the request's own: the cache's key and `Vary` see them, they go along on redirects, and
        /// stay behind where those lead to another origin as the caller's do (``RedirectPolicy``).
        public var call: [any Interceptor]
        /// Around each exchange. Their changes hold for that exchange alone, and are no part of the cache's key. Behind the last one nothing is added
        /// but fields of the connection and of the proxy, so that a signature stays true.
        public var exchange: [any Interceptor]

        /// Makes a list of each kind.
        public init(call: [any Interceptor] = [], exchange: [any Interceptor] = []) {
            self.call = call
            self.exchange = exchange
        }

        var isEmpty: Bool { call.isEmpty && exchange.isEmpty }
    }
}

/// The interceptors by reference: requests without any pay for a nil.
package final class InterceptorBox: Sendable {
    let interceptors: RequestOptions.Interceptors

    /// Nil for none.
    init?(_ interceptors: RequestOptions.Interceptors) {
        if interceptors.isEmpty { return nil }
        self.interceptors = interceptors
    }
}
