import FoundationEssentials
import Glibc
import HTTPTypes

/// What becomes of a 401 or 407: an answer, and the request once more; or it is the result.
extension RunCore {
    /// Network thread, with the head. Nil: it is no challenge, or one that is not answered.
    func challengeDestination(_ head: ResponseHead) -> BodyDestination? {
        guard let plan = challengePlan(head), plan.mayLeadOn else { return nil }
        // The handler may want it delivered, and then it is wanted whole.
        return .memoryPrefix(
            limit: template.options.validation.accepts(head.status) ? template.options.limits.bodyBytes : template.errorBodyBytes)
    }

    private func challengePlan(_ head: ResponseHead) -> RunAuthentication.Plan? {
        guard let state = drive.authentication, head.status == 401 || head.status == 407 else { return nil }
        let now = exchange
        let proxy = head.status == 407 ? session.link.proxyOrigin(for: now.url) : nil
        return state.plan(head, now.url, now.method, proxy: proxy, mayAsk: !isMuted)
    }

    /// - Returns: true when the run goes on, or ends, because of it.
    func answersChallenge(_ head: ResponseHead, _ result: TransferResult, _ source: ResponseSource, batch: DeliveryBatch?) -> Bool {
        guard let state = drive.authentication, !state.isDeclined else { return false }
        guard head.status == 401 || head.status == 407 else {
            if source != .cache { state.accepted(head, exchange.url) }
            return false
        }
        if source == .cache { return passesStoredRefusal(state, batch: batch) }
        guard let plan = challengePlan(head) else { return false }
        return carryOut(plan, head, result, batch: batch)
    }

    private func carryOut(_ plan: RunAuthentication.Plan, _ head: ResponseHead, _ result: TransferResult, batch: DeliveryBatch?) -> Bool {
        StepDoor.pass(.challengeDecided, id)
        switch plan {
        case .deliver:
            tell(head, answer: nil, batch: batch)
            return false
        case .answer(let answer):
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
        }
        return true
    }

    private func tell(_ head: ResponseHead, answer: ChallengeStrategy.Scheme?, batch: DeliveryBatch?) {
        guard let feed, !feed.observers.isEmpty else { return }
        let isProxy = head.status == 407
        let realm = RunAuthentication.challenges(head).first?.realm ?? ""
        let origin = isProxy ? session.link.proxyOrigin(for: exchange.url) ?? exchange.url.origin : exchange.url.origin
        let space = ProtectionSpace(origin: origin, realm: realm, isProxy: isProxy)
        feed.push(observed: .challenged(space, status: head.status, answer: answer?.rawValue), from: self, batch: batch)
    }

    // MARK: Answers of the program

    private func goOn(with token: Result<String, NetworkError>, _ result: TransferResult) {
        switch token {
        case .success(let token):
            guard let answer = drive.authentication?.token(token, exchange.url, isVolunteered: false) else { return }
            send(answer, result, batch: nil)
        case .failure(let error): fail(numbered(error), result, batch: nil)
        }
    }

    private func goOn(
        with answer: AuthenticationChallenge.Answer, _ context: AuthenticationChallenge.Context, _ head: ResponseHead,
        _ result: TransferResult
    ) {
        guard let state = drive.authentication else { return }
        let plan: RunAuthentication.Plan
        switch answer.kind {
        case .use(let credential, let keeps): plan = state.plan(using: credential, keeps: keeps, context)
        case .performDefault:
            plan = state.planWithoutAsking(
                context.challenges, context.space.origin, exchange.url, isProxy: context.space.isProxy, refused: nil, mayAsk: false)
        case .deliver: plan = .deliver
        case .cancel(let error):
            tell(head, answer: nil, batch: nil)
            let failure = NetworkError(
                .authenticationFailed, phase: .receiving, message: "the handler of challenges gave up", underlying: error)
            return fail(numbered(failure), result, batch: nil)
        }
        guard !carryOut(plan, head, result, batch: nil) else { return }
        state.isDeclined = true
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

    private func send(_ answer: RunAuthentication.Answer, _ result: TransferResult, batch: DeliveryBatch?) {
        let last = exchange
        guard let body = last.body, !body.isReplayable else { return sendAgain(answer, result, batch: batch) }
        guard canReplayBody else { return refuseForBody(result, batch: batch) }
        let replay = RequestHooks.BodyReplayRequest(runID: id, reason: .challenge, url: last.url.string, method: last.method)
        replayBody(body, replay) { run, another in
            guard case .new(let body)? = another else { return run.refuseForBody(result, batch: nil) }
            do throws(NetworkError) { try run.replaceBody(body) } catch { return run.fail(error, result, batch: nil) }
            run.sendAgain(answer, result, batch: nil)
        }
    }

    private func sendAgain(_ answer: RunAuthentication.Answer, _ result: TransferResult, batch: DeliveryBatch?) {
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
        endFlight()
        // Its owner has gone, and those it went on for are on their own way now.
        if isMuted { _ = cancel(reason) }
    }

    /// Blocking pool: a hash of the body may be asked for.
    private func prepare(_ answer: RunAuthentication.Answer) throws(NetworkError) {
        let isProxy = answer.space.isProxy
        let last = exchange
        var fields = (drive.callersHeaders ?? last.headers).fields
        drive.callersHeaders = nil
        let needsBody = answer.digest?.challenge.protection == .authInt
        let body = needsBody ? try bytes(of: last.body) : []
        // The other side has seen this exchange, and its nonce.
        if let other = drive.authentication?.renewed(isProxy: !isProxy) {
            let body = other.digest?.challenge.protection == .authInt && !needsBody ? try bytes(of: last.body) : body
            try put(other, into: &fields, isProxy: !isProxy, url: last.url, method: last.method, body: body)
        }
        try put(answer, into: &fields, isProxy: isProxy, url: last.url, method: last.method, body: body)
        let block = try session.headerBlock(fields, method: last.method, body: last.body)
        repeatExchange(withCookies(block, to: last.url, method: last.method, body: last.body))
    }

    private func repeatExchange(_ headers: HeaderBlock) {
        let last = exchange
        drive.authentication?.begin()
        exchange = TransferRequest(
            url: last.url, method: last.method, headers: headers, body: last.body, options: last.options,
            wantsProgress: last.wantsProgress, wantsMilestones: last.wantsMilestones, attempt: last.attempt,
            repeatsSilently: last.repeatsSilently, deadline: last.deadline, runID: id)
    }

    /// A server that asks for a hash of the body (`auth-int`) does not choose how much memory this takes.
    private static let mostHashedBytes = 16 << 20

    /// What is hashed; nil for a stream, and for more than that.
    private func bytes(of body: RequestBody?) throws(NetworkError) -> [UInt8]? {
        switch body?.content {
        case nil: return []
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

    /// A refusal that was stored says nothing about the credentials of this run: the server is asked.
    private func passesStoredRefusal(_ state: RunAuthentication, batch: DeliveryBatch?) -> Bool {
        guard !state.readsNothingStored, template.options.cache.read != .only else { return false }
        state.readsNothingStored = true
        repeatExchange(drive.callersHeaders ?? exchange.headers)
        drive.callersHeaders = nil
        enterCacheBlocking(batch: batch)
        return true
    }
}
