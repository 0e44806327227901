extension RetryPolicy {
    /// All that a ``RetryPolicy`` looks at: one attempt that has ended, and the run it belongs to.
    public struct Context: Sendable, Hashable {
        /// How the attempt ended.
        public enum Outcome: Sendable, Hashable {
            /// With a complete response head of this status.
            case status(Int)
            /// With a transport failure of this kind. The empty set is a failure that is never retried.
            case failure(RetryPolicy.Trigger)
        }

        /// The number of attempts made so far, 1 for the first. Silent reconnects do not count.
        public var attempt: Int
        /// How often this run was reconnected silently.
        public var silentReconnects: Int
        /// How the attempt ended.
        public var outcome: Outcome
        /// True for a method that sent twice has the effect of one request (RFC 9110 section 9.2.2).
        public var isIdempotent: Bool
        /// Whether the body can be sent again from its beginning. True when there is no body, or when none of it was read yet.
        public var isBodyReplayable: Bool
        /// Whether any byte of the request may have reached the server. False for what failed while resolving or connecting.
        public var mayHaveReachedServer: Bool
        /// Whether the attempt ran on a connection that had served a request before.
        public var isReusedConnection: Bool
        /// The number of response bytes received, head included.
        public var bytesReceived: Int64
        /// Whether a part of the response was delivered to the caller already, so that a repetition would be visible.
        public var hasDelivered: Bool
        /// The wait the server asked for; see `Retry-After`.
        public var retryAfter: Duration?
        /// The time since the run began.
        public var elapsed: Duration
        /// A random number in 0..<1, for the jitter.
        public var random01: Double
        /// The tokens in the host's ``RetryPolicy/Budget``, or nil when there is no budget.
        public var budget: Double?

        /// Makes a context for an attempt that has ended, as a test of a policy does. See the properties for the parameters.
        public init(
            attempt: Int, silentReconnects: Int = 0, outcome: Outcome, isIdempotent: Bool, isBodyReplayable: Bool = true,
            mayHaveReachedServer: Bool = true, isReusedConnection: Bool = false, bytesReceived: Int64 = 0,
            hasDelivered: Bool = false, retryAfter: Duration? = nil, elapsed: Duration = .zero, random01: Double = 0.5,
            budget: Double? = nil
        ) {
            self.attempt = attempt
            self.silentReconnects = silentReconnects
            self.outcome = outcome
            self.isIdempotent = isIdempotent
            self.isBodyReplayable = isBodyReplayable
            self.mayHaveReachedServer = mayHaveReachedServer
            self.isReusedConnection = isReusedConnection
            self.bytesReceived = bytesReceived
            self.hasDelivered = hasDelivered
            self.retryAfter = retryAfter
            self.elapsed = elapsed
            self.random01 = random01
            self.budget = budget
        }
    }
}
