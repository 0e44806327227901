import CCurl
import FoundationEssentials
import HTTPTypes
import SystemSupport

/// One libcurl easy handle and the transfer it is busy with. Pooled, because a handle is expensive.
///
/// The network thread alone uses it. What has a state of its own is a type of its own: the options that are set (``OptionState``,
/// ``TransferSetup``), the clocks and pauses (``TransferClocks``), head and body of the response (``ResponseHeadParser``, ``BodyReceiver``), the body of
/// the request (``UploadFeed``), what libcurl repeats (``RequestRepeats``), the trust in the server (``ConnectionTrust``) and
/// name lookups (``TransferLookups``).
final class CurlEasy {
    let handle: UnsafeMutableRawPointer
    let errorText: UnsafeMutablePointer<CChar>
    // Safety: the loop makes its easy handles and destroys them before it goes (`CurlLoop.close`). Counted references would cost one
    // atomic pair for each line received.
    unowned(unsafe) let loop: CurlLoop
    // Safety of the unchecked accesses: one thread, and no access is open while libcurl or a sink is called: they are called with copies. What
    // has mutating methods (options, clocks, parser, body) calls neither. The check costs 90 instructions for each access.

    @exclusivity(unchecked) var options = OptionState()

    /// The pool of the transfer at hand.
    @exclusivity(unchecked) var multi: UnsafeMutableRawPointer?

    // The transfer at hand
    @exclusivity(unchecked) private(set) var id: TransferID?
    @exclusivity(unchecked) private(set) var sink: (any TransferSink)?
    @exclusivity(unchecked) private(set) var transfer: TransferRequest?
    @exclusivity(unchecked) var failure: NetworkError?
    @exclusivity(unchecked) var clocks = TransferClocks()
    /// Its name on the way to a connection.
    @exclusivity(unchecked) var lookup = TransferLookups.State.none

    // The request
    @exclusivity(unchecked) var uploadFeed: UploadFeed?
    @exclusivity(unchecked) var requestsSent = 0
    @exclusivity(unchecked) var repeats = RequestRepeats()
    /// The fields of the request once its expectation has failed; nil before.
    @exclusivity(unchecked) var unexpectingHeaders: HeaderBlock?
    /// Nil without a limit on the speed.
    @exclusivity(unchecked) private(set) var pacer: Pacer?

    // The response
    @exclusivity(unchecked) var parser = ResponseHeadParser()
    @exclusivity(unchecked) var head: ResponseHead?
    /// A head is complete that libcurl may answer by itself: reported once it is known that it does not.
    @exclusivity(unchecked) var holdsHead = false
    @exclusivity(unchecked) var body = BodyReceiver()

    // The connection
    /// Once that of a channel stands.
    @exclusivity(unchecked) var channel: CurlChannel?
    /// The answers of the address filter; nil without one.
    @exclusivity(unchecked) var guardRecord: GuardRecord?
    @exclusivity(unchecked) var trust = ConnectionTrust()

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
    var info: CurlInfo { CurlInfo(handle: handle) }

    static func of(_ handle: UnsafeMutableRawPointer) -> CurlEasy? {
        var context: UnsafePointer<CChar>?
        guard scurl_get_string(handle, CURLINFO_PRIVATE, &context) == CURLE_OK, let context else { return nil }
        return Unmanaged<CurlEasy>.fromOpaque(UnsafeRawPointer(context)).takeUnretainedValue()
    }

    // MARK: Beginning

    func begin(_ transfer: TransferRequest, sink: any TransferSink, file: UploadFile? = nil) throws(NetworkError) {
        loop.preconditionOnNetworkThread()
        try TransferSetup(easy: self, transfer: transfer).apply(file)
        self.transfer = transfer
        self.sink = sink
        pacer = transfer.options.pace.map { Pacer($0) }
        parser.reset(limits: transfer.options.headLimits)
        body.maxBytes = transfer.options.maxDownloadBytes
        id = transfer.id
        clocks.begin(now: loop.now, moment: loop.moment)
        LiveObjects.born(.transfer)
    }

    // MARK: Ending

    /// The first reason wins; libcurl's code is then a consequence.
    func fail(with error: NetworkError) { if failure == nil { failure = error } }

    func result(_ code: CURLcode) -> TransferResult {
        if holdsHead, failure == nil { reportHead() }
        let metrics = metrics()
        var error = ending(code)
        if let error { deliver(error.underlying as? SecurityPolicy.TrustFailure) }
        error?.response = head
        error?.connectionReused = metrics.isConnectionReused
        error?.responseBytesReceived = metrics.headerBytesReceived > 0 || body.received > 0
        // A cancelled run tells its reader the reason by itself; here it is not known.
        if let stream = body.destination.stream, error?.code != .cancelled { stream.finish(error) }
        return TransferResult(error: error, head: head, body: body.takeBytes(), metrics: metrics)
    }

    /// The error that the transfer ends with; nil where the response is whole.
    private func ending(_ code: CURLcode) -> NetworkError? {
        if let failure { return failure }
        let isUnannounced = endedUnannounced(code)
        if isUnannounced, let error = unannouncedEnd { return error }
        if code != CURLE_OK, !body.isCutShort, !isUnannounced { return CurlError(easy: self, code: code).networkError }
        return head == nil && transfer?.isConnectOnly != true ? error(.badResponse, "the server sent no response head") : nil
    }

    /// Takes back what belongs to one transfer; the handle and its options stay.
    func end() {
        if id != nil { LiveObjects.died(.transfer) }
        uploadFeed?.end()
        uploadFeed = nil
        body.end()
        clocks.end()
        id = nil
        sink = nil
        transfer = nil
        // One that ended while it waited for its turn would take the next transfer of this handle for one that has to wait.
        lookup = .none
        head = nil
        failure = nil
        trust.end()
        requestsSent = 0
        repeats = RequestRepeats()
        holdsHead = false
        unexpectingHeaders = nil
        guardRecord = nil
        pacer = nil
        channel = nil
        errorText[0] = 0
    }

    func error(_ code: NetworkError.Code, _ message: String, phase: NetworkError.Phase? = nil, curl: Int32? = nil) -> NetworkError {
        NetworkError(
            code, phase: phase ?? self.phase, message: message, runID: transfer?.runID ?? 0, attempt: transfer?.attempt ?? 1,
            curlCode: curl)
    }

    /// How far libcurl has come, by what it has told and by its timers.
    var phase: NetworkError.Phase {
        if head != nil || channel != nil { return .receiving }
        // Newer versions have a time for it (CURLINFO_PRETRANSFER_TIME_T) before there is a connection.
        if requestsSent > 0 {
            return uploadFeed.map { $0.isDone } ?? true ? .awaitingResponse : .sending
        }
        // The timer waits for TLS in some versions; the count does not.
        if info.time(CURLINFO_CONNECT_TIME_T) > 0 || info.connections > 0 {
            return transfer?.url.scheme == "https" ? .securing : .connecting
        }
        return info.time(CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .connecting : .resolving
    }

    /// It may share its connection with others.
    var isMultiplexed: Bool { transfer?.mayShareConnection(version: head?.version) ?? false }

    /// Closes the connection behind this transfer unless others share it.
    func forbidReuse() {
        options.isDirty = true
        CurlOptions(easy: self).set(CURLOPT_FORBID_REUSE, 1)
    }

    /// Pausing and going on sends what waits on an HTTP/2 connection.
    func flush() {
        curl_easy_pause(handle, CURLPAUSE_RECV)
        curl_easy_pause(handle, CURLPAUSE_CONT)
    }

    var transferURL: RequestURL? { transfer?.url }
    var hasHead: Bool { head != nil }
    /// A reason was given; libcurl may not have heard of it.
    var hasFailed: Bool { failure != nil }

    private func metrics() -> TransferMetrics {
        var metrics = info.metrics(started: clocks.startedAt)
        // libcurl's clock stands still since its last progress when we end the transfer: cancelled, timed out.
        if failure != nil { metrics.times.total = max(metrics.times.total, Int64(clamping: (monotonicNow() &- clocks.began) / 1_000)) }
        metrics.bodyBytesReceived = body.received
        metrics.httpVersion = head?.version ?? ""
        uploadFeed?.complete(&metrics, sent: info.time(CURLINFO_SIZE_UPLOAD_T), clocks)
        return metrics
    }
}
