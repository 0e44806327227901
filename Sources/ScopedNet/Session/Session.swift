import HTTPTypes
import Persistence
import SystemSupport

/// Where requests come from: an immutable configuration, a transport and an agent.
///
/// Cheap to derive (``with(_:)``); derived sessions share thread, connections and agent unless TLS, proxy, network or limits differ. No shutdown is
/// needed: a session nobody uses goes away with its thread and sockets. ``shutdown(cancelling:)`` is there for daemons.
public final class Session: Sendable {
    /// The defaults, for programs that need nothing else.
    public static let shared = Census.unseen { Session() }

    /// The settings the session was made with. To change one, derive a session (``with(_:)``).
    public let configuration: Configuration
    /// The agent of the configuration, which retains the session's running requests.
    public var agent: RequestAgent { configuration.agent }

    package let link: TransportLink
    package let lane: DeliveryLane
    /// By the bytes of their texts.
    private let urls = Lock<[ExactString: RequestURL]>([:])
    private let blocks: Lock<DefaultBlocks>
    let counter: StatisticsCounter
    /// Plain GETs with the session's own options and fields, by URL text: what most requests are.
    private let templates = Lock(KnownTemplates())
    let defaultOptions: OptionsBox
    /// Nil without a limit. Shared by derived sessions with the same.
    let rateLimiter: HostRateLimiter?
    package let ticket = Census.ticket()
    package var transport: any Transport { link.transport }
    package var admission: AdmissionQueue { link.admission }
    package var timing: any Timing { configuration.timing }

    private struct KnownTemplates {
        var table: [ExactString: RequestTemplate] = [:]
        /// The one asked for last: programs ask for the same again and again, and comparing is cheaper than hashing.
        var last: (url: ExactString, template: RequestTemplate)?
    }

    private struct DefaultBlocks {
        var plain: HeaderBlock?
        var compressed: HeaderBlock?
    }

    /// Makes a session with a transport of its own, unless the configuration has one. Sessions derived from it (``with(_:)``) share it.
    public convenience init(configuration: Configuration = Configuration(), fileID: StaticString = #fileID, line: Int = #line) {
        self.init(
            configuration: configuration, link: TransportLink(configuration), limiter: nil, counter: StatisticsCounter(),
            origin: CodeOrigin(fileID, line))
        warn(after: nil)
    }

    private init(
        configuration: Configuration, link: TransportLink, limiter: HostRateLimiter?, counter: StatisticsCounter, origin: CodeOrigin
    ) {
        self.configuration = configuration
        rateLimiter = limiter ?? configuration.rateLimit.map { HostRateLimiter($0, timing: configuration.timing) }
        self.link = link
        blocks = Lock(DefaultBlocks())
        self.counter = counter
        lane = configuration.deliveryTarget.map { DeliveryLane(target: $0) } ?? DeliveryLane(queue: configuration.deliveryQueue)
        defaultOptions = OptionsBox(configuration.options)
        link.users.add(configuration.agent)
        LiveObjects.born(.session)
        if let ticket { ticket.watch(self, .session, origin: origin.description) }
    }

    deinit { LiveObjects.died(.session) }

    /// A session that differs in what `change` sets.
    public func with(
        fileID: StaticString = #fileID, line: Int = #line, _ change: (inout Configuration) -> Void
    ) -> Session {
        var derived = configuration
        change(&derived)
        let isSameTransport =
            derived.connection == configuration.connection && derived.customTransport === configuration.customTransport
            && derived.connectivity.isSame(as: configuration.connectivity)
        let session = Session(
            configuration: derived, link: isSameTransport ? link : TransportLink(derived),
            limiter: derived.rateLimit == configuration.rateLimit ? rateLimiter : nil, counter: counter, origin: CodeOrigin(fileID, line))
        session.warn(after: configuration.baseURL)
        return session
    }

    /// Hits, misses and bytes saved of the cache, in all sessions that share it; nil without one. Any thread.
    public var cacheStatistics: ResponseCache.Statistics? { configuration.cache?.statistics }

    /// What the transport can do; nil with a custom one.
    public var capabilities: Capabilities? { transport.capabilities }

    /// For daemons: stops taking requests, lets running ones finish or cancels them, and returns when thread and sockets are gone.
    ///
    /// Starts from then on end with `shutdown`, but for what a running request needs: a request that its `TokenSource`, challenge handler or hook
    /// sends. It concerns every session that shares this transport, whatever agent it has. What cache, cookies and credentials have changed is
    /// on disk then, unless the disk takes longer than two seconds.
    public func shutdown(cancelling: Bool = true) async {
        link.users.close()
        while case let runs = link.users.runs(on: link), !runs.isEmpty {
            if cancelling { for run in runs { _ = run.cancel(.shutdown) } }
            for run in runs { await run.agent.ended(run) }
        }
        await transport.shutdown()
        await configuration.flushStores()
    }

    func random() -> Double { configuration.random() }

    // MARK: Preparing

    /// URLs are parsed once; programs ask for the same few again and again.
    package func url(_ text: String) throws(NetworkError) -> RequestURL {
        let key = ExactString(text)
        if let known = urls.withLock({ $0[key] }) { return known }
        if configuration.baseURL == nil, URLText.scheme(of: text) == nil { throw .relativeURL(text) }
        let url = try RequestURL(text, relativeTo: configuration.baseURL.map { base throws(NetworkError) in try RequestURL(base) })
        urls.withLock { urls in
            if urls.count >= 1024 { urls.removeAll(keepingCapacity: true) }
            urls[key] = url
        }
        return url
    }

    /// The template of a request, made once for each URL when the request adds nothing to the session's defaults.
    func template(_ description: RequestDescription) throws(NetworkError) -> RequestTemplate {
        if let error = description.failure { throw error }
        if let upgraded = try upgradedTemplate(description) { return upgraded }
        let isPlain =
            description.options === defaultOptions && description.body == nil && description.method == .get && description.headers.isEmpty
            && description.destination == nil
        guard isPlain else { return try makeTemplate(description) }
        let url = ExactString(description.url)
        let known = templates.withLock { known -> RequestTemplate? in
            if let last = known.last, last.url == url { return last.template }
            guard let template = known.table[url] else { return nil }
            known.last = (url, template)
            return template
        }
        if let known { return known }
        let template = try makeTemplate(description)
        templates.withLock { known in
            if known.table.count >= 256 { known.table = [:] }
            known.table[url] = template
        }
        return template
    }

    private func makeTemplate(_ description: RequestDescription) throws(NetworkError) -> RequestTemplate {
        let options = description.options.value
        if let clock = options.timeouts.invalidClock {
            throw NetworkError(
                .invalidOption, phase: .preparing, message: "the \(clock) timeout must be positive; use nil to switch it off")
        }
        // Its success has no body and no end, whatever its fields say (RFC 9110 section 9.3.6).
        guard description.method != .connect else { throw .tunnel }
        if let destination = description.destination {
            guard !destination.isEmpty else {
                throw NetworkError(.invalidOption, phase: .preparing, message: "the destination of a download must be a file URL")
            }
            guard !destination.utf8.contains(0) else { throw .nulInPath(destination, .fileUnwritable) }
        }
        try options.checkLimits()
        try configuration.rateLimit?.check()
        let url = try url(description.url)
        try options.access.check(url)
        try link.checkTrust(url)
        try description.body?.check(for: description.method)
        let fields: HTTPFields
        let headers: HeaderBlock
        if description.headers.isEmpty, description.body == nil, !description.method.meansBody {
            headers = try defaultBlock(compressed: options.acceptsCompression)
            fields = headers.fields
        } else {
            fields = try typed(try self.fields(description.headers, compressed: options.acceptsCompression), description.body)
            headers = try headerBlock(fields, method: description.method, body: description.body)
        }
        return RequestTemplate(
            url: url, method: description.method, fields: fields, headers: headers, body: description.body, options: options,
            transferOptions: transferOptions(options, body: description.body, isFile: description.destination != nil),
            destination: description.destination, errorBodyBytes: configuration.errorBodyBytes)
    }

    /// The fields of a request without fields of its own.
    func defaultBlock(compressed: Bool) throws(NetworkError) -> HeaderBlock {
        if let known = blocks.withLock({ compressed ? $0.compressed : $0.plain }) { return known }
        let block = try headerBlock(try fields([:], compressed: compressed), method: .get, body: nil)
        blocks.withLock { blocks in
            if compressed { blocks.compressed = block } else { blocks.plain = block }
        }
        return block
    }

    /// The session's fields, overridden by the request's.
    func fields(_ own: HTTPFields, compressed: Bool) throws(NetworkError) -> HTTPFields {
        if let refusal = configuration.headers.refusal(besides: own) { throw refusal }
        var fields = configuration.headers.fields
        // In the caller's order: some servers, and every test that compares bytes, see it.
        var seen: Set<HTTPField.Name> = []
        for name in own.map(\.name) where seen.insert(name).inserted { fields[fields: name] = own[fields: name] }
        if fields[.acceptEncoding] == nil {
            // A part of coded bytes cannot be decoded, so a range is asked for as it is, as Fetch does.
            let isCoded = compressed && !fields.contains(.range)
            fields[.acceptEncoding] = isCoded ? ContentDecoder.acceptEncodingValue : "identity"
        }
        if fields[.userAgent] == nil { fields[.userAgent] = Configuration.defaultUserAgent }
        return fields
    }

    /// With the type of the body, where nobody has said it, and its coding.
    private func typed(_ fields: HTTPFields, _ body: RequestBody?) throws(NetworkError) -> HTTPFields {
        guard let body else { return fields }
        var fields = fields
        if let type = body.contentType, body.isMultipart || fields[.contentType] == nil { fields[.contentType] = type }
        if let coding = body.contentEncoding {
            guard fields[.contentEncoding] == nil else { throw .codedTwice }
            fields[.contentEncoding] = coding
        }
        return fields
    }

    func headerBlock(_ fields: HTTPFields, method: HTTPRequest.Method, body: RequestBody?) throws(NetworkError) -> HeaderBlock {
        try Self.checkFraming(fields, body)
        var suppressed: [String] = []
        // libcurl would claim a form, also for a POST without a body, and wait a second for a 100 that many servers never send.
        if body != nil || method.meansBody, fields[.contentType] == nil { suppressed.append("Content-Type") }
        if body != nil, fields[.expect] == nil { suppressed.append("Expect") }
        return try HeaderBlock(fields, suppressing: suppressed)
    }

    /// Where a body ends is the transport's to say.
    private static func checkFraming(_ fields: HTTPFields, _ body: RequestBody?) throws(NetworkError) {
        guard fields[.transferEncoding] == nil else {
            throw NetworkError(.invalidHeader, phase: .preparing, message: "'Transfer-Encoding' is set by the transport")
        }
        try DeclaredLength.check(fields, body)
    }
}

extension NetworkError {
    fileprivate static let codedTwice = NetworkError(
        .invalidHeader, phase: .preparing, message: "'Content-Encoding' is set by a body that is compressed; leave it out")
}

extension Session: CensusMember {
    package var censusState: CensusState {
        var state = CensusState()
        state.text = URLText.maskingUserinfo(configuration.baseURL ?? "")
        return state
    }
}

extension Session {
    /// What each attempt of a request shares.
    package func transferOptions(_ options: RequestOptions, body: RequestBody?, isFile: Bool) -> TransferOptions {
        var version = options.httpVersion
        // Below libcurl 8 large HTTP/2 uploads spin while the peer's window is shut (curl #10618).
        // A stream that is held back buffers up to its whole window there.
        let mayPause = body?.isLarge == true || options.limitsRates || options.hooks.box?.table.holdsBodies == true
        if version == .automatic, mayPause, !Capabilities.current.pausesHTTP2Safely { version = .http1 }
        return TransferOptions(
            timeouts: options.timeouts, httpVersion: version, maxHeaderBytes: options.limits.headerBytes,
            bufferBytes: isFile ? TransferOptions.fileBufferBytes : CurlEasy.usualBufferBytes, maxUploadRate: options.limits.uploadRate,
            maxDownloadRate: options.limits.downloadRate, maxDownloadBytes: options.limits.downloadBytes)
    }
}
