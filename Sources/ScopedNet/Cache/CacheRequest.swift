package import HTTPTypes

/// A request as the cache sees it: what the caller wants, or what is to be sent.
package struct CacheRequest: Sendable, Equatable {
    package var method: HTTPRequest.Method
    /// Absolute. A fragment is ignored.
    package var url: String
    package var fields: HTTPFields

    package init(method: HTTPRequest.Method = .get, url: String, fields: HTTPFields = [:]) {
        self.method = method
        self.url = url
        self.fields = fields
    }

    /// Whether the caller sent a condition that has to be answered as one (RFC 9110 section 13.1).
    var hasCondition: Bool { fields.contains(.ifNoneMatch) || fields.contains(.ifModifiedSince) }

    /// Whether there is a condition that only the origin server may evaluate (RFC 9111 section 4.3.2).
    var hasOriginCondition: Bool { fields.contains(.ifMatch) || fields.contains(.ifUnmodifiedSince) }
}

extension HTTPRequest.Method {
    /// Safe by RFC 9110 section 9.2.1. A method nobody knows is not.
    var isKnownSafe: Bool { self == .get || self == .head || self == .options || self == .trace }
}
