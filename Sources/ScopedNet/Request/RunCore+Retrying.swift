import FoundationEssentials
import HTTPTypes

/// Trying a failed attempt again: the policy decides, and the program may be asked.
extension RunCore {
    // MARK: The policy's decision

    func retry(_ result: TransferResult, batch: DeliveryBatch?) -> Bool {
        guard let outcome = RetryPolicy.Context.Outcome(result, accepts: template.options.validation.statuses) else { return false }
        let policy = template.options.retry
        let now = Duration.nanoseconds(Int64(clamping: session.timing.now()))
        var context = RetryPolicy.Context(attempt: exchange.attempt, outcome: outcome, isIdempotent: template.isIdempotent(exchange.method))
        context.silentReconnects = drive.silentReconnects
        context.isBodyReplayable = canReplayBody
        context.mayHaveReachedServer = result.error?.mayHaveReachedServer ?? true
        context.isReusedConnection = result.metrics.isConnectionReused
        context.bytesReceived = Int64(result.metrics.headerBytesReceived) + result.metrics.bodyBytesReceived
        // A stream's reader has the head already.
        context.hasDelivered = hasStream && result.head.map { template.options.validation.accepts($0.status) } ?? false
        context.elapsed = .nanoseconds(Int64(clamping: session.timing.now() &- startedAt))
        context.random01 = session.random()
        if policy.maxAttempts > 1 {
            context.retryAfter = result.head.flatMap { head in head["retry-after"].flatMap { Self.retryAfter($0, head) } }
            context.budget = session.admission.retryBudget(exchange.url.originID, now: now)
        }
        let decision = policy.decide(context)
        StepDoor.pass(.retryDecided, id)
        return askAboutRetry(decision, context, result) || carryOut(decision, context, result, batch: batch)
    }

    /// - Returns: false where no attempt follows.
    func carryOut(
        _ decision: RetryPolicy.Decision, _ context: RetryPolicy.Context, _ result: TransferResult, batch: DeliveryBatch?
    ) -> Bool {
        let policy = template.options.retry
        let now = Duration.nanoseconds(Int64(clamping: session.timing.now()))
        switch decision {
        case .stop(let reason):
            if policy.maxAttempts > 1 {
                feed?.push(observed: .retryDecided(reason: reason.description, after: nil), from: self, batch: batch)
            }
            return false
        case .retry(let wait, let reason):
            if let deadline = exchange.deadline, session.timing.now() &+ wait.nanoseconds >= deadline {
                feed?.push(observed: .retryDecided(reason: "the total timeout is too near", after: nil), from: self, batch: batch)
                return false
            }
            session.counter.retry()
            if reason == .staleConnection {
                drive.silentReconnects += 1
            } else {
                session.admission.withdrawRetry(exchange.url.originID, now: now)
            }
            feed?.push(observed: .retryDecided(reason: reason.description, after: wait), from: self, batch: batch)
            let timing = retryTiming(wait, context)
            if !retryWithNewBody(timing, result) { again(timing) }
            return true
        }
    }

    private func retryTiming(_ wait: Duration, _ context: RetryPolicy.Context) -> RetryTiming {
        guard case .failure = context.outcome else { return .after(wait) }
        var longest = template.options.retry.backoffCap
        if let deadline = template.options.retry.deadline { longest = min(longest, deadline - context.elapsed) }
        if let deadline = exchange.deadline {
            let now = session.timing.now()
            longest = min(longest, .nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0)))
        }
        return .decide(wait: wait, hasPath: session.link.hasPath(to: exchange.url), longest: longest, random01: session.random())
    }

    static func retryAfter(_ value: String, _ head: ResponseHead) -> Duration? {
        let server = head["date"].flatMap { HTTPDate($0, now: .now) }
        return RetryAfter.delay(value, now: HTTPDate.now, serverDate: server)
    }

    func again(_ timing: RetryTiming) {
        drive.file?.discard()
        // The next one is decided anew.
        drive.file = nil
        resumeAttempt()
        drive.cache?.outcome = nil
        exchanges.retry(authorizedForRetry(cookiesOfRetry()), onFreshConnection: drive.silentReconnects > 0)
        countAttempt()
        let wait: Duration
        switch timing {
        case .after(let time): wait = time
        case .withPath(_, let longest): wait = longest
        }
        guard wait > .zero else { return submitAttempt() }
        let number = exchange.id.number
        enter(.waiting(number))
        // The run belongs to the one that takes the wait away: the timer, the path, or a cancel seen here.
        let timer = session.timing.schedule(after: wait) { [self] in endWait(number) }
        setWait(timer, .timer, of: number)
        if case .withPath(let jitter, _) = timing { endWait(number, afterPathAnd: jitter) }
        StepDoor.pass(.retryWaiting, id)
        abandonWait(.waiting(number))
    }

    // MARK: The program's word

    /// - Returns: false where there is nobody to ask, or nothing to decide: a dead connection is replaced at once, and what has been delivered in
    ///   part, or cannot be sent again, is not repeated whoever wants it.
    func askAboutRetry(_ decision: RetryPolicy.Decision, _ context: RetryPolicy.Context, _ result: TransferResult) -> Bool {
        switch decision {
        case .retry(_, .staleConnection), .stop(.alreadyDelivered), .stop(.bodyNotReplayable): return false
        default: break
        }
        guard !context.hasDelivered, context.isBodyReplayable else { return false }
        let proposal = {
            RequestHooks.RetryProposal(
                runID: self.id, self.exchange, result, context, decision, bodyBytes: self.template.errorBodyBytes)
        }
        guard let question = question({ $0.retry }, proposal) else { return false }
        ask(question) { (run: RunCore, answer: RequestHooks.RetryAnswer?) in
            let decision = (answer ?? .asDecided).decision(instead: decision)
            if !run.carryOut(decision, context, result, batch: nil) { run.judge(result, after: .retry, batch: nil) }
        }
        return true
    }
}

extension RequestHooks.RetryAnswer {
    fileprivate func decision(instead decided: RetryPolicy.Decision) -> RetryPolicy.Decision {
        switch self {
        case .asDecided: decided
        case .retry(let wait): .retry(after: max(.zero, wait), .program)
        case .stop: .stop(.program)
        }
    }
}

extension RetryPolicy.Context.Outcome {
    /// Nil when there is nothing a retry could mend.
    fileprivate init?(_ result: TransferResult, accepts validation: StatusValidation) {
        if let error = result.error {
            guard let trigger = error.retryTrigger else { return nil }
            self = .failure(trigger)
        } else {
            guard let status = result.head?.status, !validation.accepts(status) else { return nil }
            self = .status(status)
        }
    }
}

extension NetworkError {
    package var retryTrigger: RetryPolicy.Trigger? {
        switch code {
        case .nameNotResolved, .proxyNotResolved: .nameResolution
        case .connectionRefused, .connectionFailed, .proxyFailed: .connect
        case .tlsFailed: .tlsHandshake
        case .connectionLost, .truncatedBody: .connectionLost
        case .connectTimeout, .firstByteTimeout, .idleTimeout: .timeout
        default: nil
        }
    }
}
