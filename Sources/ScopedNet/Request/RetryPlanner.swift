import FoundationEssentials
import HTTPTypes

/// The decision whether an attempt that came to nothing is made again, and when. It looks at the policy, the budget of the host and the clock; it
/// changes nothing.
struct RetryPlanner {
    let context: RetryPolicy.Context
    private let policy: RetryPolicy
    private let deadline: UInt64?
    private let session: Session
    private let url: RequestURL

    /// The facts about a run that are in neither its exchange nor the result.
    struct Facts {
        let startedAt: UInt64
        let silentReconnects: Int
        let isBodyReplayable: Bool
        let hasStream: Bool
    }

    /// Nil when there is nothing that another attempt could mend.
    init?(_ template: RequestTemplate, _ session: Session, _ exchange: TransferRequest, _ result: TransferResult, _ facts: Facts) {
        let statuses = template.options.validation.statuses
        guard let outcome = RetryPolicy.Context.Outcome(result, accepts: statuses) else { return nil }
        policy = template.options.retry
        deadline = exchange.deadline
        self.session = session
        url = exchange.url
        let now = session.timing.now()
        var context = RetryPolicy.Context(attempt: exchange.attempt, outcome: outcome, isIdempotent: template.isIdempotent(exchange.method))
        context.silentReconnects = facts.silentReconnects
        context.isBodyReplayable = facts.isBodyReplayable
        context.mayHaveReachedServer = result.error?.mayHaveReachedServer ?? true
        context.isReusedConnection = result.metrics.isConnectionReused
        context.bytesReceived = Int64(result.metrics.headerBytesReceived) + result.metrics.bodyBytesReceived
        // A stream's reader has the head already.
        context.hasDelivered = facts.hasStream && result.head.map { template.options.validation.accepts($0.status) } ?? false
        context.elapsed = .nanoseconds(Int64(clamping: now &- facts.startedAt))
        context.random01 = session.random()
        if policy.maxAttempts > 1 {
            context.retryAfter = result.head.flatMap { head in head["retry-after"].flatMap { Self.retryAfter($0, head) } }
            context.budget = session.admission.retryBudget(url.originID, now: .nanoseconds(Int64(clamping: now)))
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
    func isTooLate(after wait: Duration) -> Bool { deadline.map { session.timing.now() &+ wait.nanoseconds >= $0 } ?? false }

    func timing(after wait: Duration) -> RetryTiming {
        guard case .failure = context.outcome else { return .after(wait) }
        var longest = policy.backoffCap
        if let deadline = policy.deadline { longest = min(longest, deadline - context.elapsed) }
        if let deadline {
            let now = session.timing.now()
            longest = min(longest, .nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0)))
        }
        return .decide(wait: wait, hasPath: session.link.hasPath(to: url), longest: longest, random01: session.random())
    }

    /// The wait of a `Retry-After` field; nil where it says nothing.
    static func retryAfter(_ value: String, _ head: ResponseHead) -> Duration? {
        let server = head["date"].flatMap { HTTPDate($0, now: .now) }
        return RetryAfter.delay(value, now: HTTPDate.now, serverDate: server)
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
