public import HTTPTypes

extension RequestHooks {
    /// A redirect about to be followed, for `decideRedirect` to decide about.
    public struct RedirectProposal: Sendable {
        /// The same as ``Run/id``.
        public let runID: UInt64
        /// Counts from 1.
        public let number: Int
        /// The 3xx response.
        public let head: ResponseHead
        /// True when it came out of the cache.
        public let isStored: Bool
        /// The request that ``head`` answers. The jar's cookies are not among its fields.
        public let request: RequestHooks.NextRequest
        /// The request that will be sent: the ``RedirectPolicy`` changes methods, drops bodies, and keeps
        /// credentials from other origins.
        public let proposed: RequestHooks.NextRequest
    }
}

extension RequestHooks {
    /// A request of a redirect: the one before, or the one to come.
    public struct NextRequest: Sendable {
        /// Absolute. In an answer it may be relative to the URL proposed.
        public var url: String
        /// The request's method. The policy proposes `GET` after a `POST` with 301 or 302, and after 303 with all but `HEAD`.
        public var method: HTTPRequest.Method
        /// Without what the transport adds, and without the jar's cookies.
        public var headers: HTTPFields
        /// True when it has the request's body. No effect where the request has none.
        public var keepsBody: Bool

        /// Sets a field; it replaces fields of that name.
        ///
        /// - Throws: ``NetworkError`` with code `invalidHeader` for what is no name, or a value with a line end, a NUL or another control character
        ///   (RFC 9110 section 5.5).
        public mutating func setHeader(_ name: String, _ value: String) throws(NetworkError) {
            let field = try HeaderField.checked(name, value)
            headers[field.name] = field.value
        }
    }
}

extension RedirectPolicy {
    /// The answer of `decideRedirect`.
    public struct Answer: Sendable {
        enum Kind: Sendable { case follow, change(RequestHooks.NextRequest), stop }
        let kind: Kind

        /// As proposed.
        public static let follow = RedirectPolicy.Answer(kind: .follow)

        /// With another URL, method, fields or body.
        ///
        /// The rules for redirects hold for it as for any: `http` and `https` only, no way down from https, no circle, nothing that is no field.
        /// Where it leads to another origin, credentials of the request go along only when the hook itself has set them.
        public static func follow(_ next: RequestHooks.NextRequest) -> RedirectPolicy.Answer { RedirectPolicy.Answer(kind: .change(next)) }

        /// The 3xx response is the result, and so a failure unless ``RequestOptions/validation`` accepts its status.
        public static let stop = RedirectPolicy.Answer(kind: .stop)
    }
}
