/// Where a request may go, by the look of its URL: asked before the first exchange and for every redirect (pure).
///
/// The addresses behind a name are the subject of ``AddressFilter``.
public struct AccessPolicy: Sendable, Hashable {
    /// The schemes there are.
    public struct Schemes: OptionSet, Sendable, Hashable {
        /// The schemes as bits: 1 for `http`, 2 for `https`.
        public let rawValue: UInt8
        /// Makes a set of its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Plain HTTP, without TLS.
        public static let http = Schemes(rawValue: 1)
        /// HTTP over TLS.
        public static let https = Schemes(rawValue: 2)
    }

    /// The schemes that are spoken. Default: both.
    public var schemes: Schemes = [.http, .https]
    /// The ports that may be asked, the schemes' own ones included. Nil, the default: all.
    public var ports: Set<Int>?
    /// The hosts that may be asked. Nil, the default: all.
    public var allowedHosts: [AccessPolicy.HostPattern]?
    /// Hosts that are not asked, even where ``allowedHosts`` has them. Empty by default.
    public var deniedHosts: [AccessPolicy.HostPattern] = []

    /// Makes a policy that allows every URL.
    public init() {}

    /// Only `https`: the first URL and every redirect, else ``NetworkError/Code/insecureConnection``. Default: false.
    public var httpsOnly: Bool {
        get { schemes == .https }
        set { schemes = newValue ? .https : [.http, .https] }
    }

    /// - Throws: ``NetworkError`` with the code `insecureConnection` for `http` where that is not spoken, else `accessRefused`.
    func check(_ url: RequestURL, phase: NetworkError.Phase = .preparing) throws(NetworkError) {
        if schemes != [.http, .https] { try checkScheme(url, phase) }
        if let ports, !ports.contains(url.port) {
            throw NetworkError(.accessRefused, phase: phase, message: "port \(url.port) is not among those allowed")
        }
        if allowedHosts != nil || !deniedHosts.isEmpty { try checkHost(url, phase) }
    }

    private func checkScheme(_ url: RequestURL, _ phase: NetworkError.Phase) throws(NetworkError) {
        guard !schemes.contains(url.scheme == "https" ? .https : .http) else { return }
        guard url.scheme == "http", schemes.contains(.https) else {
            throw NetworkError(.accessRefused, phase: phase, message: "\(url.scheme) is not among the schemes allowed")
        }
        throw NetworkError(.insecureConnection, phase: phase, message: "the URL of \(url.host) is http where https is demanded")
    }

    private func checkHost(_ url: RequestURL, _ phase: NetworkError.Phase) throws(NetworkError) {
        let host = url.host
        // The same name has two spellings then, and only one of them may be in the lists.
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw NetworkError(.accessRefused, phase: phase, message: "where hosts are listed, the host is to be written as xn--…")
        }
        if let pattern = deniedHosts.first(where: { $0.matches(host) }) {
            throw NetworkError(.accessRefused, phase: phase, message: "the host \(host) is denied by \(pattern)")
        }
        guard let allowedHosts, !allowedHosts.contains(where: { $0.matches(host) }) else { return }
        throw NetworkError(.accessRefused, phase: phase, message: "the host \(host) is not among those allowed")
    }
}
