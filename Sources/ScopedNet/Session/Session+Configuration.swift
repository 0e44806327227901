public import Dispatch
public import HTTPTypes

extension Session {
    /// The settings of a session. A value: change a copy, make a session.
    public struct Configuration: Sendable {
        /// Relative request URLs are resolved against it (RFC 3986 section 5). A base without a trailing slash loses its last segment,
        /// as in a browser; observers receive a ``SessionWarning`` of it.
        public var baseURL: String?
        /// Sent with each request that does not set the field itself.
        public var headers: HTTPFields = [:]
        /// Defaults for each request.
        public var options = RequestOptions()
        /// The coding of JSON values, bodies and error documents; `JSONCoding(keys: .snakeCase, dates: .iso8601)`, say.
        public var json = JSONCoding.standard
        /// The type of the server's error documents: what ``NetworkError/serverMessage`` and ``NetworkError/document`` read. Default:
        /// problem documents (RFC 9457).
        public var errorDocument: any NetworkError.Document.Type = NetworkError.ProblemDetails.self
        /// TLS, proxy, addresses, limits: what makes a connection pool of its own.
        public var connection = ConnectionSettings()
        /// Where responses are kept and looked for; none by default. May be shared by sessions.
        public var cache: ResponseCache?
        /// Where cookies are kept between requests; nil by default, and then none are. May be shared by sessions.
        public var cookies: CookieJar?
        /// The hosts that are asked over https only; nil by default, and then none is noted. May be shared by sessions.
        public var hsts: Session.HSTSStore?
        /// What challenges of servers and proxies are answered with; nil by default, and then none is. May be shared by sessions.
        public var credentials: CredentialStore?
        /// The rate at which each host is asked; nil, the default, has no limit.
        public var rateLimit: RateLimit?
        /// How the session hears that the network has changed.
        public var connectivity = Connectivity.automatic
        /// Where callbacks run that belong to no actor. A private serial queue by default.
        public var deliveryQueue: DispatchQueue
        /// Called in this order, before delegate and closures.
        public var observers: [any RequestObserver] = []
        /// Retains the running requests.
        public var agent: RequestAgent
        /// How much of the body of a failed response is kept in the error. Default: 64 KiB.
        public var errorBodyBytes = 64 << 10

        package var customTransport: (any Transport)?
        package var timing: any Timing = SystemTiming()
        /// Instead of `deliveryQueue`, in tests.
        package var deliveryTarget: (any DeliveryTarget)?
        package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// - Parameters:
        ///   - customTransport: sends the requests; nil, the default, for libcurl. Tests put a mock here.
        ///   - agent: who retains them; ``RequestAgent/shared`` by default.
        public init(customTransport: (any Transport)? = nil, agent: RequestAgent = .shared, deliveryQueue: DispatchQueue? = nil) {
            self.customTransport = customTransport
            self.agent = agent
            self.deliveryQueue = deliveryQueue ?? DispatchQueue(label: "scopednet.delivery")
        }

        static let defaultUserAgent = "ScopedNet/0.1"
    }
}

extension Session.Configuration {
    /// The hard limits on connections and on waiting.
    public var limits: ConnectionLimits {
        get { connection.limits }
        set { connection.limits = newValue }
    }

    public var tls: TLSConfiguration {
        get { connection.tls }
        set { connection.tls = newValue }
    }

    /// Pins: certificates and keys that certain servers must show. The session has connections of its own for them.
    public var security: SecurityPolicy {
        get { connection.security }
        set { connection.security = newValue }
    }

    public var proxy: ProxyConfiguration {
        get { connection.proxy }
        set { connection.proxy = newValue }
    }
}
