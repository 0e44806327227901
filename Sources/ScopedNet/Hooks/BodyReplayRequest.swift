public import HTTPTypes

/// A body is to be sent a second time and cannot be: what a new-body hook is asked about.
public struct BodyReplayRequest: Sendable {
    /// Why it is sent again. New reasons may be added.
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
    /// Where the next one goes.
    public let url: String
    public let method: HTTPRequest.Method
}
