#if TestServer
/// How the answer to a request ended, as the server saw it.
public enum ResponseEnding: Sendable, Hashable {
    /// The last byte of the response was handed to the kernel.
    case completed
    /// The client closed the connection, or lost it, before that.
    case clientClosed
    /// The client reset the HTTP/2 stream before that.
    case streamReset
    /// The script cut the response short: truncated, reset, hung up.
    case cutByScript
    /// The server was stopped.
    case serverStopped
}
#endif
