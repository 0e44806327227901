extension Session {
    /// The counts of all requests since the session was made. Any thread; costs a few microseconds, and no request waits for it.
    ///
    /// A derived session (``with(fileID:line:_:)``) and the one it comes from count together: each shows the requests of both. A session made
    /// by an initializer has counts of its own, also over a shared cache or agent.
    ///
    /// ```swift
    /// print(session.statistics)
    /// // 120 requests: 117 succeeded, 2 failed, 1 cancelled; 4 retries; 1.2 MiB received, 14 KiB sent; p50 12 ms, p90 40 ms, p99 1.2 s
    /// ```
    public var statistics: Statistics { counter.snapshot }

    /// The counts of requests since a session was made.
    ///
    /// Each count is exact. Together they belong to one instant only while no request is under way: a request that ends while they are read may be
    /// in one and not yet in another.
    public struct Statistics: Sendable, Hashable {
        /// Started requests: each start and each `await` is one, however it ends.
        public let started: Int
        /// Requests that ended with a value.
        public let succeeded: Int
        /// Requests that ended with an error, cancellations aside.
        public let failed: Int
        /// Requests that were cancelled, for whatever reason; detached ones too, whose transfer continues.
        public let cancelled: Int
        /// Requests that have not ended.
        public var running: Int { max(0, started - succeeded - failed - cancelled) }
        /// The failed requests by the code of their error.
        public let errors: [NetworkError.Code: Int]
        /// Ended transfers: first attempts, retries, redirects, answers to challenges, and refreshes of the cache. What the cache answers has none.
        public let transfers: Int
        /// Attempts that the retry policy has made beyond the first.
        public let retries: Int
        /// Bytes of heads and bodies as they went over the wire, in ended transfers, cancelled ones too. TLS and framing are not in it.
        public let bytesSent: Int64
        /// Bytes of heads and bodies that came, counted as ``bytesSent``.
        public let bytesReceived: Int64
        /// Exchanges that the cache answered alone.
        public let cacheHits: Int
        /// Exchanges that the cache answered after the server had said that the stored response is still right.
        public let cacheValidations: Int
        /// Exchanges that went through a cache and were answered by the server.
        public let cacheMisses: Int
        /// The times from start to end of requests that succeeded or failed: waiting, every attempt and decoding, up to the first callback.
        public let durations: Durations
    }
}

extension Session.Statistics {
    /// The times of requests by quantile, each known to 1/32 of itself, from a microsecond to 38 hours.
    public struct Durations: Sendable, Hashable {
        /// The cells of the histogram.
        let cells: [Int]

        /// The number of times.
        public var count: Int { cells.reduce(0, +) }
        /// The median; nil where there are none.
        public var p50: Duration? { quantile(0.5) }
        /// The time that nine of ten requests did not exceed; nil where there are none.
        public var p90: Duration? { quantile(0.9) }
        /// The time that 99 of 100 requests did not exceed; nil where there are none.
        public var p99: Duration? { quantile(0.99) }

        /// The time that a share of the requests did not exceed.
        ///
        /// - Parameter share: 0 to 1; what is beyond counts as the nearer of the two.
        /// - Returns: nil where there are none.
        public func quantile(_ share: Double) -> Duration? {
            LogScale.quantile(share, of: cells).map { .nanoseconds(Int64(LogScale.microseconds(index: $0) * 1000)) }
        }
    }
}

extension Session.Statistics: CustomStringConvertible {
    /// One line for people; what is zero is left out.
    public var description: String {
        var ends = ["\(succeeded) succeeded"]
        if failed > 0 {
            let codes = errors.sorted { ($1.value, $0.key.description) < ($0.value, $1.key.description) }
            ends.append("\(failed) failed (\(codes.map { "\($0.key) \($0.value)" }.joined(separator: ", ")))")
        }
        if cancelled > 0 { ends.append("\(cancelled) cancelled") }
        if running > 0 { ends.append("\(running) running") }
        var parts = ["\(started) request\(started == 1 ? "" : "s"): \(ends.joined(separator: ", "))"]
        if retries > 0 { parts.append("\(retries) retr\(retries == 1 ? "y" : "ies")") }
        if transfers > 0 { parts.append("\(HumanText.bytes(bytesReceived)) received, \(HumanText.bytes(bytesSent)) sent") }
        if cacheHits + cacheValidations + cacheMisses > 0 {
            parts.append("cache \(cacheHits) hits, \(cacheValidations) validated, \(cacheMisses) missed")
        }
        if let p50 = durations.p50, let p90 = durations.p90, let p99 = durations.p99 {
            parts.append("p50 \(HumanText.time(p50)), p90 \(HumanText.time(p90)), p99 \(HumanText.time(p99))")
        }
        return parts.joined(separator: "; ")
    }
}
