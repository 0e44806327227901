extension RetryPolicy {
    /// What a ``RetryPolicy`` decided. Each decision carries its reason, because each one is an event.
    public enum Decision: Sendable, Hashable {
        /// Try again when the time has passed.
        case retry(after: Duration, RetryPolicy.Reason)
        /// Let the run end with what it has.
        case stop(RetryPolicy.StopReason)
    }
}

extension RetryPolicy {
    /// Why another attempt is made.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The reason in words, for logs.
        public let description: String

        /// A kept-alive connection was dead before the first byte of the response. Happens at once, and counts as no attempt.
        public static let staleConnection = RetryPolicy.Reason(description: "the reused connection was dead")

        /// The program said so (``RequestHooks/retry``).
        public static let program = RetryPolicy.Reason(description: "the program decided")

        /// The response had a status that is retried.
        public static func status(_ code: Int) -> RetryPolicy.Reason { RetryPolicy.Reason(description: "status \(code)") }

        /// The transport failed in a way that is retried.
        public static func failure(_ kind: RetryPolicy.Trigger) -> RetryPolicy.Reason { RetryPolicy.Reason(description: kind.description) }
    }
}

extension RetryPolicy {
    /// Why no further attempt is made.
    public struct StopReason: Sendable, Hashable, CustomStringConvertible {
        /// The reason in words, for logs.
        public let description: String

        /// The program said so (``RequestHooks/retry``).
        public static let program = RetryPolicy.StopReason(description: "the program decided")
        /// The policy allows one attempt only.
        public static let retriesOff = RetryPolicy.StopReason(description: "retries are off")
        /// The status or the failure is not one that is retried.
        public static let notRetryable = RetryPolicy.StopReason(description: "the outcome is not one that is retried")
        /// A part of the response has reached the caller.
        public static let alreadyDelivered = RetryPolicy.StopReason(description: "a part of the response was delivered")
        /// The body can be read once only, and was.
        public static let bodyNotReplayable = RetryPolicy.StopReason(description: "the body cannot be sent again")
        /// The request may have taken effect, and must not take effect twice.
        public static let notIdempotent = RetryPolicy.StopReason(description: "the method is not idempotent")
        /// All attempts are used up.
        public static func attemptsExhausted(_ count: Int) -> RetryPolicy.StopReason {
            RetryPolicy.StopReason(description: "all \(count) attempts were made")
        }
        /// The server asked for a longer wait than the policy accepts.
        public static let retryAfterTooLong = RetryPolicy.StopReason(description: "Retry-After is too long")
        /// The next attempt would begin after the deadline.
        public static let deadline = RetryPolicy.StopReason(description: "the deadline is too near")
        /// The host's ``RetryPolicy/Budget`` is empty.
        public static let budgetExhausted = RetryPolicy.StopReason(description: "the retry budget is empty")
    }
}
