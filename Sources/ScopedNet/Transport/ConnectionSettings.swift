/// The settings of a connection pool. A session and those derived from it share one pool as long as their settings are equal.
public struct ConnectionSettings: Sendable, Hashable {
    /// The trust in servers and the client's identity. Default: the system's authorities, TLS 1.2 at least.
    public var tls = TLSConfiguration()
    /// Pins: the certificates or keys that certain hosts must show. Default: none, the system decides.
    public var security = SecurityPolicy()
    /// The proxy. Default: the one that the environment names.
    public var proxy = ProxyConfiguration.environment
    /// The limits on connections and waiting requests.
    public var limits = ConnectionLimits()
    /// Every connection goes to this socket instead (unix(7)); host names are still sent and verified.
    public var unixSocketPath: String?
    /// The address or interface to send from.
    public var localAddress: String?
    /// The family of addresses to connect to. Default: both, IPv6 first (RFC 8305).
    public var addressFamily = AddressFamily.any
    /// The time before the other address family is tried as well (RFC 8305). Default: 200 ms.
    public var happyEyeballsDelay: Duration = .milliseconds(200)

    /// The rule for the addresses that may be connected to. Nil, the default: all.
    public var addressFilter: AddressFilter?
    /// The addresses of certain hosts, in place of a name lookup. Default: none.
    public var resolves: [ResolveOverride] = []
    /// The hosts and ports that connections are made to, in place of those in the URLs. Default: none.
    public var connectsTo: [ConnectOverride] = []

    /// `any` takes the first of both families that answers.
    public enum AddressFamily: Sendable, Hashable { case any, ipv4, ipv6 }

    /// Makes the default settings.
    public init() {}
}

/// Hard limits; what exceeds them waits in the session's queue, outside libcurl.
public struct ConnectionLimits: Sendable, Hashable {
    /// Transfers at once for one scheme, host and port that need a connection of their own: all of them until the host is known to speak
    /// HTTP/2, then those for HTTP/1.1. Default: 6. Without a proxy there are never more than one connection beyond that.
    public var perHost = 6
    /// Transfers at once in all. Default: 64.
    public var total = 64
    /// Streams at once for a host that speaks HTTP/2, beside ``perHost``. Default: 100.
    public var streamsPerHost = 100
    /// Transfers at once that are held for long: streams (``Session/stream(_:method:query:headers:body:in:window:fileID:line:)``) and channels. They take no
    /// place of ``perHost``, ``streamsPerHost`` and ``total``. Default: 64.
    public var live = 64
    /// Requests that may wait; one more fails with `queueFull`. Default: 100,000.
    public var queued = 100_000
    /// The time that an idle connection is kept. Default: 118 s, as libcurl.
    public var idleLifetime: Duration = .seconds(118)

    /// Makes the default limits.
    public init() {}
}

extension ConnectionLimits {
    /// The limits of what is held long, whatever host it is of.
    var ofLive: ConnectionLimits {
        var limits = self
        (limits.total, limits.perHost, limits.streamsPerHost) = (live, live, live)
        return limits
    }
}

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
