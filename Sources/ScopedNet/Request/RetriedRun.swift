import FoundationEssentials
import HTTPTypes

/// A run that tries a failed attempt again. The ``RetryPlanner`` decides, and the program may be asked.
protocol RetriedRun: HookedRun {
    var sending: SendingState { get set }
    var caching: CacheState { get set }
    /// Asks for what is missing of a download, where some of it has come.
    func resumeAttempt()
    /// The fields of another attempt, with the cookies and credentials of this moment.
    func renewedFields() -> HeaderBlock
}

extension RetriedRun {
    func retry(_ input: inout StepInput) -> RunEvent? {
        guard let result = input.result else { return .declined(.retry) }
        guard let planner = RetryPlanner(template.options, result, { retryFacts }) else { return .declined(.retry) }
        let decision = planner.decision
        StepDoor.pass(.retryDecided, id)
        return ask(planner, decision, result) ? nil : carryOut(decision, planner, result, &input)
    }

    private var retryFacts: RetryPlanner.Facts {
        let now = session.timing.now()
        let isMoreThanOnce = template.options.retry.maxAttempts > 1
        // As the server has got it.
        let sent = exchanges.sent
        return RetryPlanner.Facts(
            attempt: exchange.attempt, startedAt: startedAt, now: now, deadline: exchange.deadline,
            silentReconnects: sending.silentReconnects,
            isIdempotent: sent.method.isIdempotent || sent.headers.fields.contains(.idempotencyKey),
            isBodyReplayable: canReplayBody, hasStream: hasStream, random01: session.random(),
            budget: isMoreThanOnce
                ? session.admission.retryBudget(exchanges.sentURL.originID, now: .nanoseconds(Int64(clamping: now))) : nil,
            date: .now)
    }

    /// - Returns: false where there is nobody to ask, or nothing to decide.
    private func ask(_ planner: RetryPlanner, _ decision: RetryPolicy.Decision, _ result: TransferResult) -> Bool {
        let proposal = {
            RequestHooks.RetryProposal(
                runID: self.id, self.exchange, result, planner.context, decision, bodyBytes: self.template.errorBodyBytes)
        }
        guard planner.isOpen(decision), let question = question({ $0.retry }, proposal) else { return false }
        ask(question) { (run: Self, answer: RequestHooks.RetryAnswer?) in
            var input = StepInput(result: result)
            let answered = (answer ?? .asDecided).decision(instead: decision)
            if let event = run.carryOut(answered, planner, result, &input) { run.receive(event, input) }
        }
        return true
    }

    private func carryOut(
        _ decision: RetryPolicy.Decision, _ planner: RetryPlanner, _ result: TransferResult, _ input: inout StepInput
    ) -> RunEvent? {
        switch decision {
        case .stop(let reason):
            if planner.isTold { tellOfRetry(reason.description, after: nil, batch: input.batch) }
            return .declined(.retry)
        case .retry(let wait, _) where planner.isTooLate(after: wait, now: session.timing.now()):
            tellOfRetry("the total timeout is too near", after: nil, batch: input.batch)
            return .declined(.retry)
        case .retry(let wait, let reason):
            session.counter.retry()
            if reason == .staleConnection {
                sending.silentReconnects += 1
            } else {
                session.admission.withdrawRetry(exchanges.sentURL.originID, now: .nanoseconds(Int64(clamping: session.timing.now())))
            }
            tellOfRetry(reason.description, after: wait, batch: input.batch)
            let timing = planner.timing(
                after: wait, now: session.timing.now(), hasPath: { session.link.hasPath(to: exchanges.sentURL) }, random01: session.random()
            )
            return retry(timing, result, &input)
        }
    }

    private func tellOfRetry(_ reason: String, after wait: Duration?, batch: DeliveryBatch) {
        feed?.push(observed: .retryDecided(reason: reason, after: wait), from: self, batch: batch)
    }

    /// With another body, where the last one could be read once. Where there is none the result stands.
    private func retry(_ timing: RetryTiming, _ result: TransferResult, _ input: inout StepInput) -> RunEvent? {
        guard let body = exchange.body, !body.isReplayable else { return again(timing, &input) }
        let replay = RequestHooks.BodyReplayRequest(runID: id, reason: .retry, url: exchange.url.string, method: exchange.method)
        replayBody(body, replay) { run, answer in
            guard case .new(let body)? = answer else {
                run.tellOfRetry(RedirectPolicy.Reason.bodyNotReplayable.description, after: nil, batch: .direct)
                return run.receive(.declined(.retry), StepInput(result: result))
            }
            do throws(NetworkError) { try run.replaceBody(body) } catch { return run.fail(error, result) }
            var input = StepInput()
            let event = run.again(timing, &input)
            run.receive(event, input)
        }
        return nil
    }

    /// Prepares another attempt, for a response that is not to be the run's own.
    func again(_ timing: RetryTiming, _ input: inout StepInput) -> RunEvent {
        downloading.file?.discard()
        // The next one is decided anew.
        downloading.file = nil
        resumeAttempt()
        caching.transaction?.outcome = nil
        exchanges.retry(renewedFields(), onFreshConnection: sending.silentReconnects > 0)
        note(attempt: exchanges.attempt)
        input.retryTiming = timing
        return .retried
    }
}
