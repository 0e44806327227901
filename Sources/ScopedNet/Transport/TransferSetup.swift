import CCurl
import HTTPTypes

/// The options of one transfer, set on a handle that has those of the profile.
struct TransferSetup: ~Copyable {
    private let easy: CurlEasy
    private let transfer: TransferRequest
    private let options: CurlOptions

    init(easy: CurlEasy, transfer: TransferRequest) {
        self.easy = easy
        self.transfer = transfer
        options = CurlOptions(easy: easy)
    }

    /// Sets them. `file` is the opened file, where the body is one.
    func apply(_ file: UploadFile?) throws(NetworkError) {
        let profile = easy.loop.profile
        try profile.checkGuard(for: transfer.url)
        if easy.options.isDirty {
            curl_easy_reset(easy.handle)
            easy.options.wasReset()
            try profile.apply(to: easy)
            easy.options.isDirty = false
        }
        if let securedHosts = profile.securedHosts { try securedHosts.check(transfer.url) }
        try profile.applyOverrides(to: easy)
        if profile.choosesProxyPerRequest { try profile.applyProxy(to: easy, for: transfer.url) }
        options.note(scurl_set_url(easy.handle, transfer.url.handle))
        options.note(scurl_set_list(easy.handle, CURLOPT_HTTPHEADER, transfer.headers.list))
        setConnectClock(transfer.options.connectMilliseconds)
        if transfer.isConnectOnly {
            easy.options.isDirty = true
            if transfer.pipe == nil { easy.loop.hasPreconnected = true }
            // A proxy hands on all bytes to the server (CURLOPT_HTTPPROXYTUNNEL(3)).
            if transfer.pipe != nil { options.set(CURLOPT_HTTPPROXYTUNNEL, 1) }
        }
        setVersion()
        setTarget()
        try setMethodAndBody(file)
        if easy.options.changesBuffer(to: transfer.options.bufferBytes) { options.set(CURLOPT_BUFFERSIZE, transfer.options.bufferBytes) }
        if transfer.options.usesFreshConnection { setForThisTransfer(CURLOPT_FRESH_CONNECT, 1) }
        try requireOptions()
    }

    func setConnectClock(_ milliseconds: Int) {
        if easy.options.changesConnectClock(to: milliseconds) { options.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds) }
    }

    /// Sets an option that only a reset takes back.
    private func setForThisTransfer(_ option: CURLoption, _ value: Int) {
        easy.options.isDirty = true
        options.set(option, value)
    }

    private func requireOptions() throws(NetworkError) {
        guard let code = easy.options.takeFailure() else { return }
        throw NetworkError(
            .resources, phase: .preparing, message: "libcurl could not take an option: \(String(cString: curl_easy_strerror(code)))",
            curlCode: Int32(bitPattern: code.rawValue))
    }

    /// Takes the expectation out of the fields that are sent. The caller keeps the returned block while libcurl uses it.
    func dropExpectation() throws(NetworkError) -> HeaderBlock {
        let headers = try transfer.headers.withoutExpectation()
        guard scurl_set_list(easy.handle, CURLOPT_HTTPHEADER, headers.list) == CURLE_OK else {
            throw NetworkError(.resources, phase: .preparing, message: "no memory for the header fields")
        }
        return headers
    }

    // MARK: Version and target

    /// A transfer waits for a connection that is being made, where others can use it too, rather than to make one of its own.
    private static let waits = Capabilities.current.sharesFreshHTTP2 ? 1 : 0

    private func setVersion() {
        let (version, scheme) = (transfer.options.httpVersion, transfer.url.scheme)
        if easy.loop.hasPreconnected, version == .automatic, scheme == "http" { options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_1_1) }
        switch easy.options.change(to: version, scheme: scheme) {
        case .none: break
        case .stopWaiting: options.set(CURLOPT_PIPEWAIT, 0)
        case .waitForMultiplex:
            options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_2TLS)
            options.set(CURLOPT_PIPEWAIT, Self.waits)
        case .http1: options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_1_1)
        case .http2PriorKnowledge:
            options.set(CURLOPT_HTTP_VERSION, SCURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
            guard transfer.isAloneOnItsConnection else { return options.set(CURLOPT_PIPEWAIT, Self.waits) }
            options.set(CURLOPT_FRESH_CONNECT, 1)
            options.set(CURLOPT_FORBID_REUSE, 1)
        }
    }

    private func setTarget() {
        let url = transfer.url
        guard url.hasEmptyQuery else { return }
        let target = Self.target(
            of: url, isForwarded: easy.loop.profile.isForwarded(url), version: transfer.options.httpVersion,
            keepsEmptyQueries: Capabilities.current.sendsEmptyQueries)
        guard let target else { return }
        easy.options.isDirty = true
        options.set(CURLOPT_REQUEST_TARGET, target)
    }

    /// Decides about the request target of a URL with an empty query; nil where libcurl's own is right. (pure)
    ///
    /// `/a?` is not `/a` (RFC 3986 section 6.2.3), and libcurl drops the mark. To a proxy goes the URL's text (RFC 9112 section 3.2.2); libcurl
    /// alone can convert a host that is not ASCII.
    static func target(
        of url: RequestURL, isForwarded: Bool, version: ConnectionSettings.HTTPVersionPolicy, keepsEmptyQueries: Bool
    ) -> String? {
        guard url.hasEmptyQuery else { return nil }
        guard isForwarded else { return keepsEmptyQueries ? nil : url.target }
        guard version != .http2PriorKnowledge, url.host.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return url.origin.description + url.target
    }

    // MARK: Method and body

    private func setMethodAndBody(_ file: UploadFile?) throws(NetworkError) {
        let method = transfer.method
        if let body = transfer.body { return try setBody(body, file) }
        switch method {
        case .get: break
        case .head: setForThisTransfer(CURLOPT_NOBODY, 1)
        case .post, .put, .patch:
            // A method that means a body and has none says so: Content-Length: 0 (RFC 9110 section 8.6).
            setForThisTransfer(CURLOPT_POST, 1)
            options.set(CURLOPT_POSTFIELDSIZE, 0)
            options.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
        default:
            easy.options.isDirty = true
            options.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
        }
    }

    private func setBody(_ body: RequestBody, _ file: UploadFile?) throws(NetworkError) {
        let method = transfer.method
        guard method != .head else { throw NetworkError(.invalidOption, phase: .preparing, message: "a HEAD request has no body") }
        easy.options.isDirty = true
        let feed = try UploadFeed(body, file: file, piece: transfer.options.pace?.uploadPiece ?? .max)
        easy.uploadFeed = feed
        try DeclaredLength.check(transfer.headers.fields, opened: feed.length)
        let id = transfer.id
        let thread = easy.loop.thread
        feed.begin { thread.post(.unpause(id)) }
        options.set(CURLOPT_POST, 1)
        options.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
        options.set(CURLOPT_POSTFIELDSIZE_LARGE, large: feed.length ?? -1)
        options.set(CURLOPT_READDATA, easy.context)
        options.set(CURLOPT_SEEKDATA, easy.context)
        options.note(scurl_set_data_callback(easy.handle, CURLOPT_READFUNCTION, CurlCallbacks.read))
        options.note(scurl_set_seek_callback(easy.handle, CurlCallbacks.seek))
        if let bytes = feed.contiguousBytes {
            // Small bodies travel in one packet with their head.
            options.note(scurl_set_pointer(easy.handle, CURLOPT_POSTFIELDS, bytes))
        } else {
            options.note(scurl_set_pointer(easy.handle, CURLOPT_POSTFIELDS, nil))
            options.set(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
        }
        if transfer.wantsProgress {
            options.set(CURLOPT_NOPROGRESS, 0)
            options.set(CURLOPT_XFERINFODATA, easy.context)
            options.note(scurl_set_progress_callback(easy.handle, CurlCallbacks.progress))
        }
    }
}

extension TransferRequest {
    /// Below libcurl 8 a plain connection taken from the pool is greeted a second time in the middle of its frames, and the request fails.
    var isAloneOnItsConnection: Bool { url.scheme == "http" && !Capabilities.current.sharesPlainHTTP2 }

    /// True if it may share its connection with others. The version is that of the response; nil before there is one.
    func mayShareConnection(version: String?) -> Bool {
        switch options.httpVersion {
        case .http1: false
        case .http2PriorKnowledge: !isAloneOnItsConnection
        case .automatic, .http2: url.scheme == "https" && version ?? "2" == "2"
        }
    }
}

extension HTTPRequest.Method {
    /// True for the methods of RFC 9110 section 9.2.2.
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace: true
        default: false
        }
    }

    /// True for the methods of RFC 9110 section 9.2.1.
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
