import Synchronization

/// The rate limit of the session, where the run has to wait for it: before it asks for a slot.
extension RunCore {
    /// - Returns: false when the run may go on.
    func waitsForRate() -> Bool {
        guard let limiter = session.rateLimiter else { return false }
        let (number, origin) = (exchangeID.number, exchanges.url.origin)
        if let permit = limiter.permit(origin) {
            keep(permit, number)
            return false
        }
        wait(limiter, origin)
        return true
    }

    private func wait(_ limiter: HostRateLimiter, _ origin: RequestURL.Origin) {
        beginTotalTime()
        // Of its own: the wait for the next attempt has the number of the exchange.
        let number = TransferID().number
        enter(.waiting(number))
        feed?.push(observed: .rateLimited, from: self)
        if let left = timeLeft {
            let timer = session.timing.schedule(after: left) { [self] in
                guard takeWait(.waiting(number)) else { return }
                let total = template.options.timeouts.total ?? .zero
                let message = "the total time of \(total) is over, waiting for the rate limit of its host"
                giveUpWaiting(NetworkError(.totalTimeout, phase: .queued, message: message, runID: id, attempt: attemptNumber))
            }
            setWait(timer, .timer, of: number)
        }
        // From here on another thread may have the run and be far ahead.
        setWait(limiter.wait(self, number, for: origin), .path, of: number)
        StepDoor.pass(.retryWaiting, id)
        abandonWait(.waiting(number))
    }

    /// It is the run's turn. Any thread.
    func rateGranted(_ number: UInt64, _ permit: HostRateLimiter.Permit) {
        guard takeWait(.waiting(number)) else { return permit.cancel() }
        keep(permit, exchangeID.number)
        enterQueue()
    }

    private func keep(_ permit: HostRateLimiter.Permit, _ number: UInt64) {
        setWait(permit, .permit, of: number)
        // A cancel that came before it was known could not give it back.
        if !mayGoOn { cancelWait(.permit, of: number) }
    }

    /// Has a slot, and is about to be sent.
    ///
    /// - Returns: false where the host has asked to wait meanwhile: the run does, and does not use its slot.
    func usesRatePermit() -> Bool {
        guard let limiter = session.rateLimiter, let permit = takeRatePermit(), !permit.send() else { return true }
        wait(limiter, exchanges.url.origin)
        return false
    }

    /// Suspended before it was sent.
    func giveBackRatePermit() { takeRatePermit()?.cancel() }

    private func takeRatePermit() -> HostRateLimiter.Permit? {
        guard session.rateLimiter != nil else { return nil }
        let number = exchangeID.number
        return ifExtras { $0.waits.take(.permit, of: number) }.flatMap { $0 } as? HostRateLimiter.Permit
    }

    /// A response has come.
    func noteRetryAfter(_ head: ResponseHead) {
        guard let limiter = session.rateLimiter, head.status == 429 || head.status == 503 else { return }
        guard let value = head["retry-after"], let time = Self.retryAfter(value, head) else { return }
        limiter.hold(exchanges.url.origin, for: time)
    }
}
