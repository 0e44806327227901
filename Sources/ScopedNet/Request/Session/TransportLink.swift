package import Reachability
import Synchronization
import SystemSupport

/// A transport, its slots and what it hears of the network: shared by derived sessions.
package final class TransportLink: Sendable {
    package let transport: any Transport
    package let admission: AdmissionQueue
    /// For what is held long.
    package let liveAdmission: AdmissionQueue
    let users = TransportUsers()
    private let listener = Lock<(any ShutdownListener)?>(nil)
    private let settings: ConnectionSettings
    private let connectivity: Connectivity
    private let environment: ProxyConfiguration.Environment
    private let source = Lock<(any ConnectivitySource)?>(nil)
    private let watching = Lock<(any Cancellable)?>(nil)
    private let isWatching: Atomic<Bool>
    private let overrides: HostOverrides
    /// Whether a host has pins and must be reached over https; nil where nothing is pinned.
    private let securedHosts: Result<SecuredHosts, NetworkError>?

    init(_ configuration: Session.Configuration) {
        settings = configuration.connection
        overrides = HostOverrides(configuration.connection)
        connectivity = configuration.connectivity
        transport = configuration.customTransport ?? CurlTransport(settings: configuration.connection)
        let limits = configuration.connection.limits
        admission = AdmissionQueue(limits: limits, timing: configuration.timing)
        liveAdmission = AdmissionQueue(limits: limits.ofLive, timing: configuration.timing)
        environment =
            configuration.connection.proxy == .environment ? ProxyConfiguration.Environment(EasyProfile.processEnvironment) : .none
        isWatching = Atomic(configuration.connection.unixSocketPath != nil)
        let security = configuration.connection.security
        securedHosts =
            security.isDefault
            ? nil : Result { () throws(NetworkError) in try SecuredHosts(security) }
    }

    /// - Throws: ``NetworkError`` with code `insecureConnection` for a host with pins over `http`.
    func checkTrust(_ url: RequestURL) throws(NetworkError) {
        if let securedHosts { try securedHosts.get().check(url) }
    }

    /// Hears of the end of the services in which requests are awaited.
    package var shutdownListener: (any ShutdownListener)? {
        get { listener.withLock { $0 } }
        set { listener.withLock { $0 = newValue } }
    }

    deinit { watching.withLock { $0 }?.cancel() }

    /// Nil where nothing is to be watched.
    package func connectivitySource() -> (any ConnectivitySource)? {
        if let known = source.withLock({ $0 }) { return known }
        guard let made = connectivity.makeSource() else { return nil }
        return source.withLock { source in
            if source == nil { source = made }
            return source
        }
    }

    /// Whose reach a request to this URL needs; empty when it stays on this machine.
    package func targets(of url: RequestURL) -> [NetworkPath.Target] {
        let proxy = proxy(for: url)
        let (host, port) = overrides.destination(host: url.host, port: url.port) ?? (url.host, url.port)
        let hosts = (proxy == nil ? overrides.addresses(host: host, port: port) : nil) ?? [host]
        let targets = hosts.map { host in
            ConnectivityTargets.targets(host: host, port: port, isUnixSocket: settings.unixSocketPath != nil, proxy: proxy)
        }
        // Any of them will do, and one that stays on this machine waits for nobody.
        return targets.contains(where: \.isEmpty) ? [] : targets.flatMap { $0 }
    }

    private func proxy(for url: RequestURL) -> String? {
        switch settings.proxy {
        case .none: return nil
        case .explicit(let proxy, _, let bypass):
            return NoProxyList(bypass.joined(separator: ",")).contains(host: url.host, port: url.port) ? nil : proxy
        case .environment:
            guard case .proxy(let proxy) = environment.choice(scheme: url.scheme, host: url.host, port: url.port) else { return nil }
            return proxy
        }
    }

    /// Whether there is a path to the URL's server, as far as that is known; nil when nobody knows. Asks nobody.
    ///
    /// Only the network at large is watched all the time: a server on a network that leads nowhere else seems out of reach, until somebody
    /// waits for it and so watches itself.
    package func hasPath(to url: RequestURL) -> Bool? {
        guard isWatching.load(ordering: .relaxed), let source = source.withLock({ $0 }), !targets(of: url).isEmpty else { return nil }
        return source.isSatisfied([.defaultPath])
    }

    /// The proxy that a request to this URL speaks to itself, and that may ask who it is; nil for a direct way, a tunnel, another kind of
    /// proxy, and one whose credentials the transport has.
    package func proxyOrigin(for url: RequestURL) -> RequestURL.Origin? {
        guard url.scheme == "http", settings.unixSocketPath == nil, let proxy = proxy(for: url) else { return nil }
        // In a tunnel the request is between client and server.
        guard overrides.destination(host: url.host, port: url.port) == nil else { return nil }
        if case .explicit(_, .some, _) = settings.proxy { return nil }
        guard let parsed = try? RequestURL(proxy.contains("://") ? proxy : "http://" + proxy), !parsed.hasCredentials else { return nil }
        return parsed.origin
    }

    // MARK: Watching

    /// After a connection to that address: from now on a change of the path may leave a dead one in the pool.
    @inline(__always)
    func noteConnection(to address: String) {
        guard !isWatching.load(ordering: .relaxed), !address.isEmpty else { return }
        if !address.hasPrefix("127."), address != "::1" { beginWatching() }
    }

    /// Before a request that will be tried again: by then it should be known whether there is a path.
    func noteRetries(to url: RequestURL) {
        if !isWatching.load(ordering: .relaxed), !targets(of: url).isEmpty { beginWatching() }
    }

    private func beginWatching() {
        guard !isWatching.exchange(true, ordering: .relaxed), let source = connectivitySource() else { return }
        let watch = source.watch { [weak transport] in transport?.networkChanged() }
        watching.withLock { $0 = watch }
    }
}
