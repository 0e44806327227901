#if TestServer
/// A status line and header fields, ready to be written.
struct ResponseHead: Sendable, Hashable {
    var status: Int
    var reason: String?
    var headers: HeaderList
}

/// One thing a response does. A script becomes a list of these, worked off in order.
enum ResponseStep: Sendable, Hashable {
    case interimHead(ResponseHead)
    case pause(Duration)
    case stall
    case head(ResponseHead)
    /// What is left of a head that drips.
    case headBytes([UInt8])
    /// Payload: at most this many bytes, or all there is.
    case body(Int?)
    /// The end of the payload, with its trailers.
    case finish(HeaderList)
    case cut(Cut)

    /// A connection cut before its time.
    enum Cut: Sendable, Hashable {
        /// The stream is reset on HTTP/2, the connection closed on HTTP/1.
        case close
        /// The TCP connection is reset.
        case reset
        /// The TCP connection is closed, whatever layers are above it.
        case closeWithoutNotify
    }
}
#endif
