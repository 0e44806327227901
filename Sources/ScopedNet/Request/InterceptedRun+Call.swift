import SystemSupport

/// The interceptors around the call as a whole: before its first step, and at its response or its error.
extension InterceptedRun {
    private typealias Turn = InterceptorChain.Turn

    // MARK: The call

    /// True where interceptors of the call have to be asked. A refresh begins behind them: its request is what they have made.
    var mayIntercept: Bool {
        !isRefresh && (session.hasAdapters || template.options.interceptorBox?.interceptors.call.isEmpty == false)
    }

    private var callInterceptors: [any Interceptor] { session.adapters + (template.options.interceptorBox?.interceptors.call ?? []) }

    var beginning: RunEvent.Beginning { template.destination == nil ? .request : .download }

    func interceptCall(_ input: inout StepInput) -> RunEvent? {
        let chain = makeChain(callInterceptors, .call)
        let first = exchange
        let request = InterceptedRequest(
            url: first.url.string, method: first.method, headers: HeaderFields(first.headers.fields), body: first.body)
        takeTurn(chain) {
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
        takeTurn(chain, begin: begin) { run, error in
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
        takeTurn(chain, begin: begin) { run, error in
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
