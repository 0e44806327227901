extension Session.Configuration {
    /// The rate at which each host is asked: requests a second, and how many may go at once after a pause.
    ///
    /// ```swift
    /// configuration.rateLimit = .init(requestsPerSecond: 10, burst: 5)
    /// ```
    ///
    /// A host is a scheme, host and port. Every exchange counts: redirects, retries and answers to challenges too; what the cache answers does not.
    /// A request that has to wait does so before it takes a connection slot, in the order of coming; a cancel takes it out at once, and the wait
    /// counts in ``Timeouts/total``. Observers receive ``RequestEvent/Kind/rateLimited``. A token is taken when the request is sent, so that in no
    /// time `t` more than `requestsPerSecond × t + burst` are, however long they wait for connections.
    ///
    /// A derived session shares the count with the one it comes from, as long as the limit is the same.
    public struct RateLimit: Sendable, Hashable {
        /// The average; above 0. `.infinity` has no limit and waits for `Retry-After` only.
        public var requestsPerSecond: Double
        /// Requests that may go at once after a pause; at least 1. Default: 1.
        public var burst: Int
        /// True if a 429 or 503 with `Retry-After` (RFC 9110 section 10.2.3, RFC 6585 section 4) holds all further requests to that host for that
        /// time. Default: true. The response itself is delivered, or tried again by the ``RetryPolicy``, as without it.
        public var honorsRetryAfter: Bool
        /// The most that a `Retry-After` holds a host. Default: 60 s.
        public var longestHold: Duration

        /// A request with a value that makes no sense fails with `invalidOption`.
        public init(
            requestsPerSecond: Double, burst: Int = 1, honorsRetryAfter: Bool = true, longestHold: Duration = .seconds(60)
        ) {
            self.requestsPerSecond = requestsPerSecond
            self.burst = burst
            self.honorsRetryAfter = honorsRetryAfter
            self.longestHold = longestHold
        }

        /// No limit but the one that a host asks for by `Retry-After`.
        public static let retryAfterOnly = RateLimit(requestsPerSecond: .infinity)

        func check() throws(NetworkError) {
            let interval = 1e9 / requestsPerSecond
            // A burst that takes longer than ten years to save up is out of the reach of the clock's arithmetic.
            guard requestsPerSecond > 0, (1...1_000_000).contains(burst), interval * Double(burst) <= 3e17, longestHold >= .zero else {
                throw NetworkError(
                    .invalidOption, phase: .preparing,
                    message: "a rate limit has more than 0 requests a second, a burst of 1 to 1000000 that is saved up within ten years, "
                        + "and a hold that is not negative")
            }
        }

        func makeLimiter(timing: any Timing) -> HostRateLimiter {
            HostRateLimiter(rate, longestHold: honorsRetryAfter ? longestHold : .zero, timing: timing)
        }

        private var rate: HostRate {
            guard (try? check()) != nil else { return HostRate(interval: 0, burst: 1) }
            return HostRate(interval: Int64((1e9 / requestsPerSecond).rounded(.up)), burst: Int64(burst))
        }
    }
}
