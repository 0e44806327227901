import FoundationEssentials
import HTTPTypes

/// The credentials of each exchange, and the answers to a 401 or 407. The ``AuthenticationSession`` decides.
extension RunCore {
    /// Before the first exchange asks the cache. Caller's thread.
    ///
    /// - Returns: false where the run goes on from here.
    func openAuthentication(batch: DeliveryBatch?) -> Bool {
        let (options, store, link) = (template.options.authentication, session.configuration.credentials, session.link)
        guard AuthenticationSession.isNeeded(options, store: store) else { return false }
        let made = AuthenticationSession(options, store: store, home: template.url, timing: session.timing) { link.proxyOrigin(for: $0) }
        drive.authentication = made
        do throws(NetworkError) {
            switch try made.open(AuthenticationSession.Exchange(exchanges)) {
            case .fields(let fields): try enterFirst(with: fields, batch)
            case .token(let source):
                beginTotalTime()
                let timing = session.timing
                ask({ await source.result(insteadOf: nil, timing) }) { run, token in run.enterFirst(withToken: token) }
            }
        } catch { fail(numbered(error), batch: nil) }
        return true
    }

    private func enterFirst(withToken token: Result<String, NetworkError>) {
        do throws(NetworkError) {
            try enterFirst(with: try drive.authentication?.open(AuthenticationSession.Exchange(exchanges), with: try token.get()), nil)
        } catch { fail(numbered(error), batch: nil) }
    }

    private func enterFirst(with fields: HTTPFields?, _ batch: DeliveryBatch?) throws(NetworkError) {
        if let fields {
            exchanges.setHeaders(try session.headerBlock(fields, method: exchanges.method, body: exchanges.body))
        }
        // After a question no batch is left, and this thread is not one to block.
        if case .tokens = template.options.authentication.kind, batch == nil { return enterCacheBlocking(batch: nil) }
        enterFirst(batch)
    }

    func numbered(_ error: NetworkError) -> NetworkError {
        var error = error
        error.runID = id
        error.attempt = exchanges.attempt
        return error
    }

    // MARK: Challenges

    /// Network thread, with the head. Nil: it is no challenge, or one that is not answered.
    func challengeDestination(_ head: ResponseHead) -> BodyDestination? {
        guard let state = drive.authentication, state.leadsOn(head, exchange, mayAsk: !isMuted) else { return nil }
        // The handler may want it delivered, and then it is wanted whole.
        return .memoryPrefix(
            limit: template.options.validation.accepts(head.status) ? template.options.limits.bodyBytes : template.errorBodyBytes)
    }

    /// - Returns: true when the run goes on, or ends, because of it.
    func answersChallenge(_ result: TransferResult, batch: DeliveryBatch?) -> Bool {
        guard let state = drive.authentication, let head = result.head else { return false }
        let source = drive.source
        let isChallenged = source != .cache && !state.isDeclined && (head.status == 401 || head.status == 407)
        let step = state.received(
            head, exchange, from: source, mayAsk: !isMuted, mayAskServer: template.options.cache.read != .only)
        if isChallenged { StepDoor.pass(.challengeDecided, id) }
        return carryOut(step, isChallenged ? head : nil, head, result, batch: batch)
    }

    /// Observers are told of `told`, where it is not nil. False: the response is one like all others.
    private func carryOut(
        _ step: AuthenticationSession.Step, _ told: ResponseHead?, _ head: ResponseHead, _ result: TransferResult, batch: DeliveryBatch?
    ) -> Bool {
        switch step {
        case .pass:
            if let told { tell(told, answer: nil, batch: batch) }
            return false
        case .resend(let answer):
            tell(head, answer: answer.scheme, batch: batch)
            send(answer, result, batch: batch)
        case .token(let source, let refused):
            tell(head, answer: .bearer, batch: batch)
            guard canReplayBody else {
                refuseForBody(result, batch: batch)
                return true
            }
            let timing = session.timing
            ask({ await source.result(insteadOf: refused, timing) }) { run, token in run.goOn(with: token, result) }
        case .ask(let handler, let context):
            let admit = admission
            ask({ await handler.ask(context, admit: admit) }) { run, answer in
                // Nil: it was not called. It cannot throw.
                run.goOn(with: (try? answer.get()) ?? .performDefault, context, head, result)
            }
        case .askServer:
            drive.authentication?.begin()
            exchanges.again(exchanges.ownHeaders)
            enterCacheBlocking(batch: batch)
        case .fail(let error):
            tell(head, answer: nil, batch: batch)
            fail(numbered(error), result, batch: batch)
        }
        return true
    }

    private func tell(_ head: ResponseHead, answer: ChallengeStrategy.Scheme?, batch: DeliveryBatch?) {
        guard let feed, !feed.observers.isEmpty, let space = drive.authentication?.space(of: head, exchanges.url) else { return }
        feed.push(observed: .challenged(space, status: head.status, answer: answer?.rawValue), from: self, batch: batch)
    }

    private func goOn(with token: Result<String, NetworkError>, _ result: TransferResult) {
        switch token {
        case .success(let token):
            guard let answer = drive.authentication?.answer(with: token, exchange) else { return }
            send(answer, result, batch: nil)
        case .failure(let error): fail(numbered(error), result, batch: nil)
        }
    }

    private func goOn(
        with answer: AuthenticationChallenge.Answer, _ context: AuthenticationChallenge.Context, _ head: ResponseHead,
        _ result: TransferResult
    ) {
        guard let state = drive.authentication else { return }
        let step = state.answered(answer, context, exchange)
        StepDoor.pass(.challengeDecided, id)
        guard !carryOut(step, head, head, result, batch: nil) else { return }
        state.decline()
        deliverDeclined(head, result)
    }

    /// As it would have been without a question.
    private func deliverDeclined(_ head: ResponseHead, _ result: TransferResult) {
        guard template.options.validation.accepts(head.status) else { return conclude(result, batch: nil) }
        guard !hasStream, template.destination == nil else {
            let message = "the server answered \(head.status), and nobody had an answer to that"
            return fail(numbered(NetworkError(.unacceptableStatus, phase: .receiving, message: message)), result, batch: nil)
        }
        guard result.metrics.bodyBytesReceived <= Int64(result.body.count) else {
            let message = "the response body exceeds \(template.options.limits.bodyBytes) bytes"
            return fail(numbered(NetworkError(.bodyTooLarge, phase: .receiving, message: message)), result, batch: nil)
        }
        feed?.pushHead(head, from: self, batch: nil)
        conclude(result, batch: nil)
    }

    // MARK: Once more

    private func refuseForBody(_ result: TransferResult, batch: DeliveryBatch?) {
        let message = "the request has to be sent again with credentials, and its body can be read once"
        fail(numbered(NetworkError(.bodyNotReplayable, phase: .receiving, message: message)), result, batch: batch)
    }

    private func send(_ answer: AuthenticationSession.Answer, _ result: TransferResult, batch: DeliveryBatch?) {
        guard let body = exchanges.body, !body.isReplayable else { return sendAgain(answer, result, batch: batch) }
        guard canReplayBody else { return refuseForBody(result, batch: batch) }
        let replay = RequestHooks.BodyReplayRequest(
            runID: id, reason: .challenge, url: exchanges.url.string, method: exchanges.method)
        replayBody(body, replay) { run, another in
            guard case .new(let body)? = another else { return run.refuseForBody(result, batch: nil) }
            do throws(NetworkError) { try run.replaceBody(body) } catch { return run.fail(error, result, batch: nil) }
            run.sendAgain(answer, result, batch: nil)
        }
    }

    private func sendAgain(_ answer: AuthenticationSession.Answer, _ result: TransferResult, batch: DeliveryBatch?) {
        enter(.working)
        // A hash of the body may be asked for, and the body be a file.
        block(batch) { [self] in
            leaveCache()
            guard mayGoOn else { return abandonWork() }
            do throws(NetworkError) { try prepare(answer) } catch { return fail(error, result, batch: nil) }
            enter(.idle)
            enterCache()
        }
    }

    /// A refusal is nothing to keep, nor to share: what comes next is another question.
    private func leaveCache() {
        guard drive.cache != nil else { return }
        drive.cache = nil
        endLeading()
        // Its owner has gone, and those it went on for are on their own way now.
        if isMuted { _ = cancel(reason) }
    }

    private func prepare(_ answer: AuthenticationSession.Answer) throws(NetworkError) {
        guard let state = drive.authentication else { return }
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
        guard let state = drive.authentication else { return headers }
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
