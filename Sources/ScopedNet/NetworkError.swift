public import FoundationEssentials
public import HTTPTypes

/// The error of a request that did not succeed.
///
/// One struct for the whole library: a ``Code`` says what went wrong, a ``Phase`` where, ``attempt`` in which try. New codes may
/// appear in minor releases, so compare with the ones you handle and keep a default.
public struct NetworkError: Error, Sendable {
    /// The stage that the request had reached.
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

    // One reference wide: results and responses carry the size of an error along, and errors are rare.
    private var storage: Storage

    /// The content of an error. Immutable: an error may be read by several threads while one of them changes its copy.
    private final class Storage: Sendable {
        let fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    private struct Fields: Sendable {
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
        var response: ResponseHead?
        var body = ErrorBody()
        var resumableBytes: Int64?
        var connectionReused = false
        var responseBytesReceived = false
    }

    private var fields: Fields { storage.fields }

    private mutating func mutate(_ change: (inout Fields) -> Void) {
        var fields = storage.fields
        change(&fields)
        storage = Storage(fields)
    }

    /// The cause of the failure.
    public var code: Code {
        get { fields.code }
        set { mutate { $0.code = newValue } }
    }
    /// The stage at which it occurred.
    public var phase: Phase {
        get { fields.phase }
        set { mutate { $0.phase = newValue } }
    }
    /// 1 for the first try; retries and the silent reconnect count up.
    public var attempt: Int {
        get { fields.attempt }
        set { mutate { $0.attempt = newValue } }
    }
    /// `CURLcode` of the transfer, when libcurl ended it (libcurl-errors(3)).
    public var curlCode: Int32? {
        get { fields.curlCode }
        set { mutate { $0.curlCode = newValue } }
    }
    /// libcurl's own words, or ours; safe to log: one line, no header values, no body, no userinfo.
    public var message: String {
        get { fields.message }
        set { mutate { $0.message = newValue } }
    }
    /// The run this happened to; unique in the process.
    public var runID: UInt64 {
        get { fields.runID }
        set { mutate { $0.runID = newValue } }
    }
    /// What the caller's body, decoder or the operating system threw.
    public var underlying: (any Error)? {
        get { fields.underlying }
        set { mutate { $0.underlying = newValue } }
    }
    /// Set when ``code`` is ``Code/cancelled``.
    public var cancelReason: CancelReason? {
        get { fields.cancelReason }
        set { mutate { $0.cancelReason = newValue } }
    }
    /// The method of the request; nil where the error belongs to none.
    public var method: HTTPRequest.Method? { fields.method }
    /// The URL that was asked, without user and password: after redirects, or of a cancelled request the first one. As it was given where it is
    /// malformed; nil where the error belongs to no request.
    public var url: String? { fields.target.map(\.description).flatMap { $0.isEmpty ? nil : $0 } }
    /// The status of the response, if there was one.
    public var status: Int? { fields.response?.status }
    /// The header fields of the response; empty without one.
    public var headers: HTTPFields { fields.response?.headers ?? [:] }
    /// The response as far as it came.
    public var response: ResponseHead? {
        get { fields.response }
        set { mutate { $0.response = newValue } }
    }
    /// The body of an unacceptable or undecodable response, up to `errorBodyBytes` of the session (64 KiB by default).
    public var body: Data? {
        get { fields.body.data }
        set { mutate { $0.body.data = newValue } }
    }
    /// The body with what is needed to read it.
    var errorBody: ErrorBody {
        get { fields.body }
        set { mutate { $0.body = newValue } }
    }
    /// The length of the whole body; nil where that is the length of ``body``.
    var bodyBytes: Int? {
        get { fields.body.totalBytes }
        set { mutate { $0.body.totalBytes = newValue } }
    }
    /// The same error with the request it belongs to, unless that is known.
    package func asked(_ method: HTTPRequest.Method?, _ url: RequestURL) -> NetworkError {
        guard fields.target == nil else { return self }
        var error = self
        error.mutate { ($0.method, $0.target) = (method, url) }
        return error
    }
    /// How many bytes of the file are kept, so that the next download to it need not begin anew (``DownloadOptions/resumes``); nil for none.
    public var resumableBytes: Int64? {
        get { fields.resumableBytes }
        set { mutate { $0.resumableBytes = newValue } }
    }
    package var connectionReused: Bool {
        get { fields.connectionReused }
        set { mutate { $0.connectionReused = newValue } }
    }
    package var responseBytesReceived: Bool {
        get { fields.responseBytesReceived }
        set { mutate { $0.responseBytesReceived = newValue } }
    }

    package init(
        _ code: Code, phase: Phase, message: String, runID: UInt64 = 0, attempt: Int = 1,
        curlCode: Int32? = nil, underlying: (any Error)? = nil, cancelReason: CancelReason? = nil
    ) {
        let fields = Fields(
            code: code, phase: phase, attempt: attempt, curlCode: curlCode, message: message.printable, runID: runID,
            underlying: underlying,
            cancelReason: cancelReason)
        storage = Storage(fields)
    }
}

extension NetworkError {
    /// Makes the error of a cancelled run; `phase` is `queued` or before when it is certain that nothing was given to the network.
    package static func cancelled(_ reason: CancelReason, runID: UInt64, phase: Phase) -> NetworkError {
        NetworkError(.cancelled, phase: phase, message: "\(reason)", runID: runID, cancelReason: reason)
    }

    /// One of the seven clocks ran out: connectivity, queue, connect, first byte, idle, total, interceptor.
    public var isTimeout: Bool {
        [.connectivityTimeout, .queueTimeout, .connectTimeout, .firstByteTimeout, .idleTimeout, .totalTimeout, .interceptorTimeout]
            .contains(code)
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
        errorBody.decoded(as: type, decoder: decoder)
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
        if code == .decodingFailed || code == .unacceptableContentType, let count = errorBody.count { facts.append("\(count) bytes") }
        return facts
    }
}
