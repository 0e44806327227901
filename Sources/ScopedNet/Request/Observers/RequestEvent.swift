public import FoundationEssentials
public import HTTPTypes

/// One doorway a run went through. Observers get them in order, with the payload of that doorway.
public struct RequestEvent: Sendable {
    /// What happened. New cases may be added; keep a default when you switch.
    public enum Kind: Sendable {
        /// The run was started, and has not asked cache or network yet.
        case created
        /// What the response cache made of the exchange (RFC 9211).
        case cacheDecided(ResponseCache.Status)
        /// There is no path to the server; the run waits for one (``RequestOptions/waitsForConnectivity``).
        case waitingForConnectivity
        /// The rate of requests to the host is used up, or the host has asked to wait (``Session/Configuration/RateLimit``); the run waits.
        case rateLimited
        /// All slots of the host or the session are taken; the run waits for one.
        case queued(position: Int)
        /// An attempt leaves the queue for the network. Counts from 1.
        case started(attempt: Int)
        /// The transfer was paused by ``Run/suspend()``.
        case suspended
        /// The transfer goes on after ``Run/resume()``.
        case resumed
        /// Name resolution is done, after this time from the attempt's start. Not sent for reused connections.
        case nameResolved(after: Duration)
        /// TCP, and the way through a proxy, are established. Not sent for reused connections.
        case connected(TransferMetrics.ConnectionTimings)
        /// TLS is established, after this time from the attempt's start. Not sent for plain or reused connections.
        case secured(after: Duration)
        /// A server's certificates were rejected, or in report-only mode would have been. Once for each connection that is made; a resumed
        /// TLS session and a pooled connection are not verified again.
        case trustReported(SecurityPolicy.TrustFailure)
        /// The request goes out on a ready connection.
        case requestSent
        /// 1xx (RFC 9110 section 15.2).
        case informational(ResponseHead)
        /// The status and fields of a final response came, before any redirect of it is followed.
        case headReceived(ResponseHead)
        /// Coalesced and monotonic, in wire bytes; the complete count is always reported.
        case sent(TransferProgress)
        /// Bytes of the response's body came; coalesced as the ones sent.
        case received(TransferProgress)
        /// A redirect is followed. The URLs are without user and password.
        case redirected(from: String, to: String, status: Int)
        /// The host wants https (``Session/HSTSStore``): the request goes there instead, before anything is sent over `http`.
        case upgraded(from: String, to: String)
        /// A server (401) or a proxy (407) wants to know who is asking. The answer is the scheme by which it will be told; nil where the response
        /// is the result. No secret is in here.
        case challenged(ProtectionSpace, status: Int, answer: String?)
        /// An attempt ended, with its measurements and, where it failed, its own error, which a retry may still make good.
        case attemptFinished(TransferMetrics, error: NetworkError?)
        /// The retry policy decided; `after` is nil when it decided against.
        case retryDecided(reason: String, after: Duration?)
        /// The body is complete, with this many bytes as they came over the wire.
        case bodyReceived(bytes: Int)
        /// A disposition hook has turned the response into a download (``RequestHooks/Disposition/download(to:)``).
        /// The path is the one that is wanted; ``fileWritten(path:bytes:)`` has the file's, which may
        /// have a number where the server named it.
        case becameDownload(path: String)
        /// The file of a download is in its place, content codings undone.
        case fileWritten(path: String, bytes: Int64)
        /// The value was made of the body.
        case decoded
        /// The run's end, with the *final* error: transport, status, decoding.
        case finished(Completion)
        /// The run was cancelled: of its callbacks only `onEnd` follows. The events of a detached run go on, up to ``finished(_:)``.
        case cancelled(CancelReason)
    }

    /// The payload of an ending that was not a cancellation.
    public struct Completion: Sendable {
        /// The error of a failure; nil after a success.
        public var error: NetworkError?
        /// The status and fields of the last response; nil when none came.
        public var response: ResponseHead?
        /// The decoded value; nil after a failure.
        public var value: (any Sendable)?
        /// The length of the response's body: decoded where all of it was decoded in memory, else as it came, also of a file, of a stream, and
        /// where an error keeps only the beginning.
        public var bodyBytes: Int
        /// The decoded body of a response held in memory; of an error as much as the error keeps. Shared, not copied.
        public var body = Data()
        /// One for each attempt and hop, in order.
        public var metrics: [TransferMetrics]
        /// The time from the start of the run to its end: waiting, every attempt and hop, decoding and delivery.
        public var duration = Duration.zero
        /// Where a download was put.
        public var filePath: String?
    }

    /// The run it happened to.
    public let run: Run.Info
    /// The time when it happened, which may be long before it is delivered.
    public var time: ContinuousClock.Instant { moment.instant }
    let moment: Moment
    /// The event itself, with its payload.
    public let kind: Kind
}

/// How far a body has come, in wire bytes.
public struct TransferProgress: Sendable, Hashable {
    /// The number of bytes so far. It goes back only when a download begins its file anew.
    public var completed: Int64
    /// Nil when the length is not known.
    public var total: Int64?
    /// 0 to 1; nil when the length is not known.
    public var fraction: Double? { total.map { $0 > 0 ? min(1, Double(completed) / Double($0)) : 1 } }

    /// Makes a progress, for tests; `total` is nil when the length is not known.
    public init(completed: Int64, total: Int64?) {
        self.completed = completed
        self.total = total
    }
}

extension Run {
    /// Who a run is: what observers and delegates tell runs apart by.
    public final class Info: Sendable {
        /// The same as ``Run/id`` and, in errors, ``NetworkError/runID``. Unique in the process.
        public let id: UInt64
        /// The ``Request`` object this is a run of.
        public let requestID: UInt64
        /// The method of the request.
        public let method: HTTPRequest.Method
        /// Without userinfo.
        public let url: String
        /// The fields the request was made with, the session's defaults among them. Secrets are not masked here.
        public let headers: HTTPFields
        /// The label of the bag it was started in, or of the bag whose task awaits it; nil when it belongs to nobody.
        public let scope: String?
        /// A detached run goes on after it was cancelled by its owner's or its request's release, and then finishes.
        public let release: ReleaseStrategy
        /// The label of the request's options (``RequestOptions/tag``).
        public let tag: String?
        /// The values of the request's options (``RequestOptions/userInfo``).
        public let userInfo: [String: any Sendable]
        /// Where `start` was called: `Module/File.swift:12`.
        public let origin: String

        init(
            id: UInt64, requestID: UInt64, method: HTTPRequest.Method, url: String, headers: HTTPFields, scope: String?,
            release: ReleaseStrategy,
            tag: String?, userInfo: [String: any Sendable], origin: String
        ) {
            self.id = id
            self.requestID = requestID
            self.method = method
            self.url = url
            self.headers = headers
            self.scope = scope
            self.release = release
            self.tag = tag
            self.userInfo = userInfo
            self.origin = origin
        }
    }
}
