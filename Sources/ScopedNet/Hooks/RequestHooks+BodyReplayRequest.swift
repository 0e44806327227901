public import HTTPTypes

extension RequestHooks {
    /// The question for another body, where one that can be read once has to be sent again. See `provideBody`.
    public struct BodyReplayRequest: Sendable {
        /// The reason to send it again. New reasons may be added.
        public struct Reason: Sendable, Hashable, CustomStringConvertible {
            /// The reason's name in the log: `redirect`, `retry` or `challenge`.
            public let description: String
            /// A redirect keeps the method and so the body (RFC 9110 section 15.4).
            public static let redirect = Reason(description: "redirect")
            /// A ``RetryPolicy`` makes another attempt.
            public static let retry = Reason(description: "retry")
            /// The server or a proxy wants credentials first.
            public static let challenge = Reason(description: "challenge")
        }

        /// The same as ``Run/id``.
        public let runID: UInt64
        /// The cause of the second sending.
        public let reason: Reason
        /// The URL that the next one goes to.
        public let url: String
        /// The method of the request to come; a redirect may have changed it.
        public let method: HTTPRequest.Method
    }
}
