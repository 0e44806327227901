import CCurl
import FoundationEssentials
import HTTPTypes

/// One libcurl easy handle and the transfer it is busy with. Network thread only; pooled, because a handle is expensive.
final class CurlEasy {
    let handle: UnsafeMutableRawPointer
    let errorText: UnsafeMutablePointer<CChar>
    // Safety: the loop makes its easy handles and destroys them before it goes (`CurlLoop.close`). Counted references would cost one
    // atomic pair for each line received.
    unowned(unsafe) let loop: CurlLoop
    // Safety of the unchecked accesses: one thread, and no access is open while somebody else is called: libcurl and the sinks are
    // called with copies, and what has mutating methods (parser, body) calls nobody. The check costs 90 instructions for each access.

    /// Something was set that only a reset takes back.
    @exclusivity(unchecked) var isDirty = true
    /// The first option of this transfer that could not be set.
    @exclusivity(unchecked) var optionFailure = CURLE_OK
    /// CURLOPT_PIPEWAIT is on.
    @exclusivity(unchecked) var waitsForMultiplex = false
    /// CURLOPT_BUFFERSIZE as it is set.
    @exclusivity(unchecked) var bufferBytes = CurlEasy.usualBufferBytes
    /// CURLOPT_CONNECTTIMEOUT_MS as it is set; nil when that is not known.
    @exclusivity(unchecked) var connectMilliseconds: Int?
    /// libcurl's own (CURL_MAX_WRITE_SIZE).
    static let usualBufferBytes = 16 << 10

    /// The pool of the transfer at hand.
    @exclusivity(unchecked) var multi: UnsafeMutableRawPointer?

    // The transfer at hand
    @exclusivity(unchecked) var id: TransferID?
    @exclusivity(unchecked) var sink: (any TransferSink)?
    @exclusivity(unchecked) var transfer: TransferRequest?
    @exclusivity(unchecked) var head: ResponseHead?
    @exclusivity(unchecked) var parser = ResponseHeadParser()
    @exclusivity(unchecked) var destination = BodyDestination.memory(limit: 0)
    @exclusivity(unchecked) var body = BodyBuffer()
    @exclusivity(unchecked) var received: Int64 = 0
    @exclusivity(unchecked) var expected: Int64?
    @exclusivity(unchecked) var failure: NetworkError?
    /// The loop has it among those to be asked at the end of its turn.
    @exclusivity(unchecked) var hasUnflushedBytes = false
    /// Of a body that goes to a file, from its first byte on.
    @exclusivity(unchecked) var fileWriter: FileWriter?
    @exclusivity(unchecked) var uploadFeed: UploadFeed?
    @exclusivity(unchecked) var requestsSent = 0
    @exclusivity(unchecked) var repeats = RequestRepeats()
    /// A head is complete that libcurl may answer by itself: reported once it is known that it does not.
    @exclusivity(unchecked) var holdsHead = false
    /// The fields of the request once its expectation has failed; nil before.
    @exclusivity(unchecked) var unexpectingHeaders: HeaderBlock?
    /// When the latest of them was ready to go out.
    @exclusivity(unchecked) var sentAt: UInt64 = 0
    /// The answers of the address filter; nil without one.
    @exclusivity(unchecked) var guardRecord: GuardRecord?
    /// The verification of the connection that is made for this transfer; nil once it stands, and for a pooled one.
    @exclusivity(unchecked) var trustCheck: TrustCheck?
    /// That of the connection whose end is the end of the body; nil for all other bodies.
    @exclusivity(unchecked) var closing: TrustCheck?

    // Clocks, in nanoseconds of CLOCK_MONOTONIC
    @exclusivity(unchecked) var began: UInt64 = 0
    @exclusivity(unchecked) var lastActivity: UInt64 = 0
    @exclusivity(unchecked) var headCompleted: UInt64 = 0
    @exclusivity(unchecked) var startedAt = ContinuousClock.now

    /// Its name on the way to a connection.
    @exclusivity(unchecked) var lookup = Lookup.none

    // Pauses
    @exclusivity(unchecked) var isSuspended = false
    /// What is left of the body nobody wants, and it was too long to be read.
    @exclusivity(unchecked) var isCutShort = false
    @exclusivity(unchecked) var isReadPaused = false
    @exclusivity(unchecked) var isWritePaused = false
    /// The upload has given all its bytes, and has not ended.
    @exclusivity(unchecked) var awaitsBodyEnd = false
    /// Nil without a limit on the speed.
    @exclusivity(unchecked) var pacer: Pacer?

    init?(loop: CurlLoop) {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        self.loop = loop
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        LiveObjects.born(.easyHandle)
    }

    func destroy() {
        curl_easy_cleanup(handle)
        errorText.deallocate()
        LiveObjects.died(.easyHandle)
    }

    var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    var loopContext: UnsafeMutableRawPointer { Unmanaged.passUnretained(loop).toOpaque() }
    var share: UnsafeMutableRawPointer? { loop.pools.share }
    var socketError: Int32 { loop.socketError }

    static func of(_ handle: UnsafeMutableRawPointer) -> CurlEasy? {
        var context: UnsafePointer<CChar>?
        guard scurl_get_string(handle, CURLINFO_PRIVATE, &context) == CURLE_OK, let context else { return nil }
        return Unmanaged<CurlEasy>.fromOpaque(UnsafeRawPointer(context)).takeUnretainedValue()
    }

    // MARK: Ending

    /// The first reason wins; libcurl's code is then a consequence.
    func fail(with error: NetworkError) { if failure == nil { failure = error } }

    func result(_ code: CURLcode) -> TransferResult {
        if holdsHead, failure == nil { reportHead() }
        var result = TransferResult()
        result.metrics = metrics()
        let isUnannounced = endedUnannounced(code)
        let isWhole = code == CURLE_OK || isCutShort || isUnannounced
        result.error = failure ?? (isUnannounced ? unannouncedEnd : nil) ?? (isWhole ? nil : CurlError(easy: self, code: code).networkError)
        if result.error == nil, head == nil, transfer?.isConnectOnly != true {
            result.error = error(.badResponse, "the server sent no response head")
        }
        if result.error != nil { deliverTrustFailure(result.error) }
        result.error?.response = head
        result.error?.connectionReused = result.metrics.isConnectionReused
        result.error?.responseBytesReceived = result.metrics.headerBytesReceived > 0 || received > 0
        result.head = head
        result.body = body.take()
        // A cancelled run tells its reader the reason by itself; here it is not known.
        if case .stream(let stream) = destination, result.error?.code != .cancelled { stream.finish(result.error) }
        return result
    }

    /// Takes back what belongs to one transfer; the handle and its options stay.
    func end() {
        if id != nil { LiveObjects.died(.transfer) }
        uploadFeed?.end()
        uploadFeed = nil
        fileWriter = nil
        hasUnflushedBytes = false
        if body.count > 0 { body = BodyBuffer() }
        id = nil
        sink = nil
        transfer = nil
        // One that ended while it waited for its turn would take the next transfer of this handle for one that has to wait.
        lookup = .none
        head = nil
        destination = .memory(limit: 0)
        received = 0
        expected = nil
        failure = nil
        isCutShort = false
        trustCheck = nil
        closing = nil
        headCompleted = 0
        requestsSent = 0
        repeats = RequestRepeats()
        holdsHead = false
        unexpectingHeaders = nil
        guardRecord = nil
        pacer = nil
        isSuspended = false
        isReadPaused = false
        isWritePaused = false
        awaitsBodyEnd = false
        errorText[0] = 0
    }

    func error(_ code: NetworkError.Code, _ message: String, phase: NetworkError.Phase? = nil, curl: Int32? = nil) -> NetworkError {
        NetworkError(
            code, phase: phase ?? self.phase, message: message, runID: transfer?.runID ?? 0, attempt: transfer?.attempt ?? 1,
            curlCode: curl)
    }

    /// How far libcurl has come, by what it has told and by its timers.
    var phase: NetworkError.Phase {
        if head != nil { return .receiving }
        // Newer versions have a time for it (CURLINFO_PRETRANSFER_TIME_T) before there is a connection.
        if requestsSent > 0 {
            return uploadFeed.map { $0.isDone } ?? true ? .awaitingResponse : .sending
        }
        // The timer waits for TLS in some versions; the count does not.
        if time(CURLINFO_CONNECT_TIME_T) > 0 || number(CURLINFO_NUM_CONNECTS) > 0 {
            return transfer?.url.scheme == "https" ? .securing : .connecting
        }
        return time(CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .connecting : .resolving
    }

    /// Below libcurl 8 a plain connection taken from the pool is greeted a second time in the middle of its frames, and the request fails.
    func isAloneOnItsConnection(_ transfer: TransferRequest) -> Bool {
        transfer.url.scheme == "http" && !Capabilities.current.sharesPlainHTTP2
    }

    /// It may share its connection with others.
    var isMultiplexed: Bool {
        switch transfer?.options.httpVersion {
        case .http1, nil: false
        case .http2PriorKnowledge: transfer.map { !isAloneOnItsConnection($0) } ?? false
        case .automatic, .http2: transfer?.url.scheme == "https" && head.map { $0.version == "2" } ?? true
        }
    }

    /// Closes the connection behind this transfer unless others share it.
    func forbidReuse() {
        isDirty = true
        CurlOptions(easy: self).set(CURLOPT_FORBID_REUSE, 1)
    }

    /// A transfer that is paused by its reader must not be disturbed.
    var canFlush: Bool { !isSuspended && !isReadPaused && !isWritePaused }

    /// Pausing and going on sends what waits on an HTTP/2 connection.
    func flush() {
        curl_easy_pause(handle, CURLPAUSE_RECV)
        curl_easy_pause(handle, CURLPAUSE_CONT)
    }

    var transferURL: RequestURL? { transfer?.url }
    var hasHead: Bool { head != nil }
    /// A reason was given; libcurl may not have heard of it.
    var hasFailed: Bool { failure != nil }
}
