package import HTTPTypes

/// The head of a response: received, stored or served.
package struct CacheHead: Sendable, Equatable {
    /// 100 to 999.
    package var status: Int
    /// Empty on HTTP/2.
    package var reason: String
    package var fields: HTTPFields

    package init(status: Int, reason: String = "", fields: HTTPFields = [:]) {
        self.status = status
        self.reason = reason
        self.fields = fields
    }

    /// `Content-Length` when it is one number, however often it is repeated (RFC 9110 section 8.6).
    var contentLength: Int64? {
        let members = fields.members(.contentLength)
        guard let first = members.first, members.allSatisfy({ $0 == first }), DeltaSeconds.parse(first) != nil else { return nil }
        return Int64(first)
    }

    /// The time of `Date`, or nil when there is none that can be read.
    func date(now: WallTime) -> WallTime? {
        fields.onlyLine(.date).flatMap { CacheDate.parse($0, now: now) }
    }
}
