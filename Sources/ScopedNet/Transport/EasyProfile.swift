import CCurl
import Glibc
import SystemSupport

/// The options every transfer of a transport shares: set once per handle, again only after a reset.
final class EasyProfile {
    let settings: ConnectionSettings
    let environment: ProxyConfiguration.Environment?
    private let systemBundle: String?
    /// Nil until the first handle, and where the TLS library shows nobody what it verifies.
    private(set) var trustRules: TrustRules?
    /// Nil where nothing is pinned.
    private(set) var securedHosts: SecuredHosts?
    /// Whether the proxy has to be chosen for each URL.
    let choosesProxyPerRequest: Bool
    /// libcurl has credentials that it sends in answer to a challenge of the proxy.
    let answersProxies: Bool
    let overrides: HostOverrides
    /// Nil until the first transfer, and where nothing is overridden.
    var overrideLists: OverrideLists?

    init(settings: ConnectionSettings) {
        self.settings = settings
        overrides = HostOverrides(settings)
        environment = settings.proxy == .environment ? ProxyConfiguration.Environment(Self.processEnvironment) : nil
        choosesProxyPerRequest = environment.map { $0 != .none } ?? false
        answersProxies = settings.proxy.answersChallenges
        systemBundle = Self.bundles.first { access($0, R_OK) == 0 }
    }

    /// Where Debian, Fedora, SUSE and Alpine keep the trusted roots as one file. One file and no directory lets libcurl keep the
    /// parsed store for all connections: 0.5 ms against 19 ms for each new one (measured).
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    static var processEnvironment: [String: String] {
        var values: [String: String] = [:]
        for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"] {
            if let value = getenv(name) { values[name] = String(cString: value) }
        }
        return values
    }

    func apply(to easy: CurlEasy) throws(NetworkError) {
        let options = CurlOptions(easy: easy)
        applyPlumbing(options, easy)
        try applyTLS(options)
        try applyTrust(options, easy)
        try applyNetwork(options)
        applyGuard(options, easy)
    }

    private func applyPlumbing(_ options: borrowing CurlOptions, _ easy: CurlEasy) {
        let context = easy.context
        let handle = easy.handle
        options.set(CURLOPT_NOSIGNAL, 1)
        options.set(CURLOPT_PRIVATE, context)
        options.set(CURLOPT_WRITEDATA, context)
        options.set(CURLOPT_HEADERDATA, context)
        options.note(scurl_set_data_callback(handle, CURLOPT_WRITEFUNCTION, CurlCallbacks.write))
        options.note(scurl_set_data_callback(handle, CURLOPT_HEADERFUNCTION, CurlCallbacks.header))
        options.set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(easy.errorText))
        options.set(CURLOPT_OPENSOCKETDATA, context)
        options.set(CURLOPT_RESOLVER_START_DATA, context)
        options.note(scurl_set_lookup_callback(handle, CurlCallbacks.lookup))
        options.set(CURLOPT_CLOSESOCKETDATA, easy.loopContext)
        options.note(scurl_set_open_callback(handle, CurlCallbacks.open))
        options.note(scurl_set_close_callback(handle, CurlCallbacks.close))
        options.set(CURLOPT_PREREQDATA, context)
        options.note(scurl_set_prereq_callback(handle, CurlCallbacks.beforeRequest))
        // Redirects, cookies and content decoding are ours.
        options.set(CURLOPT_FOLLOWLOCATION, 0)
        options.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        // Where libcurl answers the challenges of a proxy, its answers are counted.
        options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, answersProxies ? 0 : 1)
        options.set(CURLOPT_PROTOCOLS_STR, "http,https")
        options.set(CURLOPT_QUICK_EXIT, 1)
        options.set(CURLOPT_TCP_KEEPALIVE, 1)
        options.set(CURLOPT_MAXAGE_CONN, Int(settings.limits.idleLifetime.components.seconds))
        if let share = easy.share { options.note(scurl_set_share(handle, share)) }
    }

    /// Without any, OpenSSL would ask for one on the terminal, and the network thread wait for the answer.
    private static let noPassword = ""

    private func applyTLS(_ options: borrowing CurlOptions) throws(NetworkError) {
        let tls = settings.tls
        let version = tls.minimumVersion == .tls13 ? SCURL_SSLVERSION_TLSv1_3 : SCURL_SSLVERSION_TLSv1_2
        options.set(CURLOPT_SSLVERSION, version)
        options.set(CURLOPT_SSL_VERIFYPEER, tls.dangerouslyAcceptsAnyCertificate ? 0 : 1)
        options.set(CURLOPT_SSL_VERIFYHOST, tls.dangerouslyAcceptsAnyHostName ? 0 : 2)
        try applyAuthority(options, file: CURLOPT_CAINFO, directory: CURLOPT_CAPATH, blob: CURLOPT_CAINFO_BLOB)
        // A proxy that speaks TLS is held to the same.
        options.set(CURLOPT_PROXY_SSLVERSION, version)
        try applyAuthority(options, file: CURLOPT_PROXY_CAINFO, directory: CURLOPT_PROXY_CAPATH, blob: CURLOPT_PROXY_CAINFO_BLOB)
        switch tls.clientCertificate {
        case nil: break
        case .files(let certificate, let key, let password):
            for path in [certificate, key] where access(path, R_OK) != 0 { throw .unreadable(path, "the client certificate") }
            try options.require(CURLOPT_SSLCERT, certificate, "clientCertificate")
            try options.require(CURLOPT_SSLKEY, key, "clientCertificate")
            try options.require(CURLOPT_KEYPASSWD, password ?? Self.noPassword, "clientCertificate")
        case .pem(let certificate, let key):
            try options.require(CURLOPT_SSLCERT_BLOB, blob: certificate, "clientCertificate")
            try options.require(CURLOPT_SSLKEY_BLOB, blob: key, "clientCertificate")
            try options.require(CURLOPT_KEYPASSWD, Self.noPassword, "clientCertificate")
        }
    }

    private func applyAuthority(
        _ options: borrowing CurlOptions, file: CURLoption, directory: CURLoption, blob: CURLoption
    ) throws(NetworkError) {
        options.set(directory, nil as String?)
        switch settings.tls.certificateAuthority {
        case .system:
            if let systemBundle { options.set(file, systemBundle) }
        case .file(let path):
            guard access(path, R_OK) == 0 else { throw .unreadable(path, "the certificate authority file") }
            try options.require(file, path, "certificateAuthority")
        case .directory(let path):
            guard access(path, R_OK) == 0 else { throw .unreadable(path, "the certificate authority directory") }
            options.set(file, nil as String?)
            try options.require(directory, path, "certificateAuthority")
        case .pem(let text): try options.require(blob, blob: text, "certificateAuthority")
        }
    }

    /// What has to be read, elsewhere, before a transfer begins. What cannot be read is tried again with the next transfer.
    var unreadPins: SecurityPolicy? { trustRules == nil && !settings.security.isDefault ? settings.security : nil }

    func adopt(_ trust: (hosts: SecuredHosts, rules: TrustRules)) {
        guard trustRules == nil else { return }
        (securedHosts, trustRules) = (trust.hosts, trust.rules)
    }

    /// No transfer begins without what was pinned.
    private func applyTrust(_ options: borrowing CurlOptions, _ easy: CurlEasy) throws(NetworkError) {
        if trustRules == nil {
            guard settings.security.isDefault else { throw .invalidPin("the pins have not been read") }
            guard Capabilities.current.sharesOpenSSL else { return }
            trustRules = TrustRules()
        }
        options.set(CURLOPT_SSL_CTX_DATA, easy.context)
        options.note(scurl_set_tls_callback(easy.handle, CurlCallbacks.secure))
    }

    /// The proxy that may be on the way to this URL, if it is spoken to over TLS.
    ///
    /// libcurl reads the list of hosts it does not use a proxy for a little differently, so the list is no proof that there is none. Names
    /// tell the two apart; of two addresses the list says which one it is.
    func securedProxy(for url: RequestURL) -> RequestURL? {
        guard let (proxy, isBypassed) = proxy(for: url), proxy.lowercased().hasPrefix("https://"), let parsed = try? RequestURL(proxy)
        else { return nil }
        return isBypassed && IPLiteral(url.host) != nil && IPLiteral(parsed.host) != nil ? nil : parsed
    }

    /// Some requests may go by way of a proxy.
    var mayUseProxy: Bool {
        switch settings.proxy {
        case .none: false
        case .environment: environment.map { $0 != .none } ?? false
        case .explicit: true
        }
    }

    /// Whether the request itself goes to a proxy, and not through one.
    func isForwarded(_ url: RequestURL) -> Bool {
        guard url.scheme == "http", settings.unixSocketPath == nil, let (proxy, isBypassed) = proxy(for: url) else { return false }
        // As in `applyProxy`.
        if case .environment = settings.proxy, settings.addressFilter != nil { return false }
        if tunnels(url) { return false }
        return !isBypassed && !proxy.isEmpty && !proxy.lowercased().hasPrefix("socks")
    }

    /// The name that libcurl's resolver has to look up for this URL, the proxy's where there is one; nil when no resolver is asked.
    func lookedUpHost(for url: RequestURL) -> String? {
        guard settings.unixSocketPath == nil else { return nil }
        var host = overrides.destination(host: url.host, port: url.port)?.host ?? url.host
        if settings.addressFilter == nil, let (proxy, isBypassed) = proxy(for: url), !isBypassed, !proxy.isEmpty,
            let parsed = try? RequestURL(proxy.contains("://") ? proxy : "http://\(proxy)")
        {
            host = parsed.host
        }
        return host.isEmpty || IPLiteral(host) != nil ? nil : host
    }

    private func proxy(for url: RequestURL) -> (url: String, isBypassed: Bool)? {
        switch settings.proxy {
        case .none: return nil
        case .environment:
            guard let environment else { return nil }
            return (proxyText(environment.choice(scheme: url.scheme, host: url.host, port: url.port)), false)
        case .explicit(let text, _, let bypass):
            return (text, NoProxyList(bypass.joined(separator: ",")).contains(host: url.host, port: url.port))
        }
    }

    private func applyNetwork(_ options: borrowing CurlOptions) throws(NetworkError) {
        if let path = settings.unixSocketPath {
            // sun_path of unix(7), with its NUL.
            guard path.utf8.count < 108, !path.isEmpty, !path.utf8.contains(0) else {
                throw NetworkError(.invalidOption, phase: .preparing, message: "the unix socket path must have 1 to 107 bytes and no NUL")
            }
            try options.require(CURLOPT_UNIX_SOCKET_PATH, path, "unixSocketPath")
        }
        if let local = settings.localAddress { try options.require(CURLOPT_INTERFACE, local, "localAddress") }
        switch settings.addressFamily {
        case .any: break
        case .ipv4: options.set(CURLOPT_IPRESOLVE, SCURL_IPRESOLVE_V4)
        case .ipv6: options.set(CURLOPT_IPRESOLVE, SCURL_IPRESOLVE_V6)
        }
        options.set(CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, settings.happyEyeballsDelay.milliseconds)
        switch settings.proxy {
        case .none, .environment:
            // Never let libcurl read the environment for each request: it was read once, by `environment`.
            options.set(CURLOPT_PROXY, "")
        case .explicit(let url, let credentials, let bypass):
            // To libcurl that means no proxy: what was to be hidden would go out directly.
            guard !url.isEmpty else {
                throw NetworkError(.invalidOption, phase: .preparing, message: "the proxy URL is empty; use .none for no proxy")
            }
            try ProxyConfiguration.check(url)
            try options.require(CURLOPT_PROXY, url, "proxy")
            try options.require(CURLOPT_NOPROXY, bypass.joined(separator: ","), "proxy bypass")
            if let credentials {
                try credentials.check()
                options.set(CURLOPT_PROXYAUTH, credentials.schemes)
                try options.require(CURLOPT_PROXYUSERNAME, credentials.user, "proxy credentials")
                try options.require(CURLOPT_PROXYPASSWORD, credentials.password, "proxy credentials")
            }
        }
    }

    private func proxyText(_ choice: ProxyConfiguration.Environment.Choice) -> String {
        switch choice {
        case .direct: ""
        case .proxy(let url): url
        }
    }

    /// Sets what the environment says for this URL.
    func applyProxy(to easy: CurlEasy, for url: RequestURL) throws(NetworkError) {
        guard let environment, settings.addressFilter == nil else { return }
        let proxy = proxyText(environment.choice(scheme: url.scheme, host: url.host, port: url.port))
        try ProxyConfiguration.check(proxy)
        try CurlOptions(easy: easy).require(CURLOPT_PROXY, proxy, "proxy from the environment")
        CurlOptions(easy: easy).set(CURLOPT_NOPROXY, "")
    }
}

extension NetworkError {
    static func unreadable(_ path: String, _ what: String) -> NetworkError {
        let code = errno
        return NetworkError(
            .fileUnreadable, phase: .preparing, message: "cannot read \(what) \(path): \(SystemFailure.text(of: code))",
            underlying: NetworkError.SystemError(code: code))
    }
}

extension Duration {
    /// Whole milliseconds, at least 1 for any positive duration.
    var milliseconds: Int {
        let value = components.seconds.multipliedReportingOverflow(by: 1_000)
        guard !value.overflow else { return Int.max / 2 }
        let whole = Int(value.partialValue) + Int(components.attoseconds / 1_000_000_000_000_000)
        return self > .zero ? max(1, whole) : whole
    }

    package var nanoseconds: UInt64 {
        guard self > .zero else { return 0 }
        let seconds = UInt64(components.seconds).multipliedReportingOverflow(by: 1_000_000_000)
        guard !seconds.overflow else { return UInt64.max / 4 }
        return min(UInt64.max / 4, seconds.partialValue &+ UInt64(components.attoseconds / 1_000_000_000))
    }
}
