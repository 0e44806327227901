import Synchronization

/// The rate limit of the session, where the run has to wait for it: before it asks for a slot.
extension RunCore {
    private static func rateWait(_ number: UInt64) -> UInt64 { number | 1 << 58 }
    /// Beside the timers of an exchange: gone with them when the run ends.
    private static func ratePermit(_ number: UInt64) -> UInt64 { number | 1 << 57 }

    /// - Returns: false when the run may go on.
    func waitsForRate() -> Bool {
        guard let limiter = session.rateLimiter else { return false }
        let (number, origin) = (exchangeID.number, intent.url.origin)
        if let permit = limiter.permit(origin) {
            keep(permit, number)
            return false
        }
        wait(limiter, number, origin)
        return true
    }

    private func wait(_ limiter: HostRateLimiter, _ number: UInt64, _ origin: RequestURL.Origin) {
        beginTotalTime()
        let stage = Self.rateWait(number)
        enter(.waiting(stage))
        feed?.push(observed: .rateLimited, from: self)
        if let left = timeLeft {
            let timer = session.timing.schedule(after: left) { [self] in
                guard takeWait(stage) else { return }
                let total = template.options.timeouts.total ?? .zero
                let message = "the total time of \(total) is over, waiting for the rate limit of its host"
                giveUpWaiting(NetworkError(.totalTimeout, phase: .queued, message: message, runID: id, attempt: attemptNumber))
            }
            setWait(timer, exchange: stage)
        }
        // From here on another thread may have the run and be far ahead.
        setWait(limiter.wait(self, stage, for: origin), exchange: Self.pathWait(stage))
        StepDoor.pass(.retryWaiting, id)
        abandonWait(stage)
    }

    /// It is the run's turn. Any thread.
    func rateGranted(_ stage: UInt64, _ permit: HostRateLimiter.Permit) {
        guard takeWait(stage) else { return permit.cancel() }
        keep(permit, exchangeID.number)
        enterQueue()
    }

    private func keep(_ permit: HostRateLimiter.Permit, _ number: UInt64) {
        setWait(permit, exchange: Self.ratePermit(number))
        // A cancel that came before it was known could not give it back.
        if !mayGoOn { cancelWait(exchange: Self.ratePermit(number)) }
    }

    /// Has a slot, and is about to be sent.
    ///
    /// - Returns: false where the host has asked to wait meanwhile: the run does, and does not use its slot.
    func usesRatePermit() -> Bool {
        guard let limiter = session.rateLimiter, let permit = takeRatePermit(), !permit.send() else { return true }
        wait(limiter, exchangeID.number, intent.url.origin)
        return false
    }

    /// Suspended before it was sent.
    func giveBackRatePermit() { takeRatePermit()?.cancel() }

    private func takeRatePermit() -> HostRateLimiter.Permit? {
        guard session.rateLimiter != nil, rareFlag.load(ordering: .sequentiallyConsistent) else { return nil }
        let key = Self.ratePermit(exchangeID.number)
        return Rare.ifAny(id) { $0.waits.removeValue(forKey: key) }.flatMap { $0 } as? HostRateLimiter.Permit
    }

    /// A response has come.
    func noteRetryAfter(_ head: ResponseHead) {
        guard let limiter = session.rateLimiter, head.status == 429 || head.status == 503 else { return }
        guard let value = head["retry-after"], let time = Self.retryAfter(value, head) else { return }
        limiter.hold(intent.url.origin, for: time)
    }
}
