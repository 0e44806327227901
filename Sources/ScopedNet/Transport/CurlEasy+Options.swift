import CCurl
import HTTPTypes

/// What is set on the handle for one transfer.
extension CurlEasy {
    func begin(_ transfer: TransferRequest, sink: any TransferSink, file: UploadFile? = nil) throws(NetworkError) {
        try loop.profile.checkGuard(for: transfer.url)
        if isDirty {
            curl_easy_reset(handle)
            waitsForMultiplex = false
            bufferBytes = Self.usualBufferBytes
            connectMilliseconds = nil
            try loop.profile.apply(to: self)
            isDirty = false
        }
        if let securedHosts = loop.profile.securedHosts { try securedHosts.check(transfer.url) }
        let options = CurlOptions(easy: self)
        try loop.profile.applyOverrides(to: self)
        if loop.profile.choosesProxyPerRequest { try loop.profile.applyProxy(to: self, for: transfer.url) }
        options.note(scurl_set_url(handle, transfer.url.handle))
        options.note(scurl_set_list(handle, CURLOPT_HTTPHEADER, transfer.headers.list))
        if transfer.options.connectMilliseconds != connectMilliseconds {
            connectMilliseconds = transfer.options.connectMilliseconds
            options.set(CURLOPT_CONNECTTIMEOUT_MS, transfer.options.connectMilliseconds)
        }
        if transfer.isConnectOnly { beginConnectOnly() }
        try setVersion(transfer, options)
        setTarget(of: transfer, options)
        try setMethodAndBody(transfer, file, options)
        if transfer.options.bufferBytes != bufferBytes {
            bufferBytes = transfer.options.bufferBytes
            options.set(CURLOPT_BUFFERSIZE, bufferBytes)
        }
        if transfer.options.usesFreshConnection {
            isDirty = true
            options.set(CURLOPT_FRESH_CONNECT, 1)
        }
        try requireOptions()
        self.transfer = transfer
        self.sink = sink
        pacer = transfer.options.pace.map { Pacer($0) }
        parser.reset(limits: transfer.options.headLimits)
        id = transfer.id
        began = loop.now
        lastActivity = loop.now
        startedAt = loop.instant
        LiveObjects.born(.transfer)
    }

    /// After an option could not be set the handle is not what the transfer asks for, and is reset before its next one.
    private func requireOptions() throws(NetworkError) {
        guard optionFailure != CURLE_OK else { return }
        let code = optionFailure
        optionFailure = CURLE_OK
        isDirty = true
        throw NetworkError(
            .resources, phase: .preparing, message: "libcurl could not take an option: \(String(cString: curl_easy_strerror(code)))",
            curlCode: Int32(bitPattern: code.rawValue))
    }

    /// For a connection that is being made, whether others can use it too: rather than to make one of its own.
    private static let waits = Capabilities.current.sharesFreshHTTP2 ? 1 : 0

    /// `/a?` is not `/a` (RFC 3986 section 6.2.3).
    private func setTarget(of transfer: TransferRequest, _ options: borrowing CurlOptions) {
        let url = transfer.url
        guard url.hasEmptyQuery else { return }
        // To a proxy goes the URL's text (RFC 9112 section 3.2.2), of which libcurl drops the mark. It alone can convert a host that is not ASCII.
        if loop.profile.isForwarded(url) {
            guard transfer.options.httpVersion != .http2PriorKnowledge, url.host.utf8.allSatisfy({ $0 < 0x80 }) else { return }
            isDirty = true
            options.set(CURLOPT_REQUEST_TARGET, url.origin.description + url.target)
        } else if !Capabilities.current.sendsEmptyQueries {
            isDirty = true
            options.set(CURLOPT_REQUEST_TARGET, url.target)
        }
    }

    private func setVersion(_ transfer: TransferRequest, _ options: borrowing CurlOptions) throws(NetworkError) {
        switch transfer.options.httpVersion {
        case .automatic where transfer.url.scheme == "http":
            if loop.hasPreconnected { options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_1_1) }
            // Nothing to wait for there: each request would stand behind the first one's response.
            guard waitsForMultiplex else { break }
            options.set(CURLOPT_PIPEWAIT, 0)
            waitsForMultiplex = false
        case .automatic, .http2:
            guard !waitsForMultiplex else { break }
            options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_2TLS)
            options.set(CURLOPT_PIPEWAIT, Self.waits)
            waitsForMultiplex = true
        case .http1:
            isDirty = true
            options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_1_1)
        case .http2PriorKnowledge:
            isDirty = true
            options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
            guard isAloneOnItsConnection(transfer) else { return options.set(CURLOPT_PIPEWAIT, Self.waits) }
            options.set(CURLOPT_FRESH_CONNECT, 1)
            options.set(CURLOPT_FORBID_REUSE, 1)
        }
    }

    private func setMethodAndBody(
        _ transfer: TransferRequest, _ file: UploadFile?, _ options: borrowing CurlOptions
    ) throws(NetworkError) {
        let method = transfer.method
        if let body = transfer.body {
            guard method != .head else { throw NetworkError(.invalidOption, phase: .preparing, message: "a HEAD request has no body") }
            isDirty = true
            let feed = try UploadFeed(body, file: file, piece: transfer.options.pace?.uploadPiece ?? .max)
            uploadFeed = feed
            try DeclaredLength.check(transfer.headers.fields, opened: feed.length)
            let id = transfer.id
            let thread = loop.thread
            feed.begin { thread.post(.unpause(id)) }
            options.set(CURLOPT_POST, 1)
            options.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
            options.set(CURLOPT_POSTFIELDSIZE_LARGE, large: feed.length ?? -1)
            options.set(CURLOPT_READDATA, context)
            options.set(CURLOPT_SEEKDATA, context)
            options.note(scurl_set_data_callback(handle, CURLOPT_READFUNCTION, CurlCallbacks.read))
            options.note(scurl_set_seek_callback(handle, CurlCallbacks.seek))
            if let bytes = feed.contiguousBytes {
                // Small bodies travel in one packet with their head.
                options.note(scurl_set_pointer(handle, CURLOPT_POSTFIELDS, bytes))
            } else {
                options.note(scurl_set_pointer(handle, CURLOPT_POSTFIELDS, nil))
                options.set(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
            }
            if transfer.wantsProgress {
                options.set(CURLOPT_NOPROGRESS, 0)
                options.set(CURLOPT_XFERINFODATA, context)
                options.note(scurl_set_progress_callback(handle, CurlCallbacks.progress))
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
}

extension HTTPRequest.Method {
    /// RFC 9110 section 9.2.2.
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace: true
        default: false
        }
    }

    /// RFC 9110 section 9.2.1.
    var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }

    /// Without a body it still says so: `Content-Length: 0` (RFC 9110 section 8.6).
    var meansBody: Bool {
        switch self {
        case .post, .put, .patch: true
        default: false
        }
    }
}
