/// The settings of a connection pool. Sessions whose settings are equal share one transport, thread and pool.
public struct ConnectionSettings: Sendable, Hashable {
    public var tls = TLSConfiguration()
    /// Pins: the certificates or keys that certain hosts must show. Default: none, the system decides.
    public var security = SecurityPolicy()
    public var proxy = ProxyConfiguration.environment
    public var limits = ConnectionLimits()
    /// Every connection goes to this socket instead (unix(7)); host names are still sent and verified.
    public var unixSocketPath: String?
    /// The address or interface to send from.
    public var localAddress: String?
    public var addressFamily = AddressFamily.any
    /// The time before the other address family is tried as well (RFC 8305). Default: 200 ms.
    public var happyEyeballsDelay: Duration = .milliseconds(200)

    /// The rule for the addresses that may be connected to. Nil, the default: all.
    public var addressFilter: AddressFilter?
    /// The addresses of certain hosts, in place of a name lookup. Default: none.
    public var resolves: [ResolveOverride] = []
    /// The hosts and ports that connections are made to, in place of those in the URLs. Default: none.
    public var connectsTo: [ConnectOverride] = []

    public enum AddressFamily: Sendable, Hashable { case any, ipv4, ipv6 }

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
    /// Requests that may wait; one more fails with `queueFull`. Default: 100,000.
    public var queued = 100_000
    /// The time that an idle connection is kept. Default: 118 s, as libcurl.
    public var idleLifetime: Duration = .seconds(118)

    public init() {}
}
