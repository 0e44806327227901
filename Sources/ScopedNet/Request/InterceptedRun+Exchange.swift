import HTTPTypes

/// The interceptors around each exchange: before it waits for its turn, and at its response or the error in its place.
extension InterceptedRun {
    private typealias Turn = InterceptorChain.Turn

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
        takeTurn(chain, begin: begin) { run, turn, input in run.beginExchange(turn, chain, &input) }
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
        takeTurn(chain, begin: begin) { run, turn, input in run.endExchange(turn, chain, result, &input) }
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
