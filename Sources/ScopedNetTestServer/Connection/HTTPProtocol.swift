#if TestServer
/// A version of HTTP that a ``LoopbackServer`` speaks.
public enum HTTPProtocol: Sendable, Hashable {
    /// HTTP/1.1 (and HTTP/1.0 when a client asks for it).
    case http1
    #if TestServerTLS
    /// HTTP/2: by ALPN over TLS, or by prior knowledge (h2c) on a plain server that speaks nothing else. With the trait `TestServerTLS`.
    case http2
    #endif

    /// The name of the protocol in TLS application layer protocol negotiation.
    var alpnName: String {
        switch self {
        case .http1: "http/1.1"
        #if TestServerTLS
        case .http2: "h2"
        #endif
        }
    }
}
#endif
