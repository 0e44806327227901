import CCurl
import FoundationEssentials
import HTTPTypes

/// One libcurl easy handle and the transfer it is busy with. Network thread only; pooled, because a handle is expensive.
final class CurlEasy {
    let handle: UnsafeMutableRawPointer
    let errorText: UnsafeMutablePointer<CChar>
    // Safety: the loop makes its easy handles and destroys them before it goes (`CurlLoop.close`). Counted references would cost one
    // atomic pair for each line received.
    private unowned(unsafe) let loop: CurlLoop
    /// Something was set that only a reset takes back.
    private var isDirty = true
    /// CURLOPT_PIPEWAIT is on.
    private var waitsForMultiplex = false

    // The transfer at hand
    private(set) var id: TransferID?
    private(set) var sink: (any TransferSink)?
    private var transfer: TransferRequest?
    private var head: ResponseHead?
    private var parser = ResponseHeadParser()
    private var destination = BodyDestination.memory(limit: 0)
    private var body = BodyBuffer()
    private var received: Int64 = 0
    private var expected: Int64?
    private var failure: NetworkError?
    private var uploadFeed: UploadFeed?
    private var requestsSent = 0

    // Clocks, in nanoseconds of CLOCK_MONOTONIC
    private var began: UInt64 = 0
    private var lastActivity: UInt64 = 0
    private var headCompleted: UInt64 = 0
    private var startedAt = ContinuousClock.now

    // Pauses
    private var isSuspended = false
    private var isReadPaused = false
    private var isWritePaused = false

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
    var share: UnsafeMutableRawPointer? { loop.share }
    var socketError: Int32 { loop.socketError }

    static func of(_ handle: UnsafeMutableRawPointer) -> CurlEasy? {
        var context: UnsafePointer<CChar>?
        guard scurl_get_string(handle, CURLINFO_PRIVATE, &context) == CURLE_OK, let context else { return nil }
        return Unmanaged<CurlEasy>.fromOpaque(UnsafeRawPointer(context)).takeUnretainedValue()
    }

    // MARK: Beginning

    func begin(_ transfer: TransferRequest, sink: any TransferSink) throws(NetworkError) {
        if isDirty {
            curl_easy_reset(handle)
            waitsForMultiplex = false
            try loop.profile.apply(to: self)
            isDirty = false
        }
        let options = CurlOptions(handle: handle)
        if loop.profile.choosesProxyPerRequest { try loop.profile.applyProxy(to: self, for: transfer.url) }
        _ = scurl_set_url(handle, transfer.url.handle)
        _ = scurl_set_list(handle, CURLOPT_HTTPHEADER, transfer.headers.list)
        options.set(CURLOPT_CONNECTTIMEOUT_MS, transfer.options.connectMilliseconds)
        try setVersion(transfer, options)
        try setMethodAndBody(transfer, options)
        if transfer.options.bufferBytes != 16 << 10 {
            isDirty = true
            options.set(CURLOPT_BUFFERSIZE, transfer.options.bufferBytes)
        }
        if transfer.options.usesFreshConnection {
            isDirty = true
            options.set(CURLOPT_FRESH_CONNECT, 1)
        }
        self.transfer = transfer
        self.sink = sink
        parser = ResponseHeadParser(limits: transfer.options.headLimits)
        id = transfer.id
        began = loop.now
        lastActivity = loop.now
        startedAt = loop.instant
        LiveObjects.born(.transfer)
    }

    private func setVersion(_ transfer: TransferRequest, _ options: borrowing CurlOptions) throws(NetworkError) {
        switch transfer.options.httpVersion {
        case .automatic where transfer.url.scheme == "http":
            // Nothing to wait for there: each request would stand behind the first one's response.
            guard waitsForMultiplex else { break }
            options.set(CURLOPT_PIPEWAIT, 0)
            waitsForMultiplex = false
        case .automatic, .http2:
            guard !waitsForMultiplex else { break }
            options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_2TLS)
            options.set(CURLOPT_PIPEWAIT, 1)
            waitsForMultiplex = true
        case .http1:
            isDirty = true
            options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_1_1)
        case .http2PriorKnowledge:
            isDirty = true
            options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
            guard isAloneOnItsConnection(transfer) else { return options.set(CURLOPT_PIPEWAIT, 1) }
            options.set(CURLOPT_FRESH_CONNECT, 1)
            options.set(CURLOPT_FORBID_REUSE, 1)
        }
    }

    private func setMethodAndBody(_ transfer: TransferRequest, _ options: borrowing CurlOptions) throws(NetworkError) {
        let method = transfer.method
        if let body = transfer.body {
            guard method != .head else { throw NetworkError(.invalidOption, phase: .preparing, message: "a HEAD request has no body") }
            isDirty = true
            let feed = try UploadFeed(body)
            uploadFeed = feed
            let id = transfer.id
            let thread = loop.thread
            feed.begin { thread.post(.unpause(id)) }
            options.set(CURLOPT_POST, 1)
            options.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
            options.set(CURLOPT_POSTFIELDSIZE_LARGE, large: feed.length ?? -1)
            options.set(CURLOPT_READDATA, context)
            options.set(CURLOPT_SEEKDATA, context)
            _ = scurl_set_data_callback(handle, CURLOPT_READFUNCTION, CurlCallbacks.read)
            _ = scurl_set_seek_callback(handle, CurlCallbacks.seek)
            if let bytes = feed.contiguousBytes {
                // Small bodies travel in one packet with their head.
                _ = scurl_set_pointer(handle, CURLOPT_POSTFIELDS, bytes)
            } else {
                _ = scurl_set_pointer(handle, CURLOPT_POSTFIELDS, nil)
                options.set(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
            }
            if transfer.wantsProgress {
                options.set(CURLOPT_NOPROGRESS, 0)
                options.set(CURLOPT_XFERINFODATA, context)
                _ = scurl_set_progress_callback(handle, CurlCallbacks.progress)
            }
            return
        }
        switch method {
        case .get: break
        case .head:
            isDirty = true
            options.set(CURLOPT_NOBODY, 1)
        case .post, .put, .patch:
            // A method that means a body and has none says so: Content-Length: 0 (RFC 9110 section 8.6).
            isDirty = true
            options.set(CURLOPT_POST, 1)
            options.set(CURLOPT_POSTFIELDSIZE, 0)
            options.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
        default:
            isDirty = true
            options.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
        }
    }

    /// Below libcurl 8 a plain connection taken from the pool is greeted a second time in the middle of its frames, and the request fails.
    private func isAloneOnItsConnection(_ transfer: TransferRequest) -> Bool {
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
        CurlOptions(handle: handle).set(CURLOPT_FORBID_REUSE, 1)
    }

    /// A transfer that is paused by its reader must not be disturbed.
    var canFlush: Bool { !isSuspended && !isReadPaused && !isWritePaused }

    /// Pausing and going on sends what waits on an HTTP/2 connection.
    func flush() {
        curl_easy_pause(handle, CURLPAUSE_RECV)
        curl_easy_pause(handle, CURLPAUSE_CONT)
    }

    // MARK: Ending

    /// The first reason wins; libcurl's code is then a consequence.
    func fail(with error: NetworkError) { if failure == nil { failure = error } }

    func result(_ code: CURLcode) -> TransferResult {
        var result = TransferResult()
        result.metrics = metrics()
        result.error = failure ?? (code == CURLE_OK ? nil : CurlError(easy: self, code: code).networkError)
        if result.error == nil, head == nil {
            result.error = error(.badResponse, "the server sent no response head")
        }
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
        if body.count > 0 { body = BodyBuffer() }
        id = nil
        sink = nil
        transfer = nil
        head = nil
        destination = .memory(limit: 0)
        received = 0
        expected = nil
        failure = nil
        headCompleted = 0
        requestsSent = 0
        isSuspended = false
        isReadPaused = false
        isWritePaused = false
        errorText[0] = 0
    }

    func error(_ code: NetworkError.Code, _ message: String, phase: NetworkError.Phase? = nil, curl: Int32? = nil) -> NetworkError {
        NetworkError(
            code, phase: phase ?? self.phase, message: message, requestID: transfer?.requestID ?? 0, attempt: transfer?.attempt ?? 1,
            curlCode: curl)
    }

    /// How far libcurl has come, by its timers.
    var phase: NetworkError.Phase {
        if head != nil { return .receiving }
        if time(CURLINFO_PRETRANSFER_TIME_T) > 0 {
            return uploadFeed.map { $0.isDone } ?? true ? .awaitingResponse : .sending
        }
        // The timer waits for TLS in some versions; the count does not.
        if time(CURLINFO_CONNECT_TIME_T) > 0 || number(CURLINFO_NUM_CONNECTS) > 0 { return transfer?.url.scheme == "https" ? .securing : .connecting }
        return time(CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .connecting : .resolving
    }

    // MARK: Receiving

    func receivedHeader(_ line: UnsafeRawBufferPointer) -> Int {
        lastActivity = loop.now
        do throws(ResponseHeadError) {
            switch try parser.receive(line: line) {
            case .statusLine, .field, .trailer, .skipped: break
            case .informational: receivedInterimHead()
            case .headComplete: try receivedHead()
            }
            return line.count
        } catch {
            switch error {
            case .headTooLarge, .tooManyFields: fail(with: self.error(.headersTooLarge, error.description))
            case .malformedStatusLine, .malformedContentLength, .conflictingContentLength, .ambiguousFraming:
                fail(with: self.error(.badResponse, error.description))
            }
            return 0
        }
    }

    private func receivedInterimHead() {
        guard let transfer, let sink, transfer.wantsMilestones else { return }
        sink.transfer(transfer.id, didReach: .informational(ResponseHead(parser)), turn: loop.turn)
    }

    private func receivedHead() throws(ResponseHeadError) {
        headCompleted = loop.now
        try parser.checkFraming()
        guard let id, let sink else { return }
        let complete = ResponseHead(parser)
        head = complete
        destination = sink.transfer(id, didReceive: complete, turn: loop.turn)
        connectStream()
        // The idle clock takes over, and it may be the shorter one.
        loop.arm(nextDeadline(now: loop.now))
    }

    private func connectStream() {
        guard case .stream(let stream) = destination, let id else { return }
        let thread = loop.thread
        stream.connect(drained: { thread.post(.unpause(id)) }, abandoned: { thread.post(.cancel(id)) })
    }

    func received(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = loop.now
        // Suspended before there was a connection to pause: libcurl did not hear of it.
        if isSuspended { return SCURL_WRITE_PAUSE }
        if received == 0, !expectBody() { return 0 }
        switch destination {
        case .memory(let limit):
            guard body.count + bytes.count <= limit else {
                fail(with: error(.bodyTooLarge, "the response body exceeds \(limit) bytes"))
                return 0
            }
            body.append(bytes)
        case .memoryPrefix(let limit):
            let room = max(0, limit - body.count)
            if room > 0 { body.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(room))) }
        case .file(let file):
            do throws(NetworkError) { try file.write(bytes) } catch {
                var failure = error
                failure.requestID = transfer?.requestID ?? 0
                fail(with: failure)
                return 0
            }
        case .stream(let stream):
            if stream.offer(bytes) == .pause {
                isReadPaused = true
                return SCURL_WRITE_PAUSE
            }
        }
        received += Int64(bytes.count)
        if let transfer, transfer.wantsProgress, let sink {
            sink.transfer(transfer.id, didReceive: received, of: expected, turn: loop.turn)
        }
        return bytes.count
    }

    /// - Returns: false when the declared length is too much already.
    private func expectBody() -> Bool {
        let length = offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        guard length >= 0 else { return true }
        expected = length
        guard case .memory(let limit) = destination else { return true }
        guard length <= limit else {
            fail(with: error(.bodyTooLarge, "the response body has \(length) bytes, more than \(limit)"))
            return false
        }
        body.reserve(Int(length))
        return true
    }

    // MARK: Sending

    func upload(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let uploadFeed else { return 0 }
        if isSuspended { return SCURL_READ_PAUSE }
        let isFirst = !uploadFeed.hasBegun
        switch uploadFeed.read(into: buffer) {
        case .bytes(let count):
            lastActivity = loop.now
            // From the first byte on it is the idle clock's turn, behind the last one the first response byte's.
            if isFirst || uploadFeed.isDone { loop.arm(nextDeadline(now: loop.now)) }
            return count
        case .end: return 0
        case .notYet:
            isWritePaused = true
            return SCURL_READ_PAUSE
        case .failed(let underlying):
            var error = error(uploadFeed.failureCode, uploadFeed.failureText(underlying), phase: .sending)
            error.underlying = underlying
            fail(with: error)
            return SCURL_READ_ABORT
        }
    }

    func seekUpload(to offset: Int64, origin: Int32) -> Bool {
        if origin == 0, uploadFeed?.rewind(to: offset) == true { return true }
        // libcurl wants to repeat the request on another connection.
        fail(with: error(.connectionLost, "the pooled connection was closed by the server, and the body can be read once only", phase: .sending))
        return false
    }

    func uploaded(_ sent: Int64, of total: Int64) {
        let sent = payload(sent)
        guard let transfer, let sink, transfer.body != nil, sent > uploadReported else { return }
        uploadReported = sent
        lastActivity = loop.now
        sink.transfer(transfer.id, didSend: sent, of: total > 0 ? total : uploadFeed?.length, turn: loop.turn)
    }

    /// libcurl counts chunk sizes as sent, too.
    private func payload(_ sent: Int64) -> Int64 {
        guard let uploadFeed, uploadFeed.length == nil else { return sent }
        return min(sent, uploadFeed.offset)
    }

    private var uploadReported: Int64 {
        get { uploadFeed?.reported ?? 0 }
        set { uploadFeed?.reported = newValue }
    }

    /// The connection is ready and the request goes out now.
    func connected(_ remote: UnsafePointer<CChar>?, _ remotePort: Int32, _ local: UnsafePointer<CChar>?, _ localPort: Int32) -> Bool {
        guard let transfer, let sink else { return false }
        requestsSent += 1
        // libcurl repeats a request when a reused connection dies before the first byte, and does so up to five times. For a method
        // that is not idempotent that may do the work twice (RFC 9110 section 9.2.2), and for the others once is enough.
        if requestsSent > (transfer.repeatsSilently ? 2 : 1) {
            fail(with: error(.connectionLost, "the pooled connection was closed by the server; the request may have reached it", phase: .awaitingResponse))
            return false
        }
        guard transfer.wantsMilestones else { return true }
        if requestsSent > 1 { sink.transfer(transfer.id, didReach: .reconnected, turn: loop.turn) }
        let secured = duration(CURLINFO_APPCONNECT_TIME_T)
        var connections = 0
        _ = scurl_get_long(handle, CURLINFO_NUM_CONNECTS, &connections)
        let timings = ConnectionTimings(
            nameLookup: duration(CURLINFO_NAMELOOKUP_TIME_T), connect: duration(CURLINFO_CONNECT_TIME_T),
            secured: secured > .zero ? secured : nil,
            remoteAddress: remote.map { String(cString: $0) } ?? "", remotePort: Int(remotePort),
            localAddress: local.map { String(cString: $0) } ?? "", localPort: Int(localPort), isReused: connections == 0)
        sink.transfer(transfer.id, didReach: .connected(timings), turn: loop.turn)
        return true
    }

    // MARK: Pausing

    /// - Returns: true when libcurl must be run.
    func setSuspended(_ suspended: Bool) -> Bool {
        guard suspended != isSuspended else { return false }
        isSuspended = suspended
        lastActivity = loop.now
        if !suspended { loop.arm(nextDeadline(now: loop.now)) }
        return applyPauses()
    }

    func unpause() -> Bool {
        isReadPaused = false
        isWritePaused = false
        lastActivity = loop.now
        loop.arm(nextDeadline(now: loop.now))
        return isSuspended ? false : applyPauses()
    }

    private func applyPauses() -> Bool {
        if !isSuspended {
            isReadPaused = false
            isWritePaused = false
        }
        paused(curl_easy_pause(handle, isSuspended ? CURLPAUSE_ALL : CURLPAUSE_CONT))
        return true
    }

    /// A pause that failed is the end of the transfer: libcurl tells the caller, and would leave the transfer waiting for ever.
    private func paused(_ code: CURLcode) {
        // Before there is a connection there is nothing to pause; the callbacks see to it.
        guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT else { return }
        fail(with: CurlError(easy: self, code: code).networkError)
    }

    // MARK: Clocks

    /// When this transfer has to be looked at next, if nothing happens.
    func nextDeadline(now: UInt64) -> UInt64 {
        guard let transfer else { return .max }
        let total = transfer.deadline ?? .max
        guard !isSuspended, !isReadPaused, !isWritePaused else { return total }
        guard let limit = currentClock(transfer.options)?.limit else { return total }
        return min(total, lastActivity &+ limit)
    }

    private func currentClock(_ options: TransferOptions) -> (code: NetworkError.Code, limit: UInt64)? {
        if head != nil { return options.idleNanoseconds.map { (.idleTimeout, $0) } }
        if let uploadFeed, !uploadFeed.isDone, uploadFeed.hasBegun { return options.idleNanoseconds.map { (.idleTimeout, $0) } }
        return options.firstByteNanoseconds.map { (.firstByteTimeout, $0) }
    }

    func overdue(now: UInt64) -> NetworkError? {
        guard let transfer else { return nil }
        if let deadline = transfer.deadline, deadline <= now {
            return error(.totalTimeout, "the total time of \(transfer.options.timeouts.total ?? .zero) is over")
        }
        guard nextDeadline(now: now) <= now, let clock = currentClock(transfer.options) else { return nil }
        if head == nil {
            // Connecting has its own clock, in libcurl; the first byte's starts when the request can be sent.
            let sent = UInt64(max(0, time(CURLINFO_PRETRANSFER_TIME_T))) * 1_000
            guard sent > 0 else {
                lastActivity = now
                return nil
            }
            if began + sent > lastActivity {
                lastActivity = began + sent
                if lastActivity &+ clock.limit > now { return nil }
            }
        }
        let limit = Duration.nanoseconds(Int64(clamping: clock.limit))
        return error(clock.code, head == nil ? "no response for \(limit)" : "no byte for \(limit)")
    }

    // MARK: Reading libcurl

    func time(_ info: CURLINFO) -> Int64 { max(0, offset(info)) }
    private func duration(_ info: CURLINFO) -> Duration { .microseconds(time(info)) }

    private func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        _ = scurl_get_off(handle, info, &value)
        return Int64(value)
    }

    func number(_ info: CURLINFO) -> Int {
        var value = 0
        _ = scurl_get_long(handle, info, &value)
        return value
    }

    private func text(_ info: CURLINFO) -> String {
        var value: UnsafePointer<CChar>?
        _ = scurl_get_string(handle, info, &value)
        return value.map { String(cString: $0) } ?? ""
    }

    private func metrics() -> TransferMetrics {
        var metrics = TransferMetrics(started: startedAt)
        metrics.nameLookup = duration(CURLINFO_NAMELOOKUP_TIME_T)
        metrics.connect = duration(CURLINFO_CONNECT_TIME_T)
        metrics.secured = duration(CURLINFO_APPCONNECT_TIME_T)
        metrics.requestSent = duration(CURLINFO_PRETRANSFER_TIME_T)
        metrics.firstByte = duration(CURLINFO_STARTTRANSFER_TIME_T)
        // With a body to send, libcurl's clock stops at the first byte of either direction.
        if uploadFeed != nil { metrics.firstByte = headCompleted > began ? .nanoseconds(Int64(clamping: headCompleted - began)) : .zero }
        metrics.total = duration(CURLINFO_TOTAL_TIME_T)
        // libcurl's clock stands still since its last progress when we end the transfer: cancelled, timed out.
        if failure != nil { metrics.total = max(metrics.total, .nanoseconds(Int64(clamping: monotonicNow() &- began))) }
        metrics.bodyBytesSent = payload(time(CURLINFO_SIZE_UPLOAD_T))
        metrics.bodyBytesReceived = received
        metrics.headerBytesReceived = number(CURLINFO_HEADER_SIZE)
        metrics.requestBytes = number(CURLINFO_REQUEST_SIZE)
        metrics.isConnectionReused = metrics.requestSent > .zero && number(CURLINFO_NUM_CONNECTS) == 0
        metrics.httpVersion = head?.version ?? ""
        metrics.remoteAddress = text(CURLINFO_PRIMARY_IP)
        metrics.remotePort = number(CURLINFO_PRIMARY_PORT)
        metrics.localPort = number(CURLINFO_LOCAL_PORT)
        return metrics
    }

    var transferURL: RequestURL? { transfer?.url }
    var hasHead: Bool { head != nil }
    /// A reason was given; libcurl may not have heard of it.
    var hasFailed: Bool { failure != nil }
}

extension HTTPRequest.Method {
    /// RFC 9110 section 9.2.2.
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace: true
        default: false
        }
    }
}
