package import HTTPTypes

/// A request as the cache sees it: what the caller wants, or what is to be sent.
package struct CacheRequest: Sendable, Equatable {
    package var method: HTTPRequest.Method
    /// Absolute. A fragment is ignored.
    package var url: String
    /// All that are sent, those of the session and of the library too: `Vary` may name any of them.
    package var fields: HTTPFields
    /// Whether a body is sent.
    package var hasBody: Bool

    package init(method: HTTPRequest.Method = .get, url: String, fields: HTTPFields = [:], hasBody: Bool = false) {
        self.method = method
        self.url = url
        self.fields = fields
        self.hasBody = hasBody
    }

    /// A GET whose body says what is asked for, as some search engines have it: the URL is not all of the question.
    func isUnkeyed(_ policy: CachePolicy) -> Bool { hasBody && method.isKnownSafe && !policy.keeps(method) }

    /// Whether the caller sent a condition that has to be answered as one (RFC 9110 section 13.1).
    var hasCondition: Bool { fields.contains(.ifNoneMatch) || fields.contains(.ifModifiedSince) }

    /// Whether there is a condition that only the origin server may evaluate (RFC 9111 section 4.3.2).
    var hasOriginCondition: Bool { fields.contains(.ifMatch) || fields.contains(.ifUnmodifiedSince) }
}

extension HTTPRequest.Method {
    /// Safe by RFC 9110 section 9.2.1. A method nobody knows is not.
    var isKnownSafe: Bool { self == .get || self == .head || self == .options || self == .trace }
}
