import FoundationEssentials
import HTTPTypes

/// A run that says who it is: in its first exchange, and where a 401 or 407 asks for it. The ``AuthenticationSession`` decides.
protocol AuthenticatedRun: HookedRun {
    /// Nil for runs that have nothing to say about who they are.
    var authentication: AuthenticationSession? { get set }
    /// The cookies of the jar are among the fields of the first exchange.
    func takeCookies()
    func withCookies(_ headers: HeaderBlock, to url: RequestURL, method: HTTPRequest.Method, body: RequestBody?) -> HeaderBlock
    /// The cache has no part any more in the present exchange.
    func leaveCache()
}

extension AuthenticatedRun {
    // MARK: The first exchange

    func authorize(_ input: inout StepInput) -> RunEvent? {
        takeCookies()
        let (options, store, link) = (template.options.authentication, session.configuration.credentials, session.link)
        guard AuthenticationSession.isNeeded(options, store: store) else { return asksCache(&input) }
        let made = AuthenticationSession(options, store: store, home: template.url, timing: session.timing) { link.proxyOrigin(for: $0) }
        authentication = made
        do throws(NetworkError) {
            switch try made.open(AuthenticationSession.Exchange(exchanges)) {
            case .fields(let fields):
                try setOwnFields(fields)
                return asksCache(&input)
            case .token(let source):
                beginTotalTime()
                let timing = session.timing
                ask(HookQuestion { await source.result(insteadOf: nil, timing) }) { run, token in run.authorize(with: token) }
                return nil
            }
        } catch {
            // Observers are not called from within.
            input.batch = .direct
            return failed(numbered(error), &input)
        }
    }

    private func authorize(with token: Result<String, NetworkError>) {
        var input = StepInput()
        do throws(NetworkError) {
            try setOwnFields(try authentication?.open(AuthenticationSession.Exchange(exchanges), with: try token.get()))
            receive(asksCache(&input), input)
        } catch { fail(numbered(error)) }
    }

    /// Keys are made by the program's own function, and the first hash of a secret reads a file.
    private func asksCache(_ input: inout StepInput) -> RunEvent {
        guard let cache = session.configuration.cache else { return .changed(elsewhere: false) }
        var elsewhere = cache.needsFile(template.options.cache, url: template.url.string)
        // The thread may be that of an answer, which is not one to block.
        if case .tokens = template.options.authentication.kind, input.batch === DeliveryBatch.direct { elsewhere = true }
        // Observers are not called from within.
        if elsewhere || feed != nil { input.batch = .direct }
        return .changed(elsewhere: elsewhere)
    }

    // MARK: Challenges

    /// Network thread, with the head. Nil: it is no challenge, or one that is not answered.
    func challengeDestination(_ head: ResponseHead) -> BodyDestination? {
        guard let state = authentication, state.leadsOn(head, exchanges.located, mayAsk: !isMuted) else { return nil }
        // The handler may want it delivered, and then it is wanted whole.
        return .memoryPrefix(
            limit: template.options.validation.accepts(head.status) ? template.options.limits.bodyBytes : template.errorBodyBytes)
    }

    func answerChallenge(_ input: inout StepInput) -> RunEvent? {
        guard let state = authentication, let result = input.result, let head = result.head else { return .declined(.challenge) }
        let source = receiving.source
        let isChallenged = source != .cache && !state.isDeclined && (head.status == 401 || head.status == 407)
        let step = state.received(
            head, exchanges.located, from: source, mayAsk: !isMuted, mayAskServer: template.options.cache.read != .only)
        if isChallenged { StepDoor.pass(.challengeDecided, id) }
        return carryOut(step, isChallenged ? head : nil, head, result, &input)
    }

    /// Observers are told of `told`, where it is not nil.
    private func carryOut(
        _ step: AuthenticationSession.Step, _ told: ResponseHead?, _ head: ResponseHead, _ result: TransferResult,
        _ input: inout StepInput
    ) -> RunEvent? {
        let batch = input.batch
        switch step {
        case .pass:
            if let told { tell(told, answer: nil, batch: batch) }
            return .declined(.challenge)
        case .resend(let answer):
            tell(head, answer: answer.scheme, batch: batch)
            send(answer, result, batch)
        case .token(let source, let refused):
            tell(head, answer: .bearer, batch: batch)
            guard canReplayBody else { return failed(bodyRefusal, &input) }
            let timing = session.timing
            ask(HookQuestion { await source.result(insteadOf: refused, timing) }) { run, token in run.goOn(with: token, result) }
        case .ask(let handler, let context):
            let admit = admission
            ask(HookQuestion { await handler.ask(context, admit: admit) }) { run, answer in
                // Nil: it was not called. It cannot throw.
                run.goOn(with: (try? answer.get()) ?? .performDefault, context, head, result)
            }
        case .askServer:
            authentication?.begin()
            exchanges.again(exchanges.ownHeaders)
            return .changed(elsewhere: true)
        case .fail(let error):
            tell(head, answer: nil, batch: batch)
            return failed(numbered(error), &input)
        }
        return nil
    }

    private func tell(_ head: ResponseHead, answer: ChallengeStrategy.Scheme?, batch: DeliveryBatch) {
        guard let feed, !feed.observers.isEmpty, let space = authentication?.space(of: head, exchanges.url) else { return }
        feed.push(observed: .challenged(space, status: head.status, answer: answer?.rawValue), from: self, batch: batch)
    }

    private func goOn(with token: Result<String, NetworkError>, _ result: TransferResult) {
        switch token {
        case .success(let token):
            guard let answer = authentication?.answer(with: token, exchange) else { return }
            send(answer, result, .direct)
        case .failure(let error): fail(numbered(error), result)
        }
    }

    private func goOn(
        with answer: AuthenticationChallenge.Answer, _ context: AuthenticationChallenge.Context, _ head: ResponseHead,
        _ result: TransferResult
    ) {
        guard let state = authentication else { return }
        let step = state.answered(answer, context, exchange)
        StepDoor.pass(.challengeDecided, id)
        var input = StepInput(result: result)
        switch carryOut(step, head, head, result, &input) {
        case .declined?: deliverDeclined(head, result)
        case let event?: receive(event, input)
        case nil: break
        }
    }

    /// As it would have been without a question: judged anew, with nobody to ask.
    private func deliverDeclined(_ head: ResponseHead, _ result: TransferResult) {
        authentication?.decline()
        receiving.source = .network
        guard template.options.validation.accepts(head.status) else { return receive(.answered, StepInput(result: result)) }
        guard !hasStream, template.destination == nil else {
            let message = "the server answered \(head.status), and nobody had an answer to that"
            return fail(error(.unacceptableStatus, .receiving, message), result)
        }
        guard result.metrics.bodyBytesReceived <= Int64(result.body.count) else {
            let message = "the response body exceeds \(template.options.limits.bodyBytes) bytes"
            return fail(error(.bodyTooLarge, .receiving, message), result)
        }
        feed?.pushHead(head, from: self, batch: .direct)
        receive(.answered, StepInput(result: result))
    }

    // MARK: Once more

    private var bodyRefusal: NetworkError {
        error(.bodyNotReplayable, .receiving, "the request has to be sent again with credentials, and its body can be read once")
    }

    private func send(_ answer: AuthenticationSession.Answer, _ result: TransferResult, _ batch: DeliveryBatch) {
        guard let body = exchanges.body, !body.isReplayable else { return sendAgain(answer, result, batch) }
        guard canReplayBody else { return fail(bodyRefusal, result, batch: batch) }
        let replay = RequestHooks.BodyReplayRequest(runID: id, reason: .challenge, url: exchanges.url.string, method: exchanges.method)
        replayBody(body, replay) { run, another in
            guard case .new(let body)? = another else { return run.fail(run.bodyRefusal, result) }
            do throws(NetworkError) { try run.replaceBody(body) } catch { return run.fail(error, result) }
            run.sendAgain(answer, result, .direct)
        }
    }

    private func sendAgain(_ answer: AuthenticationSession.Answer, _ result: TransferResult, _ batch: DeliveryBatch) {
        enter(.working)
        // A hash of the body may be asked for, and the body be a file.
        block(batch) { [self] in
            leaveCache()
            guard mayGoOn else { return abandonWork() }
            do throws(NetworkError) { try prepare(answer) } catch { return fail(error, result) }
            enter(.idle)
            receive(.changed(elsewhere: false))
        }
    }

    private func prepare(_ answer: AuthenticationSession.Answer) throws(NetworkError) {
        guard let state = authentication else { return }
        var last = AuthenticationSession.Exchange(exchanges)
        last.fields = exchanges.ownHeaders.fields
        let fields = try state.fields(answering: answer, last) { body throws(NetworkError) in
            guard let body else { return [] }
            return try body.bytesToHash()
        }
        let block = try session.headerBlock(fields, method: last.method, body: last.body)
        let headers = withCookies(block, to: last.url, method: last.method, body: last.body)
        state.begin()
        exchanges.again(headers)
    }

    /// The fields of a retry: a nonce is used again with the next count.
    func authorizedForRetry(_ headers: HeaderBlock) -> HeaderBlock {
        guard let state = authentication else { return headers }
        var last = AuthenticationSession.Exchange(exchanges)
        last.fields = headers.fields
        guard let fields = state.fields(retrying: last) else { return headers }
        return (try? session.headerBlock(fields, method: last.method, body: last.body)) ?? headers
    }
}

extension AuthenticationSession.Exchange {
    init(_ exchanges: ExchangeBuilder) {
        self.init(url: exchanges.url, method: exchanges.method, fields: exchanges.headers.fields, body: exchanges.body)
    }
}

extension RequestBody {
    /// A server that asks for a hash of the body (`auth-int`) does not choose how much memory this takes.
    private static let mostHashedBytes = 16 << 20

    /// The bytes that a hash is made of; nil for a stream, and for more than the bound. Reads the file of an upload.
    fileprivate func bytesToHash() throws(NetworkError) -> [UInt8]? {
        switch content {
        case .data(let data): return data.count <= Self.mostHashedBytes ? Array(data) : nil
        case .file(let path):
            guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int, size <= Self.mostHashedBytes else {
                return nil
            }
            guard let data = FileManager.default.contents(atPath: path) else { throw .unreadable(path, "the file to upload") }
            return Array(data)
        case .stream: return nil
        }
    }
}
