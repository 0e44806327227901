import HTTPTypes

/// The exchanges of one run, one after the other: the only place that makes a ``TransferRequest``.
///
/// The first exchange is what the template says. Each other one says in what it differs from the last; all else stays. What a transport has been
/// given never changes: a change makes a new exchange, with an identity of its own where the old one may have been sent.
///
/// The header fields have two layers. The request's own are the caller's, with cookies, credentials and the range of a resumed download. While an
/// exchange is on its way through the cache, those the cache has made of them are sent in their place, and whatever comes next begins with the
/// request's own again.
///
/// Pure: no clock, no lock. It belongs to whoever has the run.
struct ExchangeBuilder {
    private let template: RequestTemplate
    private let runID: UInt64
    let wantsProgress: Bool
    private let wantsMilestones: Bool
    private let isLive: Bool
    /// Of the present exchange, made or not.
    private(set) var id = TransferID()
    /// Nil until it is wanted: a run that is cancelled while it waits for its first slot never has one.
    private var made: TransferRequest?
    /// The request's own fields, where the cache's are sent in their place.
    private var uncached: HeaderBlock?
    /// The present exchange as the interceptors want it sent.
    private(set) var intercepted: TransferRequest?

    /// `wantsProgress` and `wantsMilestones` are true where somebody listens to progress and to connection events, `isLive` for a stream.
    init(_ template: RequestTemplate, runID: UInt64, wantsProgress: Bool = false, wantsMilestones: Bool = false, isLive: Bool = false) {
        self.template = template
        self.runID = runID
        self.wantsProgress = wantsProgress
        self.wantsMilestones = wantsMilestones
        self.isLive = isLive
    }

    // MARK: The present exchange

    /// The first one is made here, when it is asked for.
    var current: TransferRequest {
        mutating get {
            if let made { return made }
            let first = make(Parts(template), id: id)
            made = first
            return first
        }
    }

    /// The same as the server gets it: as the interceptors of exchanges have made it.
    var sent: TransferRequest { mutating get { intercepted ?? current } }
    /// The same, at the URL that is asked: what a redirect leads away from.
    var located: TransferRequest {
        mutating get {
            let plain = current
            guard let sent = intercepted, sent.url !== plain.url else { return plain }
            var parts = Parts(plain)
            parts.url = sent.url
            return make(parts, id: id)
        }
    }
    /// The URL that is asked.
    var sentURL: RequestURL { intercepted?.url ?? url }
    /// Nothing has been made, and so nothing was sent and nothing has led on.
    var isFirst: Bool { made == nil }
    var url: RequestURL { made?.url ?? template.url }
    var method: HTTPRequest.Method { made?.method ?? template.method }
    var body: RequestBody? { made.map(\.body) ?? template.body }
    var options: TransferOptions { made?.options ?? template.transferOptions }
    var attempt: Int { made?.attempt ?? 1 }
    /// When the run as a whole must be over, in nanoseconds of CLOCK_MONOTONIC; nil where that has not begun.
    var deadline: UInt64? { made?.deadline }
    /// The fields that are sent.
    var headers: HeaderBlock { made?.headers ?? template.headers }
    /// Without what the cache has made of it.
    var ownHeaders: HeaderBlock { uncached ?? headers }
    /// True where the cache's fields are sent.
    var isConditional: Bool { uncached != nil }
    /// The slot that it needs.
    var admissionKey: AdmissionKey { AdmissionKey(origin: sentURL.originID, sharesConnection: options.sharesConnection(to: sentURL)) }

    // MARK: Changes of one that was not sent

    /// The request's own fields, in the place of those that the cache has made of the last ones.
    mutating func setHeaders(_ headers: HeaderBlock) {
        uncached = nil
        change { $0.headers = headers }
    }

    mutating func setOptions(_ options: TransferOptions) { change { $0.options = options } }

    /// For this exchange and all that follow.
    mutating func setDeadline(_ deadline: UInt64) {
        change { $0.deadline = deadline }
        guard let sent = intercepted else { return }
        var parts = Parts(sent)
        parts.deadline = deadline
        intercepted = make(parts, id: id)
    }

    /// The first exchange, as the interceptors of the call have changed the request: all of it is the request's own.
    mutating func replace(_ url: RequestURL, _ method: HTTPRequest.Method, _ headers: HeaderBlock, _ body: RequestBody?) {
        uncached = nil
        let repeatsSilently = template.repeatsSilently(method)
        change { $0.ask(url, method, headers, body, repeatsSilently: repeatsSilently) }
    }

    /// Sends this in the place of the present exchange, which stays as it is for all that comes after it.
    mutating func intercept(_ url: RequestURL, _ method: HTTPRequest.Method, _ headers: HeaderBlock, _ body: RequestBody?) {
        var parts = Parts(current)
        parts.ask(url, method, headers, body, repeatsSilently: template.repeatsSilently(method))
        intercepted = make(parts, id: id)
    }

    // MARK: The next one

    /// Another attempt, with the fields that are sent renewed. It takes no pooled connection where the last one has shown that those are dead.
    mutating func retry(_ headers: HeaderBlock, onFreshConnection: Bool) {
        next {
            $0.headers = headers
            $0.attempt += 1
            if onFreshConnection { $0.options = $0.options.withFreshConnection }
        }
    }

    mutating func redirect(to url: RequestURL, _ method: HTTPRequest.Method, _ headers: HeaderBlock, _ body: RequestBody?) {
        uncached = nil
        let repeatsSilently = template.repeatsSilently(method)
        next { $0.ask(url, method, headers, body, repeatsSilently: repeatsSilently) }
    }

    /// The same once more with other fields of the request's own: the answer to a challenge, or the question for a whole file.
    mutating func again(_ headers: HeaderBlock) {
        uncached = nil
        next { $0.headers = headers }
    }

    /// The same with the fields that the cache has made of it.
    mutating func condition(_ headers: HeaderBlock) {
        if uncached == nil { uncached = self.headers }
        next { $0.headers = headers }
    }

    /// The same with another body, as the last one could be read once. `own` are the request's own fields for that body, where others are sent.
    mutating func replaceBody(_ body: RequestBody, _ headers: HeaderBlock, own: HeaderBlock?) {
        if uncached != nil { uncached = own }
        next {
            $0.body = body
            $0.headers = headers
        }
    }

    /// The first exchange of a run that refreshes what the cache has for this one.
    func refresh(runID: UInt64) -> ExchangeBuilder {
        var builder = ExchangeBuilder(template, runID: runID, wantsMilestones: wantsMilestones)
        var parts = made.map { Parts($0) } ?? Parts(template)
        parts.headers = ownHeaders
        parts.attempt = 1
        parts.deadline = nil
        builder.made = builder.make(parts, id: builder.id)
        return builder
    }

    /// A connection for later requests to a URL: ends when that stands, and sends nothing.
    static func connect(to url: RequestURL, _ options: TransferOptions, deadline: UInt64?) -> TransferRequest {
        TransferRequest(url: url, headers: .empty, options: options, repeatsSilently: true, deadline: deadline, isConnectOnly: true)
    }

    /// The connection of a channel.
    static func channel(to url: RequestURL, _ options: TransferOptions, _ pipe: ChannelPipe) -> TransferRequest {
        TransferRequest(
            url: url, headers: .empty, options: options.forChannel, wantsMilestones: true, repeatsSilently: true, isConnectOnly: true,
            pipe: pipe)
    }

    // MARK: Making

    /// In what one exchange may differ from the last.
    private struct Parts {
        var url: RequestURL
        var method: HTTPRequest.Method
        var headers: HeaderBlock
        var body: RequestBody?
        var options: TransferOptions
        var attempt = 1
        var repeatsSilently: Bool
        var deadline: UInt64?

        /// Another request in the place of this one.
        mutating func ask(
            _ url: RequestURL, _ method: HTTPRequest.Method, _ headers: HeaderBlock, _ body: RequestBody?, repeatsSilently: Bool
        ) {
            self.url = url
            self.method = method
            self.headers = headers
            self.body = body
            self.repeatsSilently = repeatsSilently
        }

        init(_ template: RequestTemplate) {
            url = template.url
            method = template.method
            headers = template.headers
            body = template.body
            options = template.transferOptions
            repeatsSilently = template.repeatsSilently(template.method)
        }

        init(_ exchange: TransferRequest) {
            url = exchange.url
            method = exchange.method
            headers = exchange.headers
            body = exchange.body
            options = exchange.options
            attempt = exchange.attempt
            repeatsSilently = exchange.repeatsSilently
            deadline = exchange.deadline
        }
    }

    private mutating func change(_ change: (inout Parts) -> Void) {
        var parts = made.map { Parts($0) } ?? Parts(template)
        change(&parts)
        made = make(parts, id: id)
    }

    private mutating func next(_ change: (inout Parts) -> Void) {
        id = TransferID()
        intercepted = nil
        self.change(change)
    }

    private func make(_ parts: Parts, id: TransferID) -> TransferRequest {
        TransferRequest(
            id: id, url: parts.url, method: parts.method, headers: parts.headers, body: parts.body, options: parts.options,
            wantsProgress: wantsProgress, wantsMilestones: wantsMilestones, attempt: parts.attempt, repeatsSilently: parts.repeatsSilently,
            deadline: parts.deadline, runID: runID, isConnectOnly: false, isLive: isLive)
    }
}

extension RequestTemplate {
    /// True where a pooled connection that turns out to be dead is replaced without a word.
    fileprivate func repeatsSilently(_ method: HTTPRequest.Method) -> Bool { isIdempotent(method) && options.retry.silentReconnect }
}
