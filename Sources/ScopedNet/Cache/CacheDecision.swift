/// What is done with a request before the network is asked.
package enum CacheDecision: Sendable {
    /// The stored response is the answer.
    case serve(CachedAnswer)
    /// The stored response is the answer, and the request goes to the server beside it: within `stale-while-revalidate`, where the answer of the
    /// server only refreshes the cache, or as ``CachePolicy/ReadMode/thenNetwork``, where it is delivered too.
    case serveAndForward(CachedAnswer, CacheForward)
    /// The server is asked.
    case forward(CacheForward)
    /// The network must not be used, and there is nothing to give: a 504 made here (RFC 9111 section 5.2.1.7). It has no body.
    case unavailable(CacheHead, ResponseCache.Status)
}

/// A stored response as a caller gets it.
package struct CachedAnswer: Sendable, Equatable {
    /// Which of the candidates it is.
    package var candidate: Int
    /// With `Age`; 304, 206 or 416 where the request asks for that.
    package var head: CacheHead
    package var body: ServedBody
    /// Whether it was served past its lifetime.
    package var isStale: Bool
    package var status: ResponseCache.Status
}

/// Which bytes of a stored body are served.
package enum ServedBody: Sendable, Equatable {
    case none
    case whole
    /// Counted from the first byte that is stored.
    case slice(Range<Int64>)
}

extension CacheHead {
    /// RFC 9110 section 15.6.5.
    static func gatewayTimeout(now: WallTime) -> CacheHead {
        var head = CacheHead(status: 504, reason: "Gateway Timeout")
        head.fields.setText(.date, now.date.description)
        head.fields.setText(.contentLength, "0")
        return head
    }
}
