extension NetworkError {
    /// The cause of a failure. Codes are never removed or given another meaning.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case insecureConnection
            case accessRefused, addressRefused
            case invalidURL, unsupportedScheme, invalidHeader, invalidOption, invalidParameters, bodyNotReplayable, bodyStreamFailed
            case fileUnreadable, fileUnwritable, diskFull, targetInUse
            case nameNotResolved, proxyNotResolved, connectionRefused, connectionFailed, connectionLost, proxyFailed
            case tlsFailed, certificateUntrusted, certificateExpired, certificateWrongHost, clientCertificateFailed
            case pinMismatch
            case connectivityTimeout, queueTimeout, connectTimeout, firstByteTimeout, idleTimeout, totalTimeout, queueFull
            case badResponse, truncatedBody, headersTooLarge, bodyTooLarge, decodingBomb, contentDecodingFailed
            case tooManyRedirects, redirectLoop, redirectRefused, notInCache
            case unacceptableStatus, unacceptableContentType, unacceptableResponse, decodingFailed, authenticationFailed, hookFailed
            case interceptorFailed, interceptorTimeout
            case duplicateRequest, cancelled, shutdown, resources, other
        }

        private let name: Name
        private init(_ name: Name) { self.name = name }

        /// The stable name of the code, such as `idleTimeout`, for logs and statistics.
        public var description: String { name.rawValue }

        // Found before anything was sent.
        /// The text is no absolute URL (RFC 3986).
        public static let invalidURL = Code(.invalidURL)
        /// The scheme is neither `http` nor `https`.
        public static let unsupportedScheme = Code(.unsupportedScheme)
        /// A header name is no token, or a value holds CR, LF or NUL (RFC 9110 section 5).
        public static let invalidHeader = Code(.invalidHeader)
        /// An option makes no sense, such as a negative timeout.
        public static let invalidOption = Code(.invalidOption)
        /// The parameters, or the value of the body, cannot be written in the form asked for.
        public static let invalidParameters = Code(.invalidParameters)
        /// A one-shot body would have to be sent a second time.
        public static let bodyNotReplayable = Code(.bodyNotReplayable)
        /// The caller's body sequence threw, or gave more or fewer bytes than declared.
        public static let bodyStreamFailed = Code(.bodyStreamFailed)
        /// A file to upload could not be read, or a certificate file not loaded.
        public static let fileUnreadable = Code(.fileUnreadable)
        /// The destination of a download could not be written.
        public static let fileUnwritable = Code(.fileUnwritable)
        /// No space was left on the device; the destination is as it was.
        public static let diskFull = Code(.diskFull)
        /// Another download to the same file is under way, in this process or, where downloads are resumed, in another.
        public static let targetInUse = Code(.targetInUse)

        /// The URL is http where the session demands https (``AccessPolicy/httpsOnly``, or a pin of its host in ``SecurityPolicy``), or a redirect
        /// leads to one.
        public static let insecureConnection = Code(.insecureConnection)
        /// The URL, or a redirect's, is not one that ``RequestOptions/access`` allows: its scheme, host or port.
        public static let accessRefused = Code(.accessRefused)

        // On the way to the server.
        /// The host has no address that the session's ``AddressFilter`` allows, or the way there cannot be checked.
        public static let addressRefused = Code(.addressRefused)
        /// The name of the server has no address, or no name server answered.
        public static let nameNotResolved = Code(.nameNotResolved)
        /// The name of the proxy has no address, or no name server answered.
        public static let proxyNotResolved = Code(.proxyNotResolved)
        /// The server's machine answered that the port is closed (ECONNREFUSED).
        public static let connectionRefused = Code(.connectionRefused)
        /// No connection came about for another reason, such as a network that cannot be reached.
        public static let connectionFailed = Code(.connectionFailed)
        /// An established connection was closed or reset before the response was complete.
        public static let connectionLost = Code(.connectionLost)
        /// The proxy refused the tunnel, or does not speak its protocol.
        public static let proxyFailed = Code(.proxyFailed)
        /// The TLS handshake failed for a reason that is not a certificate.
        public static let tlsFailed = Code(.tlsFailed)
        /// The server's certificate comes from no authority that is trusted. `underlying` is a ``SecurityPolicy/TrustFailure``.
        public static let certificateUntrusted = Code(.certificateUntrusted)
        /// The server's certificate has expired, or is not valid yet. `underlying` is a ``SecurityPolicy/TrustFailure``.
        public static let certificateExpired = Code(.certificateExpired)
        /// The server's certificate is for other names. `underlying` is a ``SecurityPolicy/TrustFailure``.
        public static let certificateWrongHost = Code(.certificateWrongHost)
        /// The client certificate could not be used, or the server demands one that it did not get.
        public static let clientCertificateFailed = Code(.clientCertificateFailed)
        /// The server's chain holds nothing that is pinned for its host (``SecurityPolicy``). As for the other three codes of certificates,
        /// `underlying` is a ``SecurityPolicy/TrustFailure`` with the chain.
        public static let pinMismatch = Code(.pinMismatch)

        // Time and capacity.
        /// There was no path to the server, and none came in the time given (``Timeouts/connectivity``).
        public static let connectivityTimeout = Code(.connectivityTimeout)
        /// No connection slot became free in the time given (``Timeouts/queue``).
        public static let queueTimeout = Code(.queueTimeout)
        /// Name resolution, TCP, proxy and TLS together took longer than ``Timeouts/connect``.
        public static let connectTimeout = Code(.connectTimeout)
        /// No byte of the response came within ``Timeouts/firstByte``.
        public static let firstByteTimeout = Code(.firstByteTimeout)
        /// No byte moved in either direction for ``Timeouts/idle``.
        public static let idleTimeout = Code(.idleTimeout)
        /// The run, its retries and waits included, took longer than ``Timeouts/total``.
        public static let totalTimeout = Code(.totalTimeout)
        /// The waiting queue has reached its bound.
        public static let queueFull = Code(.queueFull)

        /// Only what is stored was wanted (``CachePolicy/ReadMode/only``, `only-if-cached`), and nothing stored may be used. No server was asked.
        public static let notInCache = Code(.notInCache)

        // From the server's response.
        /// The response is not HTTP.
        public static let badResponse = Code(.badResponse)
        /// The body ended before its framing said so; or it ends with a TLS connection, and that ended without close_notify (RFC 9112 section 9.8,
        /// ``TLSConfiguration/dangerouslyAcceptsMissingCloseNotify``).
        public static let truncatedBody = Code(.truncatedBody)
        /// The head or the trailers are larger than ``RequestOptions/Limits/headerBytes``, or one line is beyond the 100 KiB that libcurl
        /// takes.
        public static let headersTooLarge = Code(.headersTooLarge)
        /// The body is larger than ``RequestOptions/Limits/bodyBytes`` or ``RequestOptions/Limits/downloadBytes``; nothing more of it was read.
        public static let bodyTooLarge = Code(.bodyTooLarge)
        /// The decoded body outgrows the limits on expansion.
        public static let decodingBomb = Code(.decodingBomb)
        /// The content coding (gzip, …) is damaged.
        public static let contentDecodingFailed = Code(.contentDecodingFailed)
        /// There were more redirects than ``RedirectPolicy/maxRedirects``.
        public static let tooManyRedirects = Code(.tooManyRedirects)
        /// A redirect leads back to a request that was made already.
        public static let redirectLoop = Code(.redirectLoop)
        /// The redirect leads to a scheme or from https to http, which is not followed.
        public static let redirectRefused = Code(.redirectRefused)
        /// The status is not one the request accepts (2xx unless told otherwise).
        public static let unacceptableStatus = Code(.unacceptableStatus)
        /// The media type is not one the request accepts (``RequestOptions/Validation/contentTypes``). Where the status is not acceptable
        /// either, this is the `underlying` of that error.
        public static let unacceptableContentType = Code(.unacceptableContentType)
        /// The program's own check refused the response (``RequestOptions/Validation/check``): what it threw is the `underlying`.
        public static let unacceptableResponse = Code(.unacceptableResponse)
        /// The body could not be turned into the value asked for.
        public static let decodingFailed = Code(.decodingFailed)

        /// A challenge could not be answered because whoever should have answered it failed: the `underlying` error says why. A credential that
        /// the server refuses is `unacceptableStatus` with its 401.
        public static let authenticationFailed = Code(.authenticationFailed)
        /// A deciding hook of the program threw something else than a ``NetworkError``: it is the `underlying`.
        public static let hookFailed = Code(.hookFailed)
        /// An ``Interceptor`` threw what is no ``NetworkError``, which is the error's `underlying`; or it broke a rule of `next`.
        public static let interceptorFailed = Code(.interceptorFailed)
        /// An ``Interceptor`` neither called `next` nor returned within ``Timeouts/interceptor``.
        public static let interceptorTimeout = Code(.interceptorTimeout)

        // Endings of the library's own.
        /// Under ``RepeatStrategy/keepRunning`` the run in flight continues, and this start did not become a run.
        public static let duplicateRequest = Code(.duplicateRequest)
        /// See ``NetworkError/cancelReason``.
        public static let cancelled = Code(.cancelled)
        /// The session or agent was shut down before the request started.
        public static let shutdown = Code(.shutdown)
        /// The process ran out of descriptors, threads or memory.
        public static let resources = Code(.resources)
        /// None of the above; see ``NetworkError/curlCode`` and ``NetworkError/message``.
        public static let other = Code(.other)
    }
}
