/// Whether and when a failed attempt is repeated.
///
/// A pure decision: ``decide(_:)`` maps a ``RetryPolicy/Context`` to a ``RetryPolicy/Decision`` and touches no clock, no random source and no
/// budget. Three rules hold whatever the numbers are: the body must be replayable, nothing of the response may have been
/// delivered, and the method must be idempotent (RFC 9110 section 9.2.2) or the request cannot have reached the server.
public struct RetryPolicy: Sendable, Hashable {
    /// The most attempts of one run, the first one included. 1 turns retries off; a request with less is `invalidOption`.
    public var maxAttempts: Int
    /// The kinds of transport failure that are retried. The default is all.
    public var triggers: RetryPolicy.Trigger
    /// The statuses that are retried. The default is 408, 425, 429, 500, 502, 503 and 504.
    public var statusCodes: Set<Int>
    /// The upper bound of the first wait. The default is 0.5 seconds.
    public var backoffBase: Duration
    /// By how much the bound grows with each attempt. The default is 2.
    public var backoffFactor: Double
    /// Where the bound stops growing. The default is 30 seconds.
    public var backoffCap: Duration
    /// The longest wait a server may ask for with `Retry-After`; a longer one ends the run. The default is 60 seconds.
    public var maxRetryAfter: Duration
    /// The time since the start of the run after which no attempt begins, or nil. The default is nil.
    public var deadline: Duration?
    /// Repeats once, at once, and without counting it, when a *reused* connection dies before the first byte of the response: the
    /// server had closed it while it was idle. The default is true.
    public var silentReconnect: Bool
    /// Also repeats methods that are not idempotent. For callers whose requests carry an idempotency key. The default is false.
    public var retriesNonIdempotent: Bool

    /// Makes a policy. See the properties for the parameters.
    public init(
        maxAttempts: Int = 3, triggers: RetryPolicy.Trigger = .all, statusCodes: Set<Int> = RetryPolicy.defaultStatusCodes,
        backoffBase: Duration = .milliseconds(500), backoffFactor: Double = 2, backoffCap: Duration = .seconds(30),
        maxRetryAfter: Duration = .seconds(60), deadline: Duration? = nil, silentReconnect: Bool = true,
        retriesNonIdempotent: Bool = false
    ) {
        self.maxAttempts = maxAttempts
        self.triggers = triggers
        self.statusCodes = statusCodes
        self.backoffBase = backoffBase
        self.backoffFactor = backoffFactor
        self.backoffCap = backoffCap
        self.maxRetryAfter = maxRetryAfter
        self.deadline = deadline
        self.silentReconnect = silentReconnect
        self.retriesNonIdempotent = retriesNonIdempotent
    }

    /// Request timeout, too early, too many requests, and the server errors that pass.
    public static let defaultStatusCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// No retries but the silent reconnect. The default of a session.
    public static let none = RetryPolicy(maxAttempts: 1)

    /// Three attempts with the default numbers.
    public static let standard = RetryPolicy()

    /// Decides about the attempt that has just ended. The caller takes the token out of the budget when the answer is a retry,
    /// except when its reason is ``RetryPolicy/Reason/staleConnection``.
    public func decide(_ context: RetryPolicy.Context) -> RetryPolicy.Decision {
        if isStaleConnection(context) { return .retry(after: .zero, .staleConnection) }
        guard maxAttempts > 1 else { return .stop(.retriesOff) }
        guard let reason = reason(context.outcome) else { return .stop(.notRetryable) }
        if let obstacle = obstacle(context) { return .stop(obstacle) }
        guard context.attempt < maxAttempts else { return .stop(.attemptsExhausted(context.attempt)) }
        if let asked = context.retryAfter, asked > maxRetryAfter { return .stop(.retryAfterTooLong) }
        // The server's wish is a lower bound. The jitter above it keeps clients that failed together from returning together.
        let wait = max(backoff(context), context.retryAfter ?? .zero)
        if let deadline, context.elapsed + wait >= deadline { return .stop(.deadline) }
        if let budget = context.budget, budget < 1 { return .stop(.budgetExhausted) }
        return .retry(after: wait, reason)
    }

    private func isStaleConnection(_ context: RetryPolicy.Context) -> Bool {
        guard silentReconnect, context.silentReconnects == 0, context.outcome == .failure(.connectionLost) else { return false }
        guard context.isReusedConnection, context.bytesReceived == 0 else { return false }
        if let deadline, context.elapsed >= deadline { return false }
        return obstacle(context) == nil
    }

    private func reason(_ outcome: RetryPolicy.Context.Outcome) -> RetryPolicy.Reason? {
        switch outcome {
        case .status(let code): statusCodes.contains(code) ? .status(code) : nil
        case .failure(let kind): triggers.isDisjoint(with: kind) ? nil : .failure(kind)
        }
    }

    /// The rule that forbids to send this request a second time, if any.
    private func obstacle(_ context: RetryPolicy.Context) -> RetryPolicy.StopReason? {
        if context.hasDelivered { return .alreadyDelivered }
        if !context.isBodyReplayable { return .bodyNotReplayable }
        let mayRepeat = context.isIdempotent || retriesNonIdempotent || !context.mayHaveReachedServer
        return mayRepeat ? nil : .notIdempotent
    }

    /// Full jitter: anything between zero and the bound is equally likely, which spreads a crowd best.
    private func backoff(_ context: RetryPolicy.Context) -> Duration {
        var bound = backoffBase / .seconds(1)
        let cap = backoffCap / .seconds(1)
        for _ in 1..<max(context.attempt, 1) where bound < cap { bound *= backoffFactor }
        let random = context.random01.isFinite ? min(max(context.random01, 0), 1) : 0.5
        return .seconds(max(0, min(bound, cap)) * random)
    }
}
