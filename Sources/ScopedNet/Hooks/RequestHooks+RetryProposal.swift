public import FoundationEssentials
public import HTTPTypes

extension RequestHooks {
    /// The question whether a failed attempt is repeated. See ``Request/decideRetry``.
    public struct RetryProposal: Sendable {
        /// The same as ``Run/id``.
        public let runID: UInt64
        /// The URL that was asked last.
        public let url: String
        /// The method that was sent.
        public let method: HTTPRequest.Method
        /// The number of attempts made so far, 1 for the first.
        public let attempt: Int
        /// The time since the run began.
        public let elapsed: Duration
        /// The head of a response whose status is not accepted; nil where there is none.
        public let head: ResponseHead?
        /// The failure of the transfer; nil where there is a response.
        public let error: NetworkError?
        /// The decision that ``RetryAnswer/asDecided`` carries out.
        public let decision: RetryPolicy.Decision
        private let coded: Data
        private let limits: DecodingLimits

        init(
            runID: UInt64, _ exchange: TransferRequest, _ result: TransferResult, _ context: RetryPolicy.Context,
            _ decision: RetryPolicy.Decision, bodyBytes: Int
        ) {
            self.runID = runID
            url = exchange.url.string
            method = exchange.method
            attempt = context.attempt
            elapsed = context.elapsed
            head = result.error == nil ? result.head : nil
            error = result.error
            self.decision = decision
            coded = result.body
            limits = DecodingLimits(maxOutputBytes: bodyBytes)
        }

        /// The body of the response, its coding undone, up to `errorBodyBytes` of the session. Decoded each time it is read.
        public var body: Data {
            guard let coding = head?.appliedCoding else { return coded.prefix(limits.maxOutputBytes ?? .max) }
            return ContentCoding.decodedPrefix(coded, coding: coding, limits: limits)
        }
    }

    /// The answer to a ``RetryProposal``.
    public enum RetryAnswer: Sendable, Hashable {
        /// The decision of the ``RetryPolicy``.
        case asDecided
        /// One more attempt when the time has passed, also beyond the policy's attempts, its deadline and its budget, and also for a method that
        /// is not idempotent: the program knows that sending it twice does no harm. ``Timeouts/total`` holds all the same.
        case retry(after: Duration)
        /// No further attempt: the run fails with what it has.
        case stop
    }
}
