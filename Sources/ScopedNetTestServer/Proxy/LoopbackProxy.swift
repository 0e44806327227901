#if TestServer
/// A proxy on this machine, for HTTP or SOCKS5, that records what it was asked for.
///
/// For HTTP it forwards requests in absolute form and opens CONNECT tunnels.
///
/// ```swift
/// let proxy = LoopbackProxy(.init(credentials: .init(user: "ann", password: "secret")))
/// try await proxy.start()
/// ```
public final class LoopbackProxy: Sendable {
    /// How a proxy behaves.
    public struct Configuration: Sendable {
        /// What it speaks.
        public enum Kind: Sendable {
            /// Requests in absolute form, and CONNECT.
            case http
            /// SOCKS5 (RFC 1928), names resolved here, with user and password (RFC 1929) where there are credentials.
            case socks5
        }

        /// What it speaks.
        public var kind: Kind
        /// How an HTTP proxy wants the credentials.
        public enum Scheme: Sendable, Hashable {
            /// In the clear (RFC 7617).
            case basic
            /// By a digest with SHA-256 (RFC 7616). So many right answers of a request are refused, as their nonce is called stale, before one
            /// is accepted.
            case digest(staleNonces: Int = 0)
        }

        /// What a client has to send: in `Proxy-Authorization`, or in the handshake of SOCKS5.
        public struct Credentials: Sendable, Hashable {
            /// The user.
            public var user: String
            /// The password.
            public var password: String

            /// Makes credentials.
            public init(user: String, password: String) {
                self.user = user
                self.password = password
            }
        }

        /// The credentials to ask for, with 407; nil lets everyone through.
        public var credentials: Credentials?
        /// How an HTTP proxy wants them.
        public var scheme: Scheme
        /// Ports on `127.0.0.1` that stand for host names. A name that exists nowhere else proves who resolved it.
        public var hosts: [String: Int]
        /// A status to refuse everything with, such as 403 or 502 (SOCKS5 says *not allowed*); nil refuses nothing.
        public var refusal: Int?
        /// Where to listen.
        public var listen: Listen

        /// Makes a configuration.
        public init(
            _ kind: Kind = .http, credentials: Credentials? = nil, scheme: Scheme = .basic, hosts: [String: Int] = [:],
            refusal: Int? = nil, listen: Listen = .ipv4
        ) {
            self.kind = kind
            self.credentials = credentials
            self.scheme = scheme
            self.hosts = hosts
            self.refusal = refusal
            self.listen = listen
        }
    }

    private let configuration: Configuration
    private let authorization: ProxyAuthorization?
    private let ledger = Watched(Ledger())
    private let listener: Listener

    /// Makes a proxy that does not listen yet.
    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        authorization = ProxyAuthorization(configuration)
        self.listener = Listener(configuration.listen, threads: 1, ledger: ledger)
    }

    /// Starts to listen. A proxy that was stopped listens on its old port again.
    public func start() async throws {
        try await listener.start { [configuration, authorization, ledger] channel, connection in
            switch configuration.kind {
            case .http:
                try ProxyHandler.setUp(
                    channel, connection, configuration: configuration, authorization: authorization, ledger: ledger)
            case .socks5: try SOCKSHandler.setUp(channel, connection, configuration: configuration, ledger: ledger)
            }
        }
    }

    /// Closes the listener and every connection on both sides, and returns when all of them are gone.
    public func stop() async {
        await listener.stop()
    }

    /// The port; after ``stop()`` still the last one, where nobody listens now. Zero on a Unix socket.
    public var port: Int { listener.port ?? 0 }

    /// The proxy's address for a client's options: `http://127.0.0.1:PORT`, or `socks5h://127.0.0.1:PORT`.
    public var url: String {
        let scheme = configuration.kind == .http ? "http" : "socks5h"
        guard case .host(let host, _) = configuration.listen.address else { return "\(scheme)://localhost" }
        return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    // MARK: Evidence

    /// Every request the proxy was sent, in order: tunnels with the method CONNECT (or SOCKS5) and the target `host:port`. The counters
    /// and the ending of a record tell what was relayed to the client. The relay does not read responses: an ending is
    /// `.completed` when the origin closed first, `.clientClosed` when the client did, whole response or not.
    public var requests: [RecordedRequest] { ledger.read(\.requests) }

    /// Connections accepted since the beginning.
    public var connectionsAccepted: Int { ledger.read(\.connectionsAccepted) }

    /// Connections from clients open now.
    public var openConnections: Int { ledger.read(\.openConnections) }

    /// Bytes relayed to clients.
    public var bytesSent: Int { ledger.read(\.bytesSent) }

    /// The next request nobody has taken yet; waits for it when there is none.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func takeRequest() async throws -> RecordedRequest {
        try await ledger.wait { $0.take() }
    }

    /// Waits until so many requests were recorded.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForRequests(_ count: Int) async throws {
        try await ledger.wait { $0.requestCount(path: nil) >= count ? () : nil }
    }

    /// Waits until the number of open client connections is as wanted.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForOpenConnections(_ isWanted: (Int) -> Bool) async throws {
        try await ledger.wait(where: { isWanted($0.openConnections) })
    }
}
#endif
