public import FoundationEssentials
public import HTTPTypes

/// Why a request did not succeed.
///
/// One struct for the whole library: a ``Code`` says what went wrong, a ``Phase`` where, ``attempt`` in which try. New codes may
/// appear in minor releases, so compare with the ones you handle and keep a default.
public struct NetworkError: Error, Sendable {
    /// What went wrong. Codes are never removed or given another meaning.
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
            case duplicateRequest, cancelled, shutdown, resources, other
        }

        private let name: Name
        private init(_ name: Name) { self.name = name }

        /// The stable name of the code, such as `idleTimeout`, for logs and statistics.
        public var description: String { name.rawValue }

        // Found before anything was sent
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

        // Reaching the server
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

        // Time and room
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

        // What the server sent
        /// The response is not HTTP.
        public static let badResponse = Code(.badResponse)
        /// The body ended before its framing said so; or it ends with a TLS connection, and that ended without close_notify (RFC 9112 section 9.8,
        /// ``TLSConfiguration/dangerouslyAcceptsMissingCloseNotify``).
        public static let truncatedBody = Code(.truncatedBody)
        /// The head or the trailers are larger than ``RequestOptions/Limits/headerBytes``, or one line is beyond the 100 KiB that libcurl
        /// takes.
        public static let headersTooLarge = Code(.headersTooLarge)
        /// The body is larger than ``RequestOptions/maxBodyBytes`` or ``RequestOptions/maxDownloadBytes``; nothing more of it was read.
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

        // Endings of our own
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

    /// How far the request had come.
    public enum Phase: String, Sendable, Comparable {
        /// The stages in the order in which a request passes them.
        case preparing, queued, resolving, connecting, securing, sending, awaitingResponse, receiving, decoding, delivering

        private static let order: [Phase] = [
            .preparing, .queued, .resolving, .connecting, .securing, .sending, .awaitingResponse, .receiving, .decoding, .delivering,
        ]
        /// True for the stage that comes first.
        public static func < (left: Phase, right: Phase) -> Bool {
            (order.firstIndex(of: left) ?? 0) < (order.firstIndex(of: right) ?? 0)
        }
    }

    // One reference wide: results and responses carry the room of an error along, and errors are rare.
    private var storage: Storage

    private final class Storage: @unchecked Sendable {
        // Safety: changed only through `mutate`, which first makes sure that nobody else refers to it.
        var code: Code
        var phase: Phase
        var attempt: Int
        var curlCode: Int32?
        var message: String
        var runID: UInt64
        var underlying: (any Error)?
        var cancelReason: CancelReason?
        var method: HTTPRequest.Method?
        var target: RequestURL?
        var document: (any NetworkError.Document.Type)?
        var response: ResponseHead?
        var body: Data?
        /// Of the whole body, where `body` may be its beginning.
        var bodyBytes: Int?
        /// Of the session, for its body.
        var json: JSONCoding?
        var resumableBytes: Int64?
        var connectionReused = false
        var responseBytesReceived = false

        init(
            code: Code, phase: Phase, message: String, runID: UInt64, attempt: Int, curlCode: Int32?, underlying: (any Error)?,
            cancelReason: CancelReason?
        ) {
            self.code = code
            self.phase = phase
            self.message = message
            self.runID = runID
            self.attempt = attempt
            self.curlCode = curlCode
            self.underlying = underlying
            self.cancelReason = cancelReason
        }

        init(_ other: Storage) {
            code = other.code
            phase = other.phase
            attempt = other.attempt
            curlCode = other.curlCode
            message = other.message
            runID = other.runID
            underlying = other.underlying
            cancelReason = other.cancelReason
            method = other.method
            target = other.target
            document = other.document
            response = other.response
            body = other.body
            json = other.json
            resumableBytes = other.resumableBytes
            bodyBytes = other.bodyBytes
            connectionReused = other.connectionReused
            responseBytesReceived = other.responseBytesReceived
        }
    }

    private mutating func mutate(_ change: (Storage) -> Void) {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage) }
        change(storage)
    }

    /// The cause of the failure.
    public var code: Code {
        get { storage.code }
        set { mutate { $0.code = newValue } }
    }
    /// The stage at which it occurred.
    public var phase: Phase {
        get { storage.phase }
        set { mutate { $0.phase = newValue } }
    }
    /// 1 for the first try; retries and the silent reconnect count up.
    public var attempt: Int {
        get { storage.attempt }
        set { mutate { $0.attempt = newValue } }
    }
    /// `CURLcode` of the transfer, when libcurl ended it (libcurl-errors(3)).
    public var curlCode: Int32? {
        get { storage.curlCode }
        set { mutate { $0.curlCode = newValue } }
    }
    /// libcurl's own words, or ours; safe to log: one line, no header values, no body, no userinfo.
    public var message: String {
        get { storage.message }
        set { mutate { $0.message = newValue } }
    }
    /// The run this happened to; unique in the process.
    public var runID: UInt64 {
        get { storage.runID }
        set { mutate { $0.runID = newValue } }
    }
    /// What the caller's body, decoder or the operating system threw.
    public var underlying: (any Error)? {
        get { storage.underlying }
        set { mutate { $0.underlying = newValue } }
    }
    /// Set when ``code`` is ``Code/cancelled``.
    public var cancelReason: CancelReason? {
        get { storage.cancelReason }
        set { mutate { $0.cancelReason = newValue } }
    }
    /// The method of the request; nil where the error belongs to none.
    public var method: HTTPRequest.Method? { storage.method }
    /// The URL that was asked, without user and password: after redirects, or of a cancelled request the first one. As it was given where it is
    /// malformed; nil where the error belongs to no request.
    public var url: String? { storage.target.map(\.description).flatMap { $0.isEmpty ? nil : $0 } }
    /// The status of the response, if there was one.
    public var status: Int? { storage.response?.status }
    /// The header fields of the response; empty without one.
    public var headers: HTTPFields { storage.response?.headers ?? [:] }
    /// The response as far as it came.
    public var response: ResponseHead? {
        get { storage.response }
        set { mutate { $0.response = newValue } }
    }
    /// The body of an unacceptable or undecodable response, up to `errorBodyBytes` of the session (64 KiB by default).
    public var body: Data? {
        get { storage.body }
        set { mutate { $0.body = newValue } }
    }
    /// The length of the whole body; nil where that is the length of ``body``.
    var bodyBytes: Int? {
        get { storage.bodyBytes }
        set { mutate { $0.bodyBytes = newValue } }
    }
    /// The JSON coding of the session, for the body.
    package var json: JSONCoding? {
        get { storage.json }
        set { mutate { $0.json = newValue } }
    }
    /// The type of the session's error documents.
    package var documentType: any Document.Type {
        get { storage.document ?? ProblemDetails.self }
        set { mutate { $0.document = newValue } }
    }
    /// The same error with the request it belongs to, unless that is known.
    package func asked(_ method: HTTPRequest.Method?, _ url: RequestURL) -> NetworkError {
        guard storage.target == nil else { return self }
        var error = self
        error.mutate { ($0.method, $0.target) = (method, url) }
        return error
    }
    /// How many bytes of the file are kept, so that the next download to it need not begin anew (``DownloadOptions/resumes``); nil for none.
    public var resumableBytes: Int64? {
        get { storage.resumableBytes }
        set { mutate { $0.resumableBytes = newValue } }
    }
    package var connectionReused: Bool {
        get { storage.connectionReused }
        set { mutate { $0.connectionReused = newValue } }
    }
    package var responseBytesReceived: Bool {
        get { storage.responseBytesReceived }
        set { mutate { $0.responseBytesReceived = newValue } }
    }

    package init(
        _ code: Code, phase: Phase, message: String, runID: UInt64 = 0, attempt: Int = 1,
        curlCode: Int32? = nil, underlying: (any Error)? = nil, cancelReason: CancelReason? = nil
    ) {
        storage = Storage(
            code: code, phase: phase, message: message.printable, runID: runID, attempt: attempt, curlCode: curlCode,
            underlying: underlying, cancelReason: cancelReason)
    }
}

extension NetworkError {
    /// Makes the error of a cancelled run; `phase` is `queued` or before when it is certain that nothing was given to the network.
    package static func cancelled(_ reason: CancelReason, runID: UInt64, phase: Phase) -> NetworkError {
        NetworkError(.cancelled, phase: phase, message: "\(reason)", runID: runID, cancelReason: reason)
    }

    /// One of the six clocks ran out: connectivity, queue, connect, first byte, idle, total.
    public var isTimeout: Bool {
        [.connectivityTimeout, .queueTimeout, .connectTimeout, .firstByteTimeout, .idleTimeout, .totalTimeout].contains(code)
    }

    /// True if there was no way to the server: its name did not resolve, or no connection came about. Another network may help. A server
    /// that refuses the connection is there: see ``isServerUnreachable``.
    public var isOffline: Bool {
        [.connectivityTimeout, .nameNotResolved, .proxyNotResolved, .connectionFailed, .connectTimeout].contains(code)
    }

    /// True if no response came because the server, or the proxy before it, could not be reached or did not answer. It may be down while the
    /// network is well; what ``isOffline`` is about is included, as the two cannot be told apart from here.
    public var isServerUnreachable: Bool {
        isOffline || [.connectionRefused, .proxyFailed, .firstByteTimeout].contains(code) || code == .connectionLost && response == nil
    }

    /// True for the code ``Code/cancelled``, whatever the reason.
    public var isCancelled: Bool { code == .cancelled }

    /// False only when it is certain that no byte of the request left this machine's control: then repeating cannot do
    /// the work twice (RFC 9110 section 9.2.2).
    public var mayHaveReachedServer: Bool {
        phase >= .sending && code != .duplicateRequest
    }

    /// Decodes the body of a failed response, such as an API's error document.
    ///
    /// - Parameters:
    ///   - type: the type of the document.
    ///   - decoder: makes the decoder; by default that of the session (``Session/Configuration/json``).
    /// - Returns: nil when there was no body or it is not such a document.
    public func decoded<Value: Decodable>(as type: Value.Type, decoder: (@Sendable () -> JSONDecoder)? = nil) -> Value? {
        body.flatMap { try? (decoder ?? (json ?? .standard).decoder)().decode(type, from: $0) }
    }

    /// `CancellationError` for a cancelled run and `self` otherwise, for callers that tell the two apart by type.
    public var asCancellationError: any Error { isCancelled ? CancellationError() : self }
}

extension NetworkError: CustomStringConvertible {
    /// One line without secrets, such as
    /// `GET https://api.example/7: decodingFailed: $.id should be of type Int, and is a string (200, 41 bytes)` or
    /// `PUT https://api.example/7: idleTimeout while receiving: no byte for 60.0 seconds (attempt 2)`.
    ///
    /// Values of query items that look like secrets are masked, user and password left out. The first attempt is not counted aloud.
    public var description: String {
        var text = ""
        // A connection that is made ahead has no method.
        if let url { text += "\(method.map { "\($0.rawValue) " } ?? "")\(SecretMask().maskedURL(url).printable): " }
        text += code.description
        if saysPhase { text += " while \(phase.rawValue)" }
        if !message.isEmpty { text += ": \(message)" }
        return facts.isEmpty ? text : "\(text) (\(facts.joined(separator: ", ")))"
    }

    /// True if the phase does not follow from the code.
    private var saysPhase: Bool {
        switch code {
        case .decodingFailed, .unacceptableStatus, .unacceptableContentType, .unacceptableResponse, .duplicateRequest, .notInCache,
            .invalidURL:
            false
        default: true
        }
    }

    private var facts: [String] {
        var facts: [String] = []
        if attempt > 1 { facts.append("attempt \(attempt)") }
        if let status, code != .unacceptableStatus { facts.append("\(status)") }
        if let body, code == .decodingFailed || code == .unacceptableContentType { facts.append("\(bodyBytes ?? body.count) bytes") }
        return facts
    }
}
