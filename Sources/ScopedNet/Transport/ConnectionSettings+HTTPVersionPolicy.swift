extension ConnectionSettings {
    /// The version of HTTP that is spoken.
    public enum HTTPVersionPolicy: Sendable, Hashable {
        /// HTTP/2 by ALPN over TLS, HTTP/1.1 otherwise. Below libcurl 8, streamed responses and large uploads use
        /// HTTP/1.1: a paused HTTP/2 stream buffers up to its whole window there.
        case automatic
        /// HTTP/1.1 only.
        case http1
        /// HTTP/2 by ALPN (falls back to HTTP/1.1 when the server has none), also where `automatic` would prefer HTTP/1.1.
        case http2
        /// HTTP/2 without asking, on plain TCP too (RFC 9113 section 3.3). Below libcurl 8 each such request on plain TCP has a connection of
        /// its own: a second one on the same connection would fail there.
        case http2PriorKnowledge
    }
}
