/// What one attempt cost, from libcurl's own timers (curl_easy_getinfo(3)); always present in the ending.
///
/// Durations count from the start of the attempt (when it left the queue). Zero means that the phase was not needed, as
/// with a reused connection.
public struct TransferMetrics: Sendable {
    /// The time when the name was resolved.
    public var nameLookup: Duration {
        get { .microseconds(times.nameLookup) }
        set { times.nameLookup = newValue.wholeMicroseconds }
    }
    /// The time when TCP was connected, and the proxy's tunnel, if any, not yet made.
    public var connect: Duration {
        get { .microseconds(times.connect) }
        set { times.connect = newValue.wholeMicroseconds }
    }
    /// The time when TLS was established.
    public var secured: Duration {
        get { .microseconds(times.secured) }
        set { times.secured = newValue.wholeMicroseconds }
    }
    /// The time when the request was about to be sent.
    public var requestSent: Duration {
        get { .microseconds(times.requestSent) }
        set { times.requestSent = newValue.wholeMicroseconds }
    }
    /// The time when the first byte of the response came.
    public var firstByte: Duration {
        get { .microseconds(times.firstByte) }
        set { times.firstByte = newValue.wholeMicroseconds }
    }
    /// The whole attempt, from its start to the last byte of its body. Earlier attempts and the waits before them are not in it:
    /// ``Response/duration`` is that of the whole run.
    public var total: Duration {
        get { .microseconds(times.total) }
        set { times.total = newValue.wholeMicroseconds }
    }
    /// Wire bytes, before content decoding.
    public var bodyBytesSent: Int64 = 0
    /// The bytes of the response's body, before content decoding.
    public var bodyBytesReceived: Int64 = 0
    /// The bytes of all response heads, interim ones included.
    public var headerBytesReceived: Int = 0
    /// The bytes of the request's head.
    public var requestBytes: Int = 0
    /// True when a pooled connection was used, so that nothing had to be connected.
    public var isConnectionReused = false
    /// "1.0", "1.1", "2" or "3"; empty when no response came.
    public var httpVersion = ""
    /// The address of the server, or of the proxy; empty without a connection.
    public var remoteAddress = ""
    /// The port at ``remoteAddress``; 0 without a connection.
    public var remotePort = 0
    /// The port on this side; 0 without a connection.
    public var localPort = 0
    /// When the attempt began.
    public var started: ContinuousClock.Instant {
        get { beginning.instant }
        set { beginning = Moment(newValue) }
    }
    private var beginning: Moment

    /// Makes metrics without measurements.
    public init(started: ContinuousClock.Instant = .now) { self.init(beginning: Moment(started)) }

    package init(beginning: Moment) { self.beginning = beginning }

    /// Microseconds, as libcurl counts: every transfer fills them in, few are ever looked at.
    package struct Times: Sendable {
        package var nameLookup: Int64 = 0
        package var connect: Int64 = 0
        package var secured: Int64 = 0
        package var requestSent: Int64 = 0
        package var firstByte: Int64 = 0
        package var total: Int64 = 0
    }
    package var times = Times()
}

extension TransferMetrics: CustomStringConvertible {
    /// One line for people: `HTTP/2, reused connection, first byte after 12 ms, 41 ms in all, 1.6 KiB received, 320 B sent`.
    public var description: String {
        var parts: [String] = []
        if !httpVersion.isEmpty { parts.append("HTTP/\(httpVersion)") }
        parts.append(isConnectionReused ? "reused connection" : "new connection")
        if firstByte > .zero { parts.append("first byte after \(HumanText.time(firstByte))") }
        parts.append("\(HumanText.time(total)) in all")
        parts.append("\(HumanText.bytes(Int64(headerBytesReceived) + bodyBytesReceived)) received")
        parts.append("\(HumanText.bytes(Int64(requestBytes) + bodyBytesSent)) sent")
        return parts.joined(separator: ", ")
    }
}

extension Duration {
    fileprivate var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000_000
    }
}
