public import HTTPTypes

extension RedirectPolicy {
    /// What a ``RedirectPolicy`` decided. Each decision can be printed, because each one is an event.
    public enum Decision: Sendable, Hashable {
        /// Send the next request.
        case follow(RedirectPolicy.RedirectedRequest)
        /// The response is the result: it is no redirect, or it is not to be followed.
        case deliver(RedirectPolicy.Reason)
        /// The request fails.
        case fail(RedirectPolicy.Reason)
    }
}

extension RedirectPolicy {
    /// The next request of a redirect, given as the differences to the one before it.
    public struct RedirectedRequest: Sendable, Hashable {
        /// The method to use.
        public var method: HTTPRequest.Method
        /// The absolute URL. It has the fragment of the previous URL when `Location` had none (RFC 9110 section 10.2.2).
        public var url: String
        /// Whether the body is sent again.
        public var keepsBody: Bool
        /// Whether scheme, host and port are those of the previous request.
        public var isSameOrigin: Bool
        /// Lower-case names of the header fields not to be sent to another origin. Empty when the origin is the same.
        public var droppedNames: Set<String>

        /// Whether a header field of the previous request must be left out of this one.
        public func drops(_ name: String) -> Bool {
            let name = name.lowercased()
            return droppedNames.contains(name) || (!keepsBody && Self.describesBody(name))
        }

        /// Fields that speak of the body or of its transfer make no sense without it (RFC 9110 section 15.4).
        private static func describesBody(_ name: String) -> Bool {
            switch name {
            case "digest", "expect", "repr-digest", "trailer", "transfer-encoding": true
            default: name.hasPrefix("content-")
            }
        }
    }
}

extension RedirectPolicy {
    /// Why a redirect is not followed.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The reason in words.
        public let description: String

        /// The status is not 301, 302, 303, 307 or 308.
        public static let notARedirect = RedirectPolicy.Reason(description: "the status is no redirect")
        /// The response does not say where to go.
        public static let noLocation = RedirectPolicy.Reason(description: "there is no Location")
        /// The mode is ``RedirectPolicy/Mode/never``.
        public static let notFollowed = RedirectPolicy.Reason(description: "redirects are not followed")
        /// The mode is ``RedirectPolicy/Mode/sameOriginOnly``, and the target is elsewhere.
        public static let otherOrigin = RedirectPolicy.Reason(description: "the target is of another origin")
        /// More redirects than ``RedirectPolicy/maxRedirects``.
        public static func tooMany(limit: Int) -> RedirectPolicy.Reason {
            RedirectPolicy.Reason(description: "more than \(limit) redirects")
        }
        /// The same request was sent before.
        public static let loop = RedirectPolicy.Reason(description: "the redirects run in a circle")
        /// The target is no URL, or not one of `http` or `https`.
        public static let unsupportedTarget = RedirectPolicy.Reason(description: "the target is no http or https URL")
        /// The target would be requested without the encryption this request had.
        public static let downgrade = RedirectPolicy.Reason(description: "the redirect leads from https to http")
        /// The method is kept, but the body can be read once only, and was.
        public static let bodyNotReplayable = RedirectPolicy.Reason(description: "the body cannot be sent again")
    }
}
