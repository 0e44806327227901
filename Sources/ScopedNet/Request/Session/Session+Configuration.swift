public import Dispatch
import Persistence

extension Session {
    /// The settings of a session. A value: change a copy, make a session.
    public struct Configuration: Sendable {
        /// Relative request URLs are resolved against it (RFC 3986 section 5). A base without a trailing slash loses its last segment,
        /// as in a browser; observers receive a ``SessionWarning`` of it.
        public var baseURL: String?
        /// The fields of each request that does not set them itself: `configuration.headers["X-Key"] = key`. What is no field fails each request.
        public var headers: HeaderFields = [:]
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

        /// Makes a configuration with the defaults.
        ///
        /// - Parameters:
        ///   - agent: retains the running requests; ``RequestAgent/shared`` by default.
        ///   - deliveryQueue: the queue of callbacks that belong to no actor; nil, the default, for a private serial one.
        public init(agent: RequestAgent = .shared, deliveryQueue: DispatchQueue? = nil) {
            self.agent = agent
            self.deliveryQueue = deliveryQueue ?? DispatchQueue(label: "scopednet.delivery")
        }

        /// Makes a configuration whose requests are sent by a transport of your own.
        @_spi(Transport)
        public init(customTransport: (any Transport)?, agent: RequestAgent = .shared, deliveryQueue: DispatchQueue? = nil) {
            self.init(agent: agent, deliveryQueue: deliveryQueue)
            self.customTransport = customTransport
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

    /// The trust in servers and the client's identity: ``ConnectionSettings/tls`` of ``connection``.
    public var tls: TLSConfiguration {
        get { connection.tls }
        set { connection.tls = newValue }
    }

    /// Pins: certificates and keys that certain servers must show. The session has connections of its own for them.
    public var security: SecurityPolicy {
        get { connection.security }
        set { connection.security = newValue }
    }

    /// The way out to the network: ``ConnectionSettings/proxy`` of ``connection``. Default: the one that the environment names.
    public var proxy: ProxyConfiguration {
        get { connection.proxy }
        set { connection.proxy = newValue }
    }
}

extension Session.Configuration {
    /// Waits until what responses, cookies and credentials have changed is on disk; for two seconds at most, as no disk may keep a daemon
    /// from ending.
    func flushStores() async {
        // Their writings are queued at their stores here, and what is queued is written before the flush is over.
        cookies?.save()
        credentials?.save()
        hsts?.save()
        var stores: [Store] = []
        for store in [cache?.store, cookies?.store, credentials?.store, hsts?.store] {
            if let store, !stores.contains(where: { $0 === store }) { stores.append(store) }
        }
        await withTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { try? await store.flush(atMost: .seconds(2)) } }
        }
    }
}

extension Session.Configuration {
    /// The rule for the addresses that the session may connect to. Nil, the default: all.
    public var addressFilter: AddressFilter? {
        get { connection.addressFilter }
        set { connection.addressFilter = newValue }
    }
}

extension Session.Configuration {
    /// The addresses of certain hosts, in place of a name lookup; none by default. Of two for the same host and port the later one counts.
    /// A session with other overrides has connections of its own.
    public var resolves: [ConnectionSettings.ResolveOverride] {
        get { connection.resolves }
        set { connection.resolves = newValue }
    }

    /// The hosts and ports that connections are made to, in place of those in the URLs; none by default. A session with other overrides
    /// has connections of its own. Through a proxy such a request goes in a tunnel, over `http` too.
    public var connectsTo: [ConnectionSettings.ConnectOverride] {
        get { connection.connectsTo }
        set { connection.connectsTo = newValue }
    }
}
