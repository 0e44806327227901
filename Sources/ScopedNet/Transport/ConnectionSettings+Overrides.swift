extension ConnectionSettings {
    /// The addresses of a host, in place of those that its name resolves to: `--resolve` of curl (CURLOPT_RESOLVE(3)).
    ///
    /// The name is not looked up. It is still what the server sees in `Host` and in the TLS handshake, and what its certificate has to be for.
    ///
    /// ```swift
    /// configuration.resolves = [.init("api.example", port: 443, to: ["127.0.0.1"])]
    /// ```
    public struct ResolveOverride: Sendable, Hashable {
        /// A host name in its ASCII form, or `*` for every host without an override of its own.
        public var host: String
        /// The port in the URL, or the default of its scheme: 1 to 65,535.
        public var port: Int
        /// IPv4 and IPv6 addresses, tried like the answers of a name server. IPv6 with or without brackets, without a zone.
        public var addresses: [String]

        /// - Parameters:
        ///   - host: a host name, or `*`.
        ///   - port: the port of the URLs that this is for. Default: 443.
        ///   - addresses: at least one.
        public init(_ host: String, port: Int = 443, to addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }

    /// The host and port that a connection is made to, in place of those in the URL: `--connect-to` of curl (CURLOPT_CONNECT_TO(3)).
    ///
    /// The server sees the host of the URL in `Host` and in the TLS handshake, and its certificate has to be for that one. Of several overrides the
    /// first that matches counts.
    ///
    /// ```swift
    /// configuration.connectsTo = [.init("www.example", port: 443, to: "canary-7.internal", toPort: 8443)]
    /// ```
    public struct ConnectOverride: Sendable, Hashable {
        /// The host in the URL, IPv6 with or without brackets; nil for every host.
        public var host: String?
        /// The port in the URL, or the default of its scheme; nil for every port.
        public var port: Int?
        /// The host to connect to, a name or an address; nil keeps the URL's.
        public var newHost: String?
        /// The port to connect to; nil keeps the URL's.
        public var newPort: Int?

        /// Nil stands for all hosts and ports on the left, and for the URL's own on the right.
        public init(_ host: String? = nil, port: Int? = nil, to newHost: String? = nil, toPort newPort: Int? = nil) {
            self.host = host
            self.port = port
            self.newHost = newHost
            self.newPort = newPort
        }
    }
}

extension ConnectionSettings.ResolveOverride {
    /// Reads `host:port:address[,address]…`, as curl's `--resolve`.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidOption` for any other text.
    public init(argument text: String) throws(NetworkError) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let port = HostOverrides.number(parts[1]) else {
            throw .invalidOverride(text, "it is not host:port:address[,address]")
        }
        self.init(
            String(parts[0]), port: port, to: parts[2].split(separator: ",", omittingEmptySubsequences: false).map(String.init))
        _ = try HostOverrides.line(of: self)
    }
}

extension ConnectionSettings.ConnectOverride {
    /// Reads `host:port:host:port`, each of them possibly empty, as curl's `--connect-to`.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidOption` for any other text.
    public init(argument text: String) throws(NetworkError) {
        guard let parts = HostOverrides.fields(of: text), parts.count == 4 else {
            throw .invalidOverride(text, "it is not host:port:host:port")
        }
        var ports: [Int?] = []
        for part in [parts[1], parts[3]] {
            let port = HostOverrides.number(part)
            guard part.isEmpty || port != nil else { throw .invalidOverride(text, "'\(part.prefix(20))' is no port") }
            ports.append(port)
        }
        self.init(
            parts[0].isEmpty ? nil : String(parts[0]), port: ports[0], to: parts[2].isEmpty ? nil : String(parts[2]), toPort: ports[1])
        _ = try HostOverrides.line(of: self)
    }
}
