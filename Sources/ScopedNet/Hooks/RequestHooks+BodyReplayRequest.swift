public import HTTPTypes

extension RequestHooks {
    /// The question for another body, where one that can be read once has to be sent again. See `provideBody`.
    public struct BodyReplayRequest: Sendable {
        /// The reason to send it again. New reasons may be added.
        public struct Reason: Sendable, Hashable, CustomStringConvertible {
            public let description: String
            /// A redirect keeps the method and so the body (RFC 9110 section 15.4).
            public static let redirect = Reason(description: "redirect")
            public static let retry = Reason(description: "retry")
            /// The server or a proxy wants credentials first.
            public static let challenge = Reason(description: "challenge")
        }

        /// The same as ``Run/id``.
        public let runID: UInt64
        public let reason: Reason
        /// The URL that the next one goes to.
        public let url: String
        public let method: HTTPRequest.Method
    }
}
