#if TestServer
extension LoopbackServer {
    /// How a server listens and what it speaks. Everything has a default: plain HTTP/1.1 on a free port of `127.0.0.1`.
    public struct Configuration: Sendable {
        #if TestServerTLS
        /// The versions of TLS a server accepts.
        public struct TLSVersions: Sendable, Hashable {
            /// Whether TLS 1.2 is the newest offered.
            var onlyTLS12 = false
            /// Whether TLS 1.3 is the oldest offered.
            var onlyTLS13 = false

            /// TLS 1.2 and 1.3.
            public static var modern: TLSVersions { TLSVersions() }
            /// Nothing newer than TLS 1.2.
            public static var tls12: TLSVersions { TLSVersions(onlyTLS12: true) }
            /// Nothing older than TLS 1.3.
            public static var tls13: TLSVersions { TLSVersions(onlyTLS13: true) }
        }

        /// The certificate and key to show; nil listens without TLS.
        public var tls: TLSIdentity?
        /// The versions of TLS to accept.
        public var tlsVersions = TLSVersions.modern
        /// When set, a client has to show a certificate of this authority, or the handshake fails.
        public var clientAuthority: TestAuthority?
        #endif
        /// What to speak, the favourite first. Over TLS the client chooses by ALPN. Without TLS a server that has HTTP/2
        /// alone speaks it by prior knowledge, any other HTTP/1.
        public var protocols: [HTTPProtocol]
        /// Where to listen.
        public var listen: Listen
        /// How many event loop threads to run.
        public var threads: Int
        #if TestServerTLS
        /// How many HTTP/2 streams a client may have open on one connection.
        public var maxConcurrentStreams = 100
        #endif
        /// Whether requests are kept. A benchmark turns this off; counters and routes work all the same.
        public var recordsRequests = true
        /// How much of a request's body is kept, and shown to handlers. What comes after is counted and dropped.
        public var recordedBodyLimit = 64 << 20

        #if TestServerTLS
        /// Makes a configuration.
        public init(
            tls: TLSIdentity? = nil, protocols: [HTTPProtocol] = [.http1], listen: Listen = .ipv4, threads: Int = 1
        ) {
            self.tls = tls
            self.protocols = protocols
            self.listen = listen
            self.threads = threads
        }
        #else
        /// Makes a configuration.
        public init(protocols: [HTTPProtocol] = [.http1], listen: Listen = .ipv4, threads: Int = 1) {
            self.protocols = protocols
            self.listen = listen
            self.threads = threads
        }
        #endif

        var hasTLS: Bool {
            #if TestServerTLS
            tls != nil
            #else
            false
            #endif
        }
    }
}
#endif
