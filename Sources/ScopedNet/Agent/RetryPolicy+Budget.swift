extension RetryPolicy {
    /// Limits the retries towards one host to a share of its requests, so that an outage is not answered with a storm.
    ///
    /// A bucket of tokens: each request puts in a fraction of a token, each retry takes out a whole one. While a host is down its
    /// load therefore grows by 20 % and not by a factor. A small reserve that refills with time lets programs with few requests
    /// retry at all.
    ///
    /// The value knows no clock: `now` is a monotonic time since any fixed point, the same one in all calls. Keep one budget per
    /// host, and drop those that are ``isFull(at:)``: a new one is worth as much.
    public struct Budget: Sendable, Hashable {
        /// The numbers of a ``RetryPolicy/Budget``.
        public struct Configuration: Sendable, Hashable {
            /// The retries allowed for each request. The default is 0.2.
            public var ratio: Double
            /// The tokens that are there at first, and that time refills to. The default is 5.
            public var reserve: Double
            /// The time after which the reserve has grown by one token. The default is 5 seconds.
            public var reserveRefill: Duration
            /// The most tokens that can be saved up. The default is 100.
            public var capacity: Double

            /// Makes a configuration; numbers below zero count as zero.
            public init(
                ratio: Double = 0.2, reserve: Double = 5, reserveRefill: Duration = .seconds(5), capacity: Double = 100
            ) {
                self.ratio = max(0, ratio)
                self.reserve = max(0, reserve)
                self.reserveRefill = reserveRefill
                self.capacity = max(capacity, self.reserve)
            }
        }

        private let configuration: Configuration
        private var tokens: Double
        private var updated: Duration

        /// Makes a budget with its reserve. `now` is the time on the clock that all calls use.
        public init(configuration: Configuration = Configuration(), now: Duration) {
            self.configuration = configuration
            self.tokens = configuration.reserve
            self.updated = now
        }

        /// Counts a request (its first attempt).
        public mutating func deposit(now: Duration) {
            refill(now)
            tokens = min(tokens + configuration.ratio, configuration.capacity)
        }

        /// Takes the token for one retry. Returns false, and takes nothing, when there is none.
        public mutating func withdraw(now: Duration) -> Bool {
            refill(now)
            guard tokens >= 1 else { return false }
            tokens -= 1
            return true
        }

        /// The number of tokens at `now`. A retry needs one.
        public func available(at now: Duration) -> Double {
            var copy = self
            copy.refill(now)
            return copy.tokens
        }

        /// Whether the budget at `now` is worth as much as a new one, so that it need not be kept.
        public func isFull(at now: Duration) -> Bool {
            available(at: now) >= configuration.reserve
        }

        /// Time refills up to the reserve only: what requests have saved beyond it stays.
        private mutating func refill(_ now: Duration) {
            guard now > updated else { return }
            defer { updated = now }
            guard configuration.reserve > tokens, configuration.reserveRefill > .zero else { return }
            tokens = min(tokens + (now - updated) / configuration.reserveRefill, configuration.reserve)
        }
    }
}
