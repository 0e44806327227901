public import HTTPTypes

/// One exchange as the transport sees it: immutable, so it may cross the doorway by reference. Redirects and retries are new ones.
@_spi(Transport) public final class TransferRequest: Sendable {
    /// The name of the transfer, unique in the process.
    public let id: TransferID
    /// The absolute URL to send to.
    public let url: RequestURL
    /// The method, such as `GET`.
    public let method: HTTPRequest.Method
    /// The header fields, cookies and credentials included.
    public let headers: HeaderBlock
    /// The body; nil for none.
    public let body: RequestBody?
    /// The options that all attempts share.
    public let options: TransferOptions
    /// Someone listens to progress.
    public let wantsProgress: Bool
    /// Someone listens to connection events.
    public let wantsMilestones: Bool
    /// Counts from 1.
    public let attempt: Int
    /// A reused connection that dies before the first byte of the response is replaced once, without a word. The default is what
    /// the method allows (RFC 9110 section 9.2.2).
    public let repeatsSilently: Bool
    /// When the run as a whole must be over, in nanoseconds of CLOCK_MONOTONIC.
    public let deadline: UInt64?
    /// The run this belongs to; it appears in errors and logs.
    public let runID: UInt64
    /// It ends when its connection stands, and sends nothing.
    package let isConnectOnly: Bool
    /// Its response is a stream: its connection is held for long, and takes no place of others.
    package let isLive: Bool
    /// The bytes of a channel, which goes on once its connection stands; nil for all else.
    package let pipe: ChannelPipe?

    /// Makes an exchange. By default idempotent methods repeat silently, and nothing is reported but the end.
    public convenience init(
        id: TransferID = TransferID(), url: RequestURL, method: HTTPRequest.Method = .get, headers: HeaderBlock, body: RequestBody? = nil,
        options: TransferOptions, wantsProgress: Bool = false, wantsMilestones: Bool = false, attempt: Int = 1,
        repeatsSilently: Bool? = nil, deadline: UInt64? = nil, runID: UInt64 = 0
    ) {
        self.init(
            id: id, url: url, method: method, headers: headers, body: body, options: options, wantsProgress: wantsProgress,
            wantsMilestones: wantsMilestones, attempt: attempt, repeatsSilently: repeatsSilently ?? method.isIdempotent, deadline: deadline,
            runID: runID, isConnectOnly: false)
    }

    /// For ``ExchangeBuilder``, which the library makes its exchanges with.
    init(
        id: TransferID = TransferID(), url: RequestURL, method: HTTPRequest.Method = .get, headers: HeaderBlock, body: RequestBody? = nil,
        options: TransferOptions, wantsProgress: Bool = false, wantsMilestones: Bool = false, attempt: Int = 1, repeatsSilently: Bool,
        deadline: UInt64? = nil, runID: UInt64 = 0, isConnectOnly: Bool, isLive: Bool = false, pipe: ChannelPipe? = nil
    ) {
        self.id = id
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.options = options
        self.wantsProgress = wantsProgress
        self.wantsMilestones = wantsMilestones
        self.attempt = attempt
        self.deadline = deadline
        self.repeatsSilently = repeatsSilently
        self.runID = runID
        self.isConnectOnly = isConnectOnly
        self.isLive = isLive
        self.pipe = pipe
    }
}

/// What holds for every attempt of a request. Immutable and shared, so that starting a transfer copies one reference.
@_spi(Transport) public final class TransferOptions: Sendable {
    /// The clocks of an attempt; the transport watches connect, first byte and idle.
    public let timeouts: Timeouts
    /// The HTTP version to speak.
    public let httpVersion: ConnectionSettings.HTTPVersionPolicy
    /// The most bytes of response header fields.
    public let maxHeaderBytes: Int
    let headLimits: ResponseHeadParser.Limits
    // The clocks as the loop counts them, converted once.
    let connectMilliseconds: Int
    let firstByteNanoseconds: UInt64?
    let idleNanoseconds: UInt64?
    /// Large bodies to or from a file are moved in larger pieces.
    public let bufferBytes: Int
    /// As much as libcurl 7.88 takes: 100 MiB to a file cost an eighth less CPU than in pieces of 256 KiB (measured). Bodies in memory
    /// gain nothing: what is saved in calls is lost to the larger block that malloc has to find.
    /// A version that reads on while it is paused does so for ten pieces, which stay in memory.
    static let fileBufferBytes = Capabilities.current.stopsReadingWhenPaused ? 512 << 10 : 256 << 10
    /// Do not take a pooled connection and do not give this one back.
    public let usesFreshConnection: Bool
    /// Nil where there is no limit on the speed.
    let pace: TransferPace?
    /// Of a body that goes to a file or a stream; `max` where there is no limit.
    let maxDownloadBytes: Int64

    /// Makes options with the defaults of a request.
    public init(
        timeouts: Timeouts = .init(), httpVersion: ConnectionSettings.HTTPVersionPolicy = .automatic, maxHeaderBytes: Int = 256 << 10,
        bufferBytes: Int = 16 << 10, usesFreshConnection: Bool = false, maxUploadRate: Int? = nil, maxDownloadRate: Int? = nil,
        maxDownloadBytes: Int64? = nil
    ) {
        let pace = TransferPace(upload: maxUploadRate, download: maxDownloadRate)
        self.pace = pace
        self.maxDownloadBytes = maxDownloadBytes ?? .max
        self.timeouts = timeouts
        self.httpVersion = httpVersion
        self.maxHeaderBytes = maxHeaderBytes
        headLimits = ResponseHeadParser.Limits(headBytes: maxHeaderBytes)
        connectMilliseconds = timeouts.connect?.milliseconds ?? Int(Int32.max)
        firstByteNanoseconds = timeouts.firstByte?.nanoseconds
        idleNanoseconds = timeouts.idle?.nanoseconds
        self.bufferBytes = pace?.bufferBytes(bufferBytes) ?? bufferBytes
        self.usesFreshConnection = usesFreshConnection
    }

    /// For a body that may have to wait in its connection; nil where these will do. See ``HeldBody``.
    var holdingBodies: TransferOptions? {
        guard httpVersion == .automatic, !Capabilities.current.pausesHTTP2Safely else { return nil }
        return TransferOptions(
            timeouts: timeouts, httpVersion: .http1, maxHeaderBytes: maxHeaderBytes, bufferBytes: bufferBytes,
            usesFreshConnection: usesFreshConnection, maxUploadRate: pace?.upload, maxDownloadRate: pace?.download,
            maxDownloadBytes: maxDownloadBytes)
    }

    /// For a channel: a connection of its own, and HTTP/1.1 where ALPN asks.
    var forChannel: TransferOptions {
        TransferOptions(timeouts: timeouts, httpVersion: .http1, maxHeaderBytes: maxHeaderBytes, usesFreshConnection: true)
    }

    /// For the silent reconnect: the pool has just shown that it holds dead connections.
    var withFreshConnection: TransferOptions {
        TransferOptions(
            timeouts: timeouts, httpVersion: httpVersion, maxHeaderBytes: maxHeaderBytes, bufferBytes: bufferBytes,
            usesFreshConnection: true, maxUploadRate: pace?.upload, maxDownloadRate: pace?.download, maxDownloadBytes: maxDownloadBytes)
    }
}

/// The seven clocks of a request; `nil` switches one off.
public struct Timeouts: Sendable, Hashable {
    /// Waiting for a path to the server, where ``RequestOptions/waitsForConnectivity`` asks for that. Default: none.
    public var connectivity: Duration?
    /// Waiting for a free connection slot. Default: none. Waiting never eats the other clocks.
    public var queue: Duration?
    /// Name resolution, TCP, proxy and TLS. Default: 10 s.
    public var connect: Duration?
    /// From the request being sent to the first byte of the response. Default: 60 s.
    public var firstByte: Duration?
    /// No byte in either direction once data flows; held while suspended. Default: 60 s.
    public var idle: Duration?
    /// From leaving the queue for the first time to the end of the last attempt, retries and their waits included. With interceptors it
    /// begins with them. Default: none.
    public var total: Duration?
    /// One turn of the interceptors (``Interceptor``): until they call `next` or return. Default: 60 s.
    public var interceptor: Duration?

    /// Makes timeouts. Zero and negative ones fail a request with `invalidOption`.
    public init(
        queue: Duration? = nil, connect: Duration? = .seconds(10), firstByte: Duration? = .seconds(60),
        idle: Duration? = .seconds(60), total: Duration? = nil, connectivity: Duration? = nil, interceptor: Duration? = .seconds(60)
    ) {
        self.connectivity = connectivity
        self.queue = queue
        self.connect = connect
        self.firstByte = firstByte
        self.idle = idle
        self.total = total
        self.interceptor = interceptor
    }

    /// The name of a clock that is zero or negative, if any.
    package var invalidClock: String? {
        let clocks: [(String, Duration?)] = [
            ("connectivity", connectivity), ("queue", queue), ("connect", connect), ("firstByte", firstByte), ("idle", idle),
            ("total", total), ("interceptor", interceptor),
        ]
        return clocks.first { $0.1.map { $0 <= .zero } ?? false }?.0
    }
}
