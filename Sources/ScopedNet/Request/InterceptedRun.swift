import FoundationEssentials
import HTTPTypes
import Persistence

/// The interceptors of one run: those around the call, and those around its present exchange.
final class InterceptionSession {
    /// The chain that waits for the outcome of the call; nil once it has ended.
    var call: InterceptorChain?
    /// The chain that waits for the response of the present exchange; nil where there is none.
    var exchange: InterceptorChain?
    /// The request with which `next` was called again, to be sent as the next exchange.
    var pending: InterceptedRequest?
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
                let changed = try checked(request, from: exchange.url)
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
        guard let chain = interception?.call, let result = input.result else { return .declined(.interception) }
        // The program's question about the value has no answer yet: then the response is stored behind the interceptors, where they leave it as it is.
        if template.options.hooks.shouldCache == nil, downloading.file == nil { storeInCache(result) }
        let batch = input.batch
        takeTurn(chain, .call) { then in
            batch.work { [self] in chain.respond(callResult(result), then: then) }
        } expired: { run, error in
            run.interception?.call = nil
            run.fail(error, result)
        } next: { run, turn, input in
            run.endCall(turn, result, &input)
        }
        return nil
    }

    private func endCall(_ turn: Turn, _ result: TransferResult, _ input: inout StepInput) -> RunEvent? {
        input.result = result
        switch turn {
        case .send(let request):
            do throws(NetworkError) { try beginAnew(request, result.head, &input) } catch { return failed(numbered(error), &input) }
            return .began(.request)
        case .answer(let response):
            interception?.call = nil
            if let error = put(response, into: &input, isDecoded: true) { return failed(error, &input) }
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
        guard let chain = interception?.call, let error = input.error, exchanges.deadline.map({ left(until: $0) > .zero }) ?? true else {
            return false
        }
        let (batch, result, known) = (input.batch, input.result, known(error))
        takeTurn(chain, .call) { then in
            batch.work { chain.respond(.failure(known), then: then) }
        } expired: { run, error in
            run.interception?.call = nil
            var input = StepInput(result: result, error: error)
            if let event = otherwise(run, &input) { run.receive(event, input) }
        } next: { run, turn, input in
            run.answerError(turn, result, &input, otherwise)
        }
        return true
    }

    private func answerError(
        _ turn: Turn, _ result: TransferResult?, _ input: inout StepInput, _ otherwise: (Self, inout StepInput) -> RunEvent?
    ) -> RunEvent? {
        input.result = result
        switch turn {
        case .send(let request):
            do throws(NetworkError) {
                try beginAnew(request, result?.head, &input)
                return .began(.request)
            } catch { input.error = numbered(error) }
        case .answer(let response):
            interception?.call = nil
            input.result = result ?? TransferResult()
            guard let error = put(response, into: &input, isDecoded: true) else { return .answered }
            input.error = error
        case .fail(let error):
            interception?.call = nil
            input.error = interceptorError(error)
        }
        return otherwise(self, &input)
    }

    /// The call begins anew, with another request.
    private func beginAnew(_ request: InterceptedRequest, _ head: ResponseHead?, _ input: inout StepInput) throws(NetworkError) {
        try checkRepeat(head)
        let changed = try checked(request, from: exchange.url)
        leaveCache()
        (redirecting.visits, authentication) = ([], nil)
        exchanges.replace(changed.url, changed.method, changed.headers, changed.body)
        _ = again(.after(.zero), &input)
    }

    /// The response with its content coding undone, which is work.
    private func callResult(_ result: TransferResult) -> Result<InterceptedResponse, any Error> {
        guard let head = result.head else { return .failure(known(result)) }
        do throws(NetworkError) {
            let isCoded = !result.body.isEmpty && head.appliedCoding != nil
            let body = isCoded ? try assembler.decodedBody(result.body, head) : result.body
            return .success(response(isCoded ? head.withoutCoding : head, body, result))
        } catch { return .failure(known(error)) }
    }

    // MARK: An exchange

    func interceptExchange(_ input: inout StepInput) -> RunEvent? {
        guard let interceptors = template.options.interceptorBox?.interceptors.exchange, !interceptors.isEmpty else { return .done }
        if let request = interception?.pending {
            interception?.pending = nil
            return beginExchange(.send(request), &input)
        }
        // The whole of a file is asked for in the place of a part that does not fit: another exchange for the run, and none for who has asked for this.
        interception?.exchange?.cancel(error(.badResponse, .receiving, "the part does not fit, and the whole file is asked for"))
        let chain = makeChain(interceptors, .exchange)
        let plain = exchange
        let request = InterceptedRequest(
            url: plain.url.string, method: plain.method, headers: HeaderFields(plain.wireFields), body: plain.body)
        takeTurn(chain, .exchange) {
            chain.begin(request, then: $0)
        } next: { run, turn, input in
            run.beginExchange(turn, &input)
        }
        return nil
    }

    private func beginExchange(_ turn: Turn, _ input: inout StepInput) -> RunEvent? {
        let plain = exchange
        switch turn {
        case .send(let request):
            do throws(NetworkError) {
                let changed = try checked(request.withoutConnectionFields(of: plain), from: plain.url)
                exchanges.intercept(changed.url, changed.method, changed.headers, changed.body)
            } catch { return failed(numbered(error), &input) }
            return .done
        case .answer(let response):
            interception?.exchange = nil
            leaveCache()
            return answer(response, isDecoded: false, &input)
        case .fail(let error): return failed(interceptorError(error), &input)
        }
    }

    /// The response of the exchange goes back to its interceptors, or the error in its place.
    func leaveExchange(_ input: inout StepInput) -> RunEvent? {
        guard let chain = interception?.exchange, let result = input.result else { return .done }
        let (batch, response) = (input.batch, exchangeResult(result))
        takeTurn(chain, .exchange) { then in
            // Elsewhere: a task that is resumed may call its executor.
            batch.work { chain.respond(response, then: then) }
        } next: { run, turn, input in
            run.endExchange(turn, result, &input)
        }
        return nil
    }

    private func endExchange(_ turn: Turn, _ result: TransferResult, _ input: inout StepInput) -> RunEvent? {
        input.result = result
        switch turn {
        case .send(let request):
            do throws(NetworkError) { try checkRepeat(result.head) } catch { return failed(numbered(error), &input) }
            interception?.pending = request
            return again(.after(.zero), &input)
        case .answer(let response):
            interception?.exchange = nil
            if let error = put(response, into: &input, isDecoded: false) { return failed(error, &input) }
        case .fail(let error):
            interception?.exchange = nil
            input.result = TransferResult(error: interceptorError(error), head: result.head, body: result.body, metrics: result.metrics)
        }
        return .done
    }

    private func exchangeResult(_ result: TransferResult) -> Result<InterceptedResponse, any Error> {
        guard result.error == nil, let head = result.head else { return .failure(known(result)) }
        return .success(response(head, result.body, result))
    }

    // MARK: Turns

    private func makeChain(_ interceptors: [any Interceptor], _ place: Place) -> InterceptorChain {
        let context = InterceptedRequest.Context(
            place: place, runID: id, attempt: exchanges.attempt, redirects: redirecting.visits.count, tag: template.options.tag,
            userInfo: template.options.userInfo, isRefresh: isRefresh)
        let mayGoOn: @Sendable () -> Bool = { [weak self] in self?.mayGoOn ?? false }
        let chain = InterceptorChain(interceptors, context, mayGoOn: mayGoOn) { [weak self, id] in
            guard let self, !self.mayGoOn else {
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

    /// As a request is checked before it begins, and a redirect before it is followed.
    private func checked(_ request: InterceptedRequest, from url: RequestURL) throws(NetworkError) -> Changed {
        if let refusal = request.headers.refusal { throw refusal }
        var target = url
        if !request.url.hasSameBytes(as: url.string) {
            target = try upgradedTarget(try RequestURL(request.url, relativeTo: url))
            try template.options.access.check(target)
            try checkTrust(target)
        }
        guard request.method != .connect else { throw error(.invalidOption, .preparing, "a tunnel is no request") }
        let body = request.body?.resolved(with: session.configuration.json)
        try body?.check(for: request.method)
        // It was shown with the field that its body adds.
        var own = request.headers.fields
        if let coding = body?.contentEncoding, own[.contentEncoding] == coding { own[.contentEncoding] = nil }
        let fields = try HeaderLayers.typed(own, body)
        return (target, request.method, try session.headerBlock(fields, method: request.method, body: body), body)
    }

    /// - Throws: where another exchange may not be sent.
    private func checkRepeat(_ head: ResponseHead?) throws(NetworkError) {
        guard !hasReader(of: head) else {
            throw error(.interceptorFailed, .sending, "the stream's reader has the response already")
        }
        guard exchanges.body?.isReplayable ?? true else { throw error(.bodyNotReplayable, .sending, "the body can be read once") }
        guard template.options.retry.maxAttempts > 1 else { return }
        let (origin, now) = (exchanges.sentURL.originID, Duration.nanoseconds(Int64(clamping: session.timing.now())))
        guard session.admission.retryBudget(origin, now: now) >= 1 else {
            throw error(.interceptorFailed, .sending, "the retry budget of \(exchanges.sentURL.host) is spent")
        }
        session.admission.withdrawRetry(origin, now: now)
    }

    /// True where the body of the response has begun to reach the reader of a stream.
    private func hasReader(of head: ResponseHead?) -> Bool { hasStream && head != nil && receiving.bodyIsValue }

    private func known(_ result: TransferResult) -> NetworkError {
        known(result.error ?? error(.badResponse, .receiving, "no response head"))
    }

    private func known(_ error: NetworkError) -> NetworkError { numbered(error).asked(exchanges.method, exchanges.sentURL) }

    private func response(_ head: ResponseHead, _ body: Data, _ result: TransferResult) -> InterceptedResponse {
        let content: InterceptedResponse.Body =
            hasReader(of: head)
            ? .stream : downloading.file.map { .file(bytes: Int64(clamping: $0.count)) } ?? .data(body)
        return InterceptedResponse(head: head, body: content, source: receiving.source, metrics: result.metrics)
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
            if !response.data.isEmpty { _ = response.data.withUnsafeBytes { stream.offer($0) } }
            stream.finish(nil)
        }
        return .answered
    }

    /// Takes over what an interceptor has made of a response.
    ///
    /// - Returns: the error of a change that cannot be made.
    private func put(_ response: InterceptedResponse, into input: inout StepInput, isDecoded: Bool) -> NetworkError? {
        guard var result = input.result else { return nil }
        let old = result.head
        var isChanged = result.error != nil || old.map { !$0.isSame(as: response.head) } ?? true
        switch response.body {
        case .data(let data):
            if hasReader(of: old) {
                return error(.interceptorFailed, .receiving, "the body of a stream has reached its reader already")
            }
            if let file = downloading.file {
                file.discard()
                downloading.file = nil
                isChanged = true
            } else if data != result.body {
                isChanged = true
            }
            result.body = data
        case .file, .stream: break
        }
        guard isChanged else { return nil }
        leaveCache()
        receiving.isTypeRefused = false
        result.error = nil
        result.head = isDecoded ? response.head.withoutCoding : response.head
        input.result = result
        return nil
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
