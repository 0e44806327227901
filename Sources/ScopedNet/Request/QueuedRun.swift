import Synchronization

/// The progress of a run on its way to the server.
struct SendingState {
    /// An exchange of the run has been sent.
    var hasBegun = false
    /// The slot of the present exchange was given back before its end.
    var hasLeftConnection = false
    var silentReconnects = 0
}

/// A run whose exchanges go to a connection: by a path, the rate of their host, and a slot.
protocol QueuedRun: WaitingRun, AdmissionWaiter, RateWaiter {
    var sending: SendingState { get set }
    /// A wait was too long. Something stored may be better than the error.
    func expire(_ error: NetworkError)
    /// The next step alone.
    func advance(_ event: RunEvent, _ input: inout StepInput) -> RunEvent?
}

extension QueuedRun {
    /// The queue in which it waits for its turn.
    var slots: AdmissionQueue { stream == nil ? session.link.admission : session.link.liveAdmission }
}

extension QueuedRun {
    // MARK: A path

    /// Before the first attempt of a request that asked for it.
    func awaitPath() -> RunEvent? {
        guard template.options.waitsForConnectivity, !sending.hasBegun else { return .done }
        let targets = session.link.targets(of: template.url)
        guard !targets.isEmpty, let source = session.link.connectivitySource(), source.isSatisfied(targets) != true else { return .done }
        let stage = RunStage.waiting(TransferID().number)
        wait(stage) {
            if let limit = template.options.timeouts.connectivity {
                self.limit(stage, to: limit) { run in
                    run.expire(run.error(.connectivityTimeout, .preparing, "no path to \(run.template.url.host) for \(limit)"))
                }
            }
            let path = source.wait(for: targets) { [weak self] in
                if let self, self.stage == stage { feed?.push(observed: .waitingForConnectivity, from: self) }
            } _: { [self] in
                endWait(stage)
            }
            setWait(path, .path, of: stage.number)
        }
        return nil
    }

    /// The time of the next attempt has come, or the path is there.
    private func endWait(_ stage: RunStage) {
        if takeWait(stage) { receive(.done) }
    }

    // MARK: The next attempt

    func backOff(_ input: inout StepInput) -> RunEvent? {
        let timing = input.retryTiming ?? .after(.zero)
        let time: Duration =
            switch timing {
            case .after(let time): time
            case .withPath(_, let longest): longest
            }
        guard time > .zero else { return .done }
        let stage = RunStage.waiting(TransferID().number)
        let url = exchanges.url
        wait(stage) {
            let timer = session.timing.schedule(after: time) { [self] in endWait(stage) }
            setWait(timer, .timer, of: stage.number)
            if case .withPath(let jitter, _) = timing { endWait(stage, withPathTo: url, and: jitter) }
        }
        return nil
    }

    /// A retry goes out with the path, should that come before the timer.
    private func endWait(_ stage: RunStage, withPathTo url: RequestURL, and jitter: Duration) {
        guard let source = session.link.connectivitySource() else { return }
        let path = source.wait(for: session.link.targets(of: url), notYet: nil) { [self] in
            guard self.stage == stage else { return }
            let timer = session.timing.schedule(after: jitter) { [self] in endWait(stage) }
            // The path may come before the wait for it is noted, below: a key of its own, so that neither takes the other's place.
            setWait(timer, .jitter, of: stage.number)
            if self.stage != stage { cancelWait(stage.number) }
        }
        setWait(path, .path, of: stage.number)
    }

    // MARK: The rate

    func awaitRate() -> RunEvent? {
        StepDoor.pass(.beforeQueue, id)
        guard mayGoOn else {
            abandonWork()
            return nil
        }
        guard let limiter = session.rateLimiter else { return .done }
        let (number, origin) = (exchangeID.number, exchanges.sentURL.origin)
        if let permit = limiter.permit(origin) {
            keep(permit, number)
            return .done
        }
        beginTotalTime()
        feed?.push(observed: .rateLimited, from: self)
        let stage = RunStage.waiting(TransferID().number)
        let left = timeLeft
        wait(stage) {
            if let left {
                limit(stage, to: left) { $0.expire($0.totalTimeout(.queued, ", waiting for the rate limit of its host")) }
            }
            setWait(limiter.wait(self, stage.number, for: origin), .path, of: stage.number)
        }
        return nil
    }

    private func keep(_ permit: HostRateLimiter.Permit, _ number: UInt64) {
        setWait(permit, .permit, of: number)
        // A cancel that came before it was known could not give it back.
        if !mayGoOn { cancelWait(.permit, of: number) }
    }

    /// Has a slot, and is about to be sent.
    ///
    /// - Returns: false where the host has asked to wait meanwhile: the run does, and does not use its slot.
    private func usesRatePermit() -> Bool {
        guard let permit = takeRatePermit() else { return true }
        return permit.send()
    }

    private func takeRatePermit() -> HostRateLimiter.Permit? {
        guard session.rateLimiter != nil else { return nil }
        let number = exchangeID.number
        return ifExtras { $0.waits.take(.permit, of: number) }.flatMap { $0 } as? HostRateLimiter.Permit
    }

    // MARK: A slot

    func awaitSlot(_ input: inout StepInput) -> RunEvent? {
        let number = exchangeID.number
        // Most first exchanges have none, and need not be made yet.
        let deadline = exchanges.deadline
        enter(.queued(number))
        switch slots.submit(self) {
        case .start: slots.grant(self)
        case .queued(let position):
            StepDoor.pass(.queued, id)
            feed?.push(observed: .queued(position: position), from: self)
            limitWaiting(number, deadline)
            // A cancel that came before the word was stored could not take the run out again.
            if !mayGoOn, slots.remove(self, exchange: TransferID(number: number)) { abandonWork() }
        case .refusedFull:
            let limit = session.configuration.connection.limits.queued
            return failed(error(.queueFull, .queued, "\(limit) requests are waiting already"), &input)
        }
        return nil
    }

    /// From here on another thread may have the run and be far ahead: all this touches is its own exchange's place and timer.
    private func limitWaiting(_ number: UInt64, _ deadline: UInt64?) {
        let timeouts = template.options.timeouts
        // Redirects and retries wait within the total time.
        guard let limit = [timeouts.queue, deadline.map { left(until: $0) }].compactMap({ $0 }).min() else { return }
        let timer = session.timing.schedule(after: limit) { [self] in
            guard slots.remove(self, exchange: TransferID(number: number)) else { return }
            expire(limit == timeouts.queue ? error(.queueTimeout, .queued, "no free connection for \(limit)") : totalTimeout(.queued))
        }
        setWait(timer, .queue, of: number)
        StepDoor.pass(.queueTimed, id)
        // It may have left the queue, or been cancelled, before the timer was known.
        guard stage == .queued(number), mayGoOn else { return cancelWait(.queue, of: number) }
    }

    /// Suspended before it got to the network.
    func park() -> RunEvent? {
        // Taken out before the stage is stored: from then on another thread may have the run.
        let permit = takeRatePermit()
        enter(.parked)
        // A resumption from here on takes the run out of there, and it waits for its turn anew. After one that came before, it has slot and turn still.
        guard !isSuspended, leave(.parked, for: .idle) else {
            permit?.cancel()
            return nil
        }
        if let permit { keep(permit, exchangeID.number) }
        return .resumed(hasSlot: true)
    }
}

extension QueuedRun {
    /// It is the run's turn. Any thread.
    func takeTurn(_ number: UInt64, _ permit: HostRateLimiter.Permit) {
        guard takeWait(.waiting(number)) else { return permit.cancel() }
        keep(permit, exchangeID.number)
        receive(.done)
    }

    /// Has a slot. Any thread, also the network's.
    ///
    /// - Returns: false when the slot is not used; the caller passes it on.
    func takeSlot() -> Bool {
        StepDoor.pass(.beforeTransfer, id)
        guard mayGoOn else {
            abandonWork()
            return false
        }
        // First of all: a run that is parked now waits in the queue again later, by a new time.
        cancelWait(.queue, of: exchangeID.number)
        var (event, delayed) = (RunEvent.done, RunEvent.delayed)
        if isSuspended {
            var input = StepInput()
            guard let resumed = advance(.suspended, &input) else { return false }
            (event, delayed) = (resumed, .resumed(hasSlot: false))
        }
        guard usesRatePermit() else {
            receive(delayed)
            return false
        }
        receive(event)
        return true
    }

    /// Notes the wait that the server has asked for.
    func noteRetryAfter(_ head: ResponseHead) {
        guard let limiter = session.rateLimiter, head.status == 429 || head.status == 503 else { return }
        guard let time = RetryPlanner.retryAfter(head, now: .now) else { return }
        limiter.hold(exchanges.sentURL.origin, for: time)
    }
}
