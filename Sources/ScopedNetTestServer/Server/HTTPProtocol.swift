/// A version of HTTP that a ``LoopbackServer`` speaks.
public enum HTTPProtocol: Sendable, Hashable {
    /// HTTP/1.1 (and HTTP/1.0 when a client asks for it).
    case http1
    /// HTTP/2: by ALPN over TLS, or by prior knowledge (h2c) on a plain server that speaks nothing else.
    case http2

    /// The name of the protocol in TLS application layer protocol negotiation.
    var alpnName: String {
        switch self {
        case .http1: "http/1.1"
        case .http2: "h2"
        }
    }
}
