import FoundationEssentials
import HTTPTypes
import Persistence

/// The requests and responses that interceptors are given, and those they return.
extension InterceptedRun {
    // MARK: Values

    typealias Changed = (url: RequestURL, method: HTTPRequest.Method, headers: HeaderBlock, body: RequestBody?)

    /// As a request is checked before it begins, and a redirect before it is followed. `shown` are the fields that the interceptors got.
    func checked(_ request: InterceptedRequest, _ shown: HTTPFields) throws(NetworkError) -> Changed {
        if let refusal = request.headers.refusal { throw refusal }
        let plain = exchange
        var (target, fields) = (plain.url, request.headers.fields)
        if !request.url.hasSameBytes(as: target.string) {
            target = try upgradedTarget(try RequestURL(request.url, relativeTo: target))
            try template.options.access.check(target)
            try checkTrust(target)
        }
        if target.origin != plain.url.origin {
            // As on a redirect: credentials go to another origin where the interceptor has set them, and those that were there before do not.
            for name in template.options.redirects.sensitiveNames.compactMap({ HTTPField.Name($0) })
            where fields[values: name] == shown[values: name] {
                fields[name] = nil
            }
        }
        guard request.method != .connect else { throw error(.invalidOption, .preparing, "a tunnel is no request") }
        let body = request.body?.resolved(with: session.configuration.json)
        try body?.check(for: request.method)
        fields = try HeaderLayers.typed(fields.without(plain.body, body, shown), body)
        return (target, request.method, try session.headerBlock(fields, method: request.method, body: body), body)
    }

    /// - Throws: where another exchange may not be sent.
    func checkRepeat(_ request: InterceptedRequest, _ head: ResponseHead?) throws(NetworkError) {
        guard !hasReader(of: head) else {
            throw error(.interceptorFailed, .sending, "the stream's reader has the response already")
        }
        if let body = request.body, !body.isReplayable, body.isSame(as: exchanges.sent.body) || body.isSame(as: exchanges.body) {
            throw error(.bodyNotReplayable, .sending, "the body can be read once")
        }
        guard template.options.retry.maxAttempts > 1 else { return }
        let (origin, now) = (exchanges.sentURL.originID, Duration.nanoseconds(Int64(clamping: session.timing.now())))
        guard session.admission.retryBudget(origin, now: now) >= 1 else {
            throw error(.interceptorFailed, .sending, "the retry budget of \(exchanges.sentURL.host) is spent")
        }
        session.admission.withdrawRetry(origin, now: now)
    }

    /// True where the body of the response has begun to reach the reader of a stream.
    private func hasReader(of head: ResponseHead?) -> Bool {
        hasStream && (interception?.hasReader == true || head != nil && receiving.bodyIsValue)
    }

    func known(_ result: TransferResult) -> NetworkError {
        known(result.error ?? error(.badResponse, .receiving, "no response head"))
    }

    func known(_ error: NetworkError) -> NetworkError { numbered(error).asked(exchanges.method, exchanges.sentURL) }

    func response(_ head: ResponseHead, _ body: Data, _ result: TransferResult, from source: ResponseSource) -> InterceptedResponse {
        let content: InterceptedResponse.Body
        if hasReader(of: head) {
            interception?.hasReader = true
            content = .stream
        } else {
            content = downloading.file.map { .file(bytes: Int64(clamping: $0.count)) } ?? .data(body)
        }
        return InterceptedResponse(head: head, body: content, source: source, metrics: result.metrics, exchange: exchangeID.number)
    }

    /// A response that no server sent is the run's. It is validated and decoded as any other is, and not stored.
    func answer(_ response: InterceptedResponse, isDecoded: Bool, _ input: inout StepInput) -> RunEvent {
        if let error = refusal(of: response) { return failed(error, &input) }
        // The file and the stream of another exchange, or of another run, are not here.
        guard case .data = response.body else { return failed(refusal("the body is that of an earlier exchange"), &input) }
        receiving.source = .interceptor
        receiving.isTypeRefused = false
        let head = isDecoded ? response.head.withoutCoding : response.head
        input.result = TransferResult(head: head, body: response.data)
        // `accept` tells of the head, as of each that no server has sent.
        fill(response.data, head)
        return .answered
    }

    /// The reader of a stream gets the body of a response that is accepted, and its end.
    private func fill(_ body: Data, _ head: ResponseHead) {
        guard let stream, template.options.validation.accepts(head.status) else { return }
        interception?.hasReader = true
        if !body.isEmpty { _ = body.withUnsafeBytes { stream.offer($0) } }
        stream.finish(nil)
    }

    /// Takes over what an interceptor has made of a response. `shown` is the one it got from the last call of `next`; nil where that threw.
    ///
    /// - Returns: the error of a change that cannot be made.
    func put(_ response: InterceptedResponse, inPlaceOf shown: InterceptedResponse?, _ input: inout StepInput) -> NetworkError? {
        guard var result = input.result else { return nil }
        if let error = refusal(of: response) { return error }
        let isHeadChanged = shown.map { !$0.head.isSame(as: response.head) } ?? true
        switch response.body {
        case .data(let data):
            if hasReader(of: result.head) { return refusal("the body of a stream has reached its reader already") }
            if case .data(let known)? = shown?.body, known == data {
                // Also of a body that the server has, for one that was not accepted, not sent to its end.
                guard isHeadChanged else { return nil }
                if result.metrics.bodyBytesReceived > Int64(result.body.count), result.error == nil { return tooLarge }
            } else {
                downloading.file?.discard()
                downloading.file = nil
                // A 304 that the cache has asked for, and the rest of a body that it has the beginning of, are the cache's to use.
                leaveCache()
            }
            let isTold = receiving.source != .network || result.head != nil && receiving.bodyIsValue
            if !isTold, template.options.validation.accepts(response.head.status) {
                feed?.pushHead(response.head, from: self, batch: .direct)
            }
            fill(data, response.head)
            result.body = data
        case .file, .stream:
            // The file of an earlier exchange is gone, and what follows is not its content.
            guard shown != nil, response.exchange == exchangeID.number else { return refusal("the body is that of an earlier exchange") }
            guard isHeadChanged else { return nil }
        }
        if let transaction = caching.transaction, result.error == nil {
            guard case .stand = transaction.endStep else { return nil }
            leaveCache()
        }
        receiving.isTypeRefused = false
        result.error = nil
        result.head = response.head
        input.result = result
        return nil
    }

    private func refusal(_ message: String) -> NetworkError { error(.interceptorFailed, .receiving, message) }

    private func refusal(of response: InterceptedResponse) -> NetworkError? {
        response.invalidStatus.map { refusal("an interceptor answered with \($0), which is no status (RFC 9110 section 15)") }
    }

    private var tooLarge: NetworkError {
        error(.bodyTooLarge, .receiving, "the response body exceeds \(template.options.limits.bodyBytes) bytes")
    }

    func interceptorError(_ error: any Error) -> NetworkError {
        guard let own = error as? NetworkError, own.code != .cancelled else {
            let message = "an interceptor threw \(error)"
            return NetworkError(
                .interceptorFailed, phase: .sending, message: message, runID: id, attempt: exchanges.attempt, underlying: error)
        }
        return numbered(own)
    }
}

extension HTTPFields {
    /// Without the fields that a body has added to those that were shown, where another one takes its place.
    fileprivate func without(_ old: RequestBody?, _ new: RequestBody?, _ shown: HTTPFields) -> HTTPFields {
        var fields = self
        // Each body adds this one itself.
        if let coding = old?.contentEncoding, fields[.contentEncoding] == coding { fields[.contentEncoding] = nil }
        guard let old, new.map({ !$0.isSame(as: old) }) ?? true else { return fields }
        if fields[.contentType] == shown[.contentType], new == nil || new?.contentType != nil { fields[.contentType] = nil }
        if fields[.contentLength] == shown[.contentLength] { fields[.contentLength] = nil }
        return fields
    }
}

extension RequestBody {
    /// True for the same bytes, file or sequence.
    fileprivate func isSame(as other: RequestBody?) -> Bool {
        switch (content, other?.content) {
        case (.data(let left), .data(let right)): left == right
        case (.file(let left), .file(let right)): left.hasSameBytes(as: right)
        case (.stream(let left), .stream(let right)): left === right
        default: false
        }
    }
}
