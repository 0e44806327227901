public import HTTPTypes

extension RedirectPolicy {
    /// All that a ``RedirectPolicy`` looks at: one response, and the requests that led to it.
    public struct Context: Sendable, Hashable {
        /// A request that was sent.
        public struct Visit: Sendable, Hashable {
            /// The method that was sent.
            public var method: HTTPRequest.Method
            /// Absolute.
            public var url: String

            /// Makes a visit.
            public init(method: HTTPRequest.Method, url: String) {
                self.method = method
                self.url = url
            }
        }

        /// The status of the response.
        public var status: Int
        /// `Location`, resolved against the URL of the request to an absolute URL; nil when the response has none.
        public var location: String?
        /// The requests sent so far, the original one first, the one just answered last. Never empty.
        public var visits: [Visit]
        /// Whether the request has a body.
        public var hasBody: Bool
        /// Whether the body can be sent again from its beginning.
        public var isBodyReplayable: Bool
        /// Whether the response sets a cookie. The same URL may then well answer differently, as at the end of a login, so that
        /// coming back to it is no loop yet.
        public var setsCookie: Bool

        /// Makes a context. `visits` must not be empty.
        public init(
            status: Int, location: String?, visits: [Visit], hasBody: Bool = false, isBodyReplayable: Bool = true,
            setsCookie: Bool = false
        ) {
            precondition(!visits.isEmpty, "RedirectPolicy.Context: a response needs a request")
            self.status = status
            self.location = location
            self.visits = visits
            self.hasBody = hasBody
            self.isBodyReplayable = isBodyReplayable
            self.setsCookie = setsCookie
        }
    }
}
