/// What one attempt cost, from libcurl's own timers (curl_easy_getinfo(3)); always present in the ending.
///
/// Durations count from the start of the attempt (when it left the queue). Zero means that the phase was not needed, as
/// with a reused connection.
public struct TransferMetrics: Sendable {
    public var nameLookup: Duration = .zero
    public var connect: Duration = .zero
    public var secured: Duration = .zero
    public var requestSent: Duration = .zero
    public var firstByte: Duration = .zero
    public var total: Duration = .zero
    /// Wire bytes, before content decoding.
    public var bodyBytesSent: Int64 = 0
    public var bodyBytesReceived: Int64 = 0
    public var headerBytesReceived: Int = 0
    public var requestBytes: Int = 0
    public var isConnectionReused = false
    /// "1.0", "1.1", "2" or "3"; empty when no response came.
    public var httpVersion = ""
    public var remoteAddress = ""
    public var remotePort = 0
    public var localPort = 0
    /// When the attempt began.
    public var started: ContinuousClock.Instant

    public init(started: ContinuousClock.Instant = .now) { self.started = started }
}
