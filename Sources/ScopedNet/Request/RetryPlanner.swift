import FoundationEssentials
import HTTPTypes

/// The decision whether an attempt that came to nothing is made again, and when. (pure)
///
/// The policy decides, by what the attempt came to and by the ``Facts``; those about the moment of a wait are arguments.
struct RetryPlanner {
    let context: RetryPolicy.Context
    private let policy: RetryPolicy
    private let deadline: UInt64?

    /// The facts that the result does not say. Times are nanoseconds of the session's clock.
    struct Facts {
        /// The number of the attempt; the first is 1.
        var attempt: Int
        var startedAt: UInt64
        var now: UInt64
        /// The end of the total time; nil without one.
        var deadline: UInt64?
        var silentReconnects: Int
        var isIdempotent: Bool
        var isBodyReplayable: Bool
        /// The body goes to a reader while it arrives.
        var hasStream: Bool
        /// 0 ..< 1
        var random01: Double
        /// The retries that the host has left; nil where the policy makes none.
        var budget: Double?
        /// The time by the wall, which a `Retry-After` field may name.
        var date: HTTPDate
    }

    /// Nil when there is nothing that another attempt could mend. Only where there is, the facts are asked for.
    init?(_ options: RequestOptions, _ result: TransferResult, _ facts: () -> Facts) {
        let statuses = options.validation.statuses
        guard let outcome = RetryPolicy.Context.Outcome(result, accepts: statuses) else { return nil }
        policy = options.retry
        let facts = facts()
        deadline = facts.deadline
        var context = RetryPolicy.Context(attempt: facts.attempt, outcome: outcome, isIdempotent: facts.isIdempotent)
        context.silentReconnects = facts.silentReconnects
        context.isBodyReplayable = facts.isBodyReplayable
        context.mayHaveReachedServer = result.error?.mayHaveReachedServer ?? true
        context.isReusedConnection = result.metrics.isConnectionReused
        context.bytesReceived = Int64(result.metrics.headerBytesReceived) + result.metrics.bodyBytesReceived
        // A stream's reader has the head already.
        context.hasDelivered = facts.hasStream && result.head.map { options.validation.accepts($0.status) } ?? false
        context.elapsed = .nanoseconds(Int64(clamping: facts.now &- facts.startedAt))
        context.random01 = facts.random01
        if policy.maxAttempts > 1 {
            context.retryAfter = result.head.flatMap { Self.retryAfter($0, now: facts.date) }
            context.budget = facts.budget
        }
        self.context = context
    }

    var decision: RetryPolicy.Decision { policy.decide(context) }

    /// The policy makes more than one attempt, so that observers are told why there is no further one.
    var isTold: Bool { policy.maxAttempts > 1 }

    /// True where there is something for the program to decide: a dead connection is replaced at once, and what has been delivered in part, or cannot
    /// be sent again, is not repeated whoever wants it.
    func isOpen(_ decision: RetryPolicy.Decision) -> Bool {
        switch decision {
        case .retry(_, .staleConnection), .stop(.alreadyDelivered), .stop(.bodyNotReplayable): false
        default: !context.hasDelivered && context.isBodyReplayable
        }
    }

    /// No attempt could begin within the total time.
    func isTooLate(after wait: Duration, now: UInt64) -> Bool { deadline.map { now &+ wait.nanoseconds >= $0 } ?? false }

    /// The time of the next attempt. `hasPath` says whether there is a path to the server, and nil when that is not known; it is asked only where the
    /// server was not reached.
    func timing(after wait: Duration, now: UInt64, hasPath: () -> Bool?, random01: Double) -> RetryTiming {
        guard case .failure = context.outcome else { return .after(wait) }
        var longest = policy.backoffCap
        if let deadline = policy.deadline { longest = min(longest, deadline - context.elapsed) }
        if let deadline { longest = min(longest, .nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0))) }
        return .decide(wait: wait, hasPath: hasPath(), longest: longest, random01: random01)
    }

    /// The wait of a `Retry-After` field; nil where there is none, or it says nothing.
    static func retryAfter(_ head: ResponseHead, now: HTTPDate) -> Duration? {
        guard let value = head["retry-after"] else { return nil }
        return RetryAfter.delay(value, now: now, serverDate: head["date"].flatMap { HTTPDate($0, now: now) })
    }
}

extension RequestHooks.RetryAnswer {
    func decision(instead decided: RetryPolicy.Decision) -> RetryPolicy.Decision {
        switch self {
        case .asDecided: decided
        case .retry(let wait): .retry(after: max(.zero, wait), .program)
        case .stop: .stop(.program)
        }
    }
}

extension RetryPolicy.Context.Outcome {
    /// Nil when there is nothing a retry could mend.
    fileprivate init?(_ result: TransferResult, accepts validation: StatusValidation) {
        if let error = result.error {
            guard let trigger = error.retryTrigger else { return nil }
            self = .failure(trigger)
        } else {
            guard let status = result.head?.status, !validation.accepts(status) else { return nil }
            self = .status(status)
        }
    }
}

extension NetworkError {
    package var retryTrigger: RetryPolicy.Trigger? {
        switch code {
        case .nameNotResolved, .proxyNotResolved: .nameResolution
        case .connectionRefused, .connectionFailed, .proxyFailed: .connect
        case .tlsFailed: .tlsHandshake
        case .connectionLost, .truncatedBody: .connectionLost
        case .connectTimeout, .firstByteTimeout, .idleTimeout: .timeout
        default: nil
        }
    }
}
