#if TestServer
/// What the server answers to one request: a value that says every byte, every pause and every misdeed.
///
/// Start from a convenience and change what the test is about:
///
/// ```swift
/// server.on("/list", .json("[1, 2, 3]"))
/// server.enqueue(.ok("0123456789").stalling(.afterBytes(4)))
/// server.enqueue(.status(503).header("Retry-After", "1").ending(.close))
/// ```
public struct ScriptedResponse: Sendable {
    /// Where the payload comes from.
    public enum Body: Sendable {
        /// These bytes.
        case bytes([UInt8])
        /// A file, read in pieces, with `ETag`, `Last-Modified` and range requests. A missing file is answered with 404.
        case file(String)
        /// The same byte over and over, made as it is sent.
        case repeating(UInt8, count: Int)
        /// Whatever the stream yields. A stream can be read once: give each response its own.
        case stream(AsyncStream<[UInt8]>)
    }

    /// How the client learns where the payload ends. HTTP/2 has its own framing; there only the length fields matter.
    public enum Framing: Sendable, Hashable {
        /// A true `Content-Length`; chunked where the length is not known or trailers follow.
        case contentLength
        /// `Transfer-Encoding: chunked`; until close for an HTTP/1.0 client.
        case chunked
        /// No length: the payload ends with the connection.
        case untilClose
        /// A `Content-Length` that says this number, true or not.
        case declaredLength(Int)
    }

    /// A payload sent in pieces with pauses in between.
    public struct Pace: Sendable, Hashable {
        /// How many bytes a piece has: at most 64 KiB, on HTTP/2 16 KiB.
        public var bytes: Int
        /// How long to pause between pieces.
        public var interval: Duration

        /// Makes a pace of at least one byte a piece.
        public init(bytes: Int, every interval: Duration) {
            self.bytes = max(1, bytes)
            self.interval = interval
        }
    }

    /// A point at which the response stands still until the client leaves, or until ``LoopbackServer/releaseStalls()``.
    public enum Stall: Sendable, Hashable {
        /// Before the final head; interim heads have been sent.
        case beforeHead
        /// When the head has been sent.
        case afterHead
        /// When this many payload bytes have been sent.
        case afterBytes(Int)
    }

    /// What happens to the connection.
    public enum End: Sendable, Hashable {
        /// It stays open, unless the client wants it closed.
        case keepAlive
        /// It closes after the response. On HTTP/2: GOAWAY.
        case close
        /// After this many payload bytes it closes, the rest is never sent. On HTTP/2: RST_STREAM.
        case truncate(afterBytes: Int)
        /// After this many payload bytes the TCP connection is reset, on HTTP/2 with all its streams.
        case reset(afterBytes: Int)
        /// After this many payload bytes the TCP connection is closed below TLS, with no close_notify: what somebody in between does who cuts a
        /// body short (RFC 9112 section 9.8). Without TLS it is a close, on HTTP/2 with all its streams.
        case closeWithoutNotify(afterBytes: Int)
        /// It closes without an answer. On HTTP/2: RST_STREAM.
        case hangUp
    }

    /// What happens to the body of the request.
    public enum RequestBody: Sendable, Hashable {
        /// The answer begins when it has come; `Expect: 100-continue` gets its 100.
        case receive
        /// The answer begins at once, while the body still comes; no 100 is sent, so an expecting client is refused.
        case receiveWhileAnswering
        /// The answer begins at once and the body is left in the socket, so the client's upload comes to a stop.
        ///
        /// On HTTP/1 TCP then cannot tell that the client has left, as its last word stands behind the unread bytes.
        case leaveUnread
    }

    /// An interim (1xx) head.
    public struct InterimHead: Sendable, Hashable {
        /// The status, such as 103.
        public var status: Int
        /// Its header fields.
        public var headers: HeaderList

        /// Makes an interim head.
        public init(status: Int, headers: HeaderList = [:]) {
            self.status = status
            self.headers = headers
        }
    }

    /// The status code.
    public var status: Int
    /// The reason phrase; nil takes the usual one. HTTP/2 has none.
    public var reason: String?
    /// The header fields. A `Content-Length`, `Transfer-Encoding` or `Connection` given here is sent as it stands, and no other is added.
    public var headers: HeaderList
    /// The payload.
    public var body: Body
    /// Trailer fields, after the payload.
    public var trailers: HeaderList = [:]
    /// Interim heads sent before everything else.
    public var interimHeads: [InterimHead] = []
    /// How the client learns where the payload ends.
    public var framing: Framing = .contentLength
    /// How fast the payload is sent; nil sends as fast as the client reads.
    public var pace: Pace?
    /// How fast the head is sent; nil sends it at once. See ``slowHead(bytes:every:)``.
    public var headPace: Pace?
    /// Where the response stands still; nil nowhere.
    public var stall: Stall?
    /// How long to wait before the final head.
    public var delay: Duration = .zero
    /// What happens to the connection.
    public var end: End = .keepAlive
    /// What happens to the body of the request.
    public var requestBody: RequestBody = .receive
    /// Whether `Range` is honoured for other bodies than files.
    public var acceptsRanges = false
    /// The error code of the RST_STREAM that ``End/truncate(afterBytes:)`` and ``End/hangUp`` send. 2 is INTERNAL_ERROR,
    /// 7 is REFUSED_STREAM, 13 is HTTP_1_1_REQUIRED.
    public var http2ErrorCode = 2

    /// The payload goes on the wire alone: no head, no framing.
    var isRaw = false

    /// Makes a response; the other properties can be set afterwards.
    public init(status: Int = 200, reason: String? = nil, headers: HeaderList = [:], body: Body = .bytes([])) {
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body
    }
}
#endif
