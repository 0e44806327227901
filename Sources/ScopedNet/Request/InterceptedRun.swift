import FoundationEssentials
import HTTPTypes
import Persistence
import SystemSupport

/// The interceptors of one run: those around the call, and those around its present exchange.
final class InterceptionSession {
    /// The chain that waits for the outcome of the call; nil once it has ended.
    var call: InterceptorChain?
    /// The chain that waits for the response of the present exchange; nil where there is none.
    var exchange: InterceptorChain?
    /// The request with which `next` was called again, to be sent as the next exchange.
    var pending: InterceptedRequest?
    /// The reader of a stream has begun to get a body: there can be no other one.
    var hasReader = false
}

/// A run whose requests and responses pass interceptors: around the call as a whole, and around each exchange.
///
/// An ``InterceptorChain`` and the run take turns. While the chain has the turn the run waits as it waits for anything else; a cancel ends chain and
/// wait. While an exchange is under way the chain is among the run's extras, so that a cancel finds it there.
protocol InterceptedRun: RetriedRun, RedirectedRun {
    var interception: InterceptionSession? { get set }
    var assembler: ResponseAssembler { get }
    /// The cache has no part any more in the present exchange.
    func leaveCache()
    /// Prepares another exchange, for a response that is not to be the run's own.
    func again(_ timing: RetryTiming, _ input: inout StepInput) -> RunEvent
}

extension InterceptedRun {
    private typealias Turn = InterceptorChain.Turn
    private typealias Place = InterceptedRequest.Context.Place

    // MARK: The call

    /// True where interceptors of the call have to be asked. A refresh begins behind them: its request is what they have made.
    var mayIntercept: Bool { !isRefresh && (template.options.interceptorBox != nil || session.hasAdapters) && !callInterceptors.isEmpty }

    private var callInterceptors: [any Interceptor] { session.adapters + (template.options.interceptorBox?.interceptors.call ?? []) }

    var beginning: RunEvent.Beginning { template.destination == nil ? .request : .download }

    func interceptCall(_ input: inout StepInput) -> RunEvent? {
        let chain = makeChain(callInterceptors, .call)
        let first = exchange
        let request = InterceptedRequest(
            url: first.url.string, method: first.method, headers: HeaderFields(first.headers.fields), body: first.body)
        takeTurn(chain, .call) {
            chain.begin(request, then: $0)
        } expired: { run, error in
            run.interception?.call = nil
            run.fail(error)
        } next: { run, turn, input in
            run.beginCall(turn, &input)
        }
        return nil
    }

    private func beginCall(_ turn: Turn, _ input: inout StepInput) -> RunEvent? {
        switch turn {
        case .send(let request):
            do throws(NetworkError) {
                let changed = try checked(request, exchange.headers.fields)
                exchanges.replace(changed.url, changed.method, changed.headers, changed.body)
            } catch { return failed(numbered(error), &input) }
            return .began(beginning)
        case .answer(let response):
            interception?.call = nil
            return answer(response, isDecoded: true, &input)
        case .fail(let error):
            interception?.call = nil
            return failed(interceptorError(error), &input)
        }
    }

    /// The response that cache, redirects and retries have led to goes back to the interceptors of the call.
    func leaveCall(_ input: inout StepInput) -> RunEvent? {
        guard let chain = interception?.call, chain.isOpen, let result = input.result, let head = result.head else { return passCall() }
        // The program's question about the value has no answer yet: then the response is stored behind the interceptors, where they leave it as it is.
        if template.options.hooks.shouldCache == nil, downloading.file == nil { storeInCache(result) }
        let (batch, assembler) = (input.batch, assembler)
        let response = response(head, result.body, result, from: receiving.source)
        let shown = ShownResponse(response)
        takeCallTurn(chain, shown, result) { then in
            // Decoding is work.
            batch.work { chain.respond(shown.decode(by: assembler), then: then) }
        }
        return nil
    }

    /// Without the interceptors of the call: there are none, or they were silenced, as the run goes on for others.
    private func passCall() -> RunEvent {
        interception?.call = nil
        return .declined(.interception)
    }

    private func takeCallTurn(
        _ chain: InterceptorChain, _ shown: ShownResponse, _ result: TransferResult,
        begin: (_ then: @escaping @Sendable (Turn) -> Void) -> Void
    ) {
        takeTurn(chain, .call, begin: begin) { run, error in
            run.interception?.call = nil
            run.fail(error, result)
        } next: { run, turn, input in
            run.endCall(turn, chain, shown, result, &input)
        }
    }

    private func endCall(
        _ turn: Turn, _ chain: InterceptorChain, _ shown: ShownResponse, _ result: TransferResult, _ input: inout StepInput
    ) -> RunEvent? {
        input.result = result
        if isMuted { return passCall() }
        switch turn {
        case .send(let request):
            do throws(NetworkError) {
                return try beginAnew(request, result.head, &input)
            } catch {
                // It has the first response still, and may return that.
                let refusal = known(error)
                takeCallTurn(chain, shown, result) { chain.respond(.failure(refusal), then: $0) }
                return nil
            }
        case .answer(let response):
            interception?.call = nil
            if let error = put(response, inPlaceOf: shown.response, &input) { return failed(error, &input) }
            return .declined(.interception)
        case .fail(let error):
            interception?.call = nil
            return failed(interceptorError(error), &input)
        }
    }

    /// An error goes back to the interceptors of the call, wherever it came from. One that says that the total time is over leaves them none.
    ///
    /// - Returns: false where there are none; `otherwise` is called where they have no answer.
    func offerError(_ input: inout StepInput, otherwise: @escaping @Sendable (Self, inout StepInput) -> RunEvent?) -> Bool {
        guard let chain = interception?.call, chain.isOpen, let error = input.error,
            exchanges.deadline.map({ left(until: $0) > .zero }) ?? true
        else {
            return false
        }
        let (batch, result, known) = (input.batch, input.result, known(error))
        takeErrorTurn(chain, result, otherwise) { then in batch.work { chain.respond(.failure(known), then: then) } }
        return true
    }

    private typealias Otherwise = @Sendable (Self, inout StepInput) -> RunEvent?

    private func takeErrorTurn(
        _ chain: InterceptorChain, _ result: TransferResult?, _ otherwise: @escaping Otherwise,
        begin: (_ then: @escaping @Sendable (Turn) -> Void) -> Void
    ) {
        takeTurn(chain, .call, begin: begin) { run, error in
            run.interception?.call = nil
            var input = StepInput(result: result, error: error)
            if let event = otherwise(run, &input) { run.receive(event, input) }
        } next: { run, turn, input in
            run.answerError(turn, chain, result, &input, otherwise)
        }
    }

    private func answerError(
        _ turn: Turn, _ chain: InterceptorChain, _ result: TransferResult?, _ input: inout StepInput, _ otherwise: @escaping Otherwise
    ) -> RunEvent? {
        input.result = result
        switch turn {
        case .send(let request):
            do throws(NetworkError) {
                return try beginAnew(request, result?.head, &input)
            } catch {
                let refusal = known(error)
                takeErrorTurn(chain, result, otherwise) { chain.respond(.failure(refusal), then: $0) }
                return nil
            }
        case .answer(let response):
            interception?.call = nil
            input.result = result ?? TransferResult()
            guard let error = put(response, inPlaceOf: nil, &input) else { return .answered }
            input.error = error
        case .fail(let error):
            interception?.call = nil
            input.error = interceptorError(error)
        }
        return otherwise(self, &input)
    }

    /// The call begins anew, with another request.
    private func beginAnew(
        _ request: InterceptedRequest, _ head: ResponseHead?, _ input: inout StepInput
    ) throws(NetworkError) -> RunEvent {
        try checkRepeat(request, head)
        let changed = try checked(request, exchange.headers.fields)
        leaveCache()
        (caching.joined, caching.status) = (nil, nil)
        (redirecting, authentication) = (RedirectState(), nil)
        exchanges.replace(changed.url, changed.method, changed.headers, changed.body)
        _ = again(.after(.zero), &input)
        // One whose target is not its own yet has to claim it first.
        return .began(downloading.session == nil ? beginning : .request)
    }

    // MARK: An exchange

    func interceptExchange(_ input: inout StepInput) -> RunEvent? {
        guard let interceptors = template.options.interceptorBox?.interceptors.exchange, !interceptors.isEmpty else { return .done }
        if let request = interception?.pending {
            interception?.pending = nil
            if let chain = interception?.exchange { return beginExchange(.send(request), chain, &input) }
        }
        // Passed by: a part did not fit, and the whole file is asked for, or a wait was too long.
        interception?.exchange?.cancel(error(.badResponse, .receiving, "another exchange takes the place of this one"))
        let chain = makeChain(interceptors, .exchange)
        let plain = exchange
        let request = InterceptedRequest(
            url: plain.url.string, method: plain.method, headers: HeaderFields(plain.wireFields), body: plain.body)
        takeExchangeTurn(chain) { chain.begin(request, then: $0) }
        return nil
    }

    private func takeExchangeTurn(_ chain: InterceptorChain, begin: (_ then: @escaping @Sendable (Turn) -> Void) -> Void) {
        takeTurn(chain, .exchange, begin: begin) { run, turn, input in run.beginExchange(turn, chain, &input) }
    }

    private func beginExchange(_ turn: Turn, _ chain: InterceptorChain, _ input: inout StepInput) -> RunEvent? {
        let plain = exchange
        switch turn {
        case .send(let request):
            do throws(NetworkError) {
                let request = resumed(request, plain).withoutConnectionFields(of: plain)
                let changed = try checked(request, plain.wireFields)
                exchanges.intercept(changed.url, changed.method, changed.headers, changed.body)
                return .done
            } catch {
                let refusal = known(error)
                takeExchangeTurn(chain) { chain.respond(.failure(refusal), then: $0) }
                return nil
            }
        case .answer(let response):
            interception?.exchange = nil
            leaveCache()
            return answer(response, isDecoded: false, &input)
        case .fail(let error):
            interception?.exchange = nil
            // In the place of the transfer's: it may be tried again, and something stored may be better.
            receiving.source = .network
            input.result = TransferResult(error: interceptorError(error))
            return .answered
        }
    }

    /// A download that goes on asks for another rest each time, whatever an earlier request said.
    private func resumed(_ request: InterceptedRequest, _ plain: TransferRequest) -> InterceptedRequest {
        guard downloading.session?.keepsPart == true else { return request }
        var request = request
        for name in [HTTPField.Name.range, .ifRange, .acceptEncoding] { request.headers.fields[name] = plain.headers.fields[name] }
        return request
    }

    /// The response of the exchange goes back to its interceptors, or the error in its place.
    func leaveExchange(_ input: inout StepInput) -> RunEvent? {
        guard let chain = interception?.exchange, let result = input.result else { return .done }
        let (batch, response) = (input.batch, exchangeResult(result))
        takeEndTurn(chain, result) { then in
            // Elsewhere: a task that is resumed may call its executor.
            batch.work { chain.respond(response, then: then) }
        }
        return nil
    }

    private func takeEndTurn(
        _ chain: InterceptorChain, _ result: TransferResult, begin: (_ then: @escaping @Sendable (Turn) -> Void) -> Void
    ) {
        takeTurn(chain, .exchange, begin: begin) { run, turn, input in run.endExchange(turn, chain, result, &input) }
    }

    private func endExchange(_ turn: Turn, _ chain: InterceptorChain, _ result: TransferResult, _ input: inout StepInput) -> RunEvent? {
        input.result = result
        switch turn {
        case .send(let request):
            do throws(NetworkError) { try checkRepeat(request, result.head) } catch {
                let refusal = known(error)
                takeEndTurn(chain, result) { chain.respond(.failure(refusal), then: $0) }
                return nil
            }
            interception?.pending = request
            return again(.after(.zero), &input)
        case .answer(let response):
            interception?.exchange = nil
            let shown = result.head.map { self.response($0, result.body, result, from: .network) }
            if let error = put(response, inPlaceOf: result.error == nil ? shown : nil, &input) { return failed(error, &input) }
        case .fail(let error):
            interception?.exchange = nil
            input.result = TransferResult(error: interceptorError(error), head: result.head, body: result.body, metrics: result.metrics)
        }
        return .done
    }

    private func exchangeResult(_ result: TransferResult) -> Result<InterceptedResponse, any Error> {
        guard result.error == nil, let head = result.head else { return .failure(known(result)) }
        return .success(response(head, result.body, result, from: .network))
    }

    // MARK: Turns

    private func makeChain(_ interceptors: [any Interceptor], _ place: Place) -> InterceptorChain {
        let context = InterceptedRequest.Context(
            place: place, runID: id, attempt: exchanges.attempt, redirects: redirecting.visits.count, tag: template.options.tag,
            userInfo: template.options.userInfo, isRefresh: isRefresh)
        let mayGoOn: @Sendable () -> Bool = { [weak self] in self?.mayGoOn ?? false }
        let chain = InterceptorChain(interceptors, context, mayGoOn: mayGoOn) { [weak self, id] in
            guard let self, !self.mayGoOn || isMuted else {
                let message = "next was called by an interceptor that has ended"
                return NetworkError(.interceptorFailed, phase: .sending, message: message, runID: id)
            }
            return .cancelled(reason, runID: id, phase: reachedPhase)
        }
        keep(chain, place)
        beginTotalTime()
        return chain
    }

    /// A cancel finds the chain among the extras of the run from here on, also between its turns.
    private func keep(_ chain: InterceptorChain, _ place: Place) {
        let session = interception ?? InterceptionSession()
        interception = session
        switch place {
        case .call: session.call = chain
        case .exchange: session.exchange = chain
        }
        setWait(chain, place == .call ? .call : .exchange, of: 0)
    }

    /// The interceptors have the turn, and the run waits.
    private func takeTurn(
        _ chain: InterceptorChain, _ place: Place,
        begin: (_ then: @escaping @Sendable (Turn) -> Void) -> Void,
        expired: @escaping @Sendable (Self, NetworkError) -> Void = { $0.expire($1) },
        next: @escaping @Sendable (Self, Turn, inout StepInput) -> RunEvent?
    ) {
        let stage = RunStage.waiting(TransferID().number)
        let limit = [template.options.timeouts.interceptor, exchanges.deadline.map { left(until: $0) }].compactMap { $0 }.min()
        let isTotal = limit != template.options.timeouts.interceptor
        wait(stage) {
            if let limit {
                self.limit(stage, to: limit) { run in
                    let error =
                        isTotal ? run.totalTimeout(.sending, ", and an interceptor has not answered") : run.interceptorTimeout(limit)
                    chain.cancel(error)
                    expired(run, error)
                }
            }
            begin { [weak self] turn in
                self?.resume(stage) { run in
                    var input = StepInput()
                    if let event = next(run, turn, &input) { run.receive(event, input) }
                }
            }
        }
        // A cancel that came before the chain was known could not end it.
        if !mayGoOn { chain.cancel() }
    }

    private func interceptorTimeout(_ limit: Duration) -> NetworkError {
        error(.interceptorTimeout, .sending, "an interceptor has neither called next nor returned for \(limit)")
    }

    /// The outcome is there. A chain that is open still was passed by, as a wait was too long: `next` throws.
    func endInterception() {
        guard let session = interception else { return }
        let chains = [session.exchange, session.call].compactMap { $0 }
        (session.call, session.exchange, session.pending) = (nil, nil, nil)
        guard !chains.isEmpty else { return }
        var reason = error(.interceptorFailed, .delivering, "the run has ended without this exchange")
        if case .failure(let error) = outcome { reason = error }
        WorkPool.shared.submit([{ [reason] in for chain in chains { chain.cancel(reason) } }])
    }

    // MARK: Values

    private typealias Changed = (url: RequestURL, method: HTTPRequest.Method, headers: HeaderBlock, body: RequestBody?)

    /// As a request is checked before it begins, and a redirect before it is followed. `shown` are the fields that the interceptors got.
    private func checked(_ request: InterceptedRequest, _ shown: HTTPFields) throws(NetworkError) -> Changed {
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
    private func checkRepeat(_ request: InterceptedRequest, _ head: ResponseHead?) throws(NetworkError) {
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

    private func known(_ result: TransferResult) -> NetworkError {
        known(result.error ?? error(.badResponse, .receiving, "no response head"))
    }

    private func known(_ error: NetworkError) -> NetworkError { numbered(error).asked(exchanges.method, exchanges.sentURL) }

    private func response(_ head: ResponseHead, _ body: Data, _ result: TransferResult, from source: ResponseSource) -> InterceptedResponse
    {
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
    private func answer(_ response: InterceptedResponse, isDecoded: Bool, _ input: inout StepInput) -> RunEvent {
        receiving.source = .interceptor
        receiving.isTypeRefused = false
        let head = isDecoded ? response.head.withoutCoding : response.head
        input.result = TransferResult(head: head, body: response.data)
        // One that is not accepted is an error, and reaches nobody else.
        guard template.options.validation.accepts(head.status) else { return .answered }
        feed?.pushHead(head, from: self, batch: .direct)
        if let stream {
            interception?.hasReader = true
            if !response.data.isEmpty { _ = response.data.withUnsafeBytes { stream.offer($0) } }
            stream.finish(nil)
        }
        return .answered
    }

    /// Takes over what an interceptor has made of a response. `shown` is the one it got from the last call of `next`; nil where that threw.
    ///
    /// - Returns: the error of a change that cannot be made.
    private func put(_ response: InterceptedResponse, inPlaceOf shown: InterceptedResponse?, _ input: inout StepInput) -> NetworkError? {
        guard var result = input.result else { return nil }
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

    private var tooLarge: NetworkError {
        error(.bodyTooLarge, .receiving, "the response body exceeds \(template.options.limits.bodyBytes) bytes")
    }

    private func interceptorError(_ error: any Error) -> NetworkError {
        guard let own = error as? NetworkError, own.code != .cancelled else {
            let message = "an interceptor threw \(error)"
            return NetworkError(
                .interceptorFailed, phase: .sending, message: message, runID: id, attempt: exchanges.attempt, underlying: error)
        }
        return numbered(own)
    }
}

/// The response as the interceptors of the call get it.
private final class ShownResponse: Sendable {
    private let current: Lock<InterceptedResponse>
    var response: InterceptedResponse { current.withLock { $0 } }

    init(_ response: InterceptedResponse) { current = Lock(response) }

    /// Undoes the content coding of its body.
    func decode(by assembler: ResponseAssembler) -> Result<InterceptedResponse, any Error> {
        var response = response
        guard case .data(let data) = response.body, !data.isEmpty, response.head.appliedCoding != nil else { return .success(response) }
        do {
            response.body = .data(try assembler.decodedBody(data, response.head))
            response.head = response.head.withoutCoding
        } catch { return .failure(error) }
        current.withLock { [response] in $0 = response }
        return .success(response)
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

extension TransferRequest {
    /// All fields that the server gets but those of the connection and of a proxy: libcurl adds the first three by itself (RFC 9110 sections 7.2, 8.6
    /// and 12.5.1).
    fileprivate var wireFields: HTTPFields {
        var fields = headers.fields
        if fields[.hostField] == nil { fields[.hostField] = url.authority }
        if fields[.accept] == nil { fields[.accept] = "*/*" }
        if fields[.contentLength] == nil, let length = sentLength { fields[.contentLength] = "\(length)" }
        return fields
    }

    fileprivate var sentLength: Int64? { body == nil ? (method.meansBody ? 0 : nil) : body?.length }
}

extension InterceptedRequest {
    /// Without the fields that were shown and that libcurl adds by itself, unless they were changed. The length is always the transport's.
    fileprivate func withoutConnectionFields(of exchange: TransferRequest) -> InterceptedRequest {
        var request = self
        request.headers.fields[.contentLength] = nil
        let shown = exchange.wireFields
        for name in [HTTPField.Name.hostField, .accept] where exchange.headers.fields[name] == nil {
            if request.headers.fields[name] == shown[name] { request.headers.fields[name] = nil }
        }
        return request
    }
}
