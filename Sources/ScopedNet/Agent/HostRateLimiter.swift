import SystemSupport

/// A request that waits for its turn in the rate of a host.
protocol RateWaiter: AnyObject, Sendable {
    /// It is its turn. Any thread.
    ///
    /// - Parameters:
    ///   - number: that of the wait.
    ///   - permit: to be sent or given back.
    func rateGranted(_ number: UInt64, _ permit: HostRateLimiter.Permit)
}

/// The rate limit of a session and those derived from it: the pure ``HostRates`` behind a lock, and one timer for each host that is waited for.
final class HostRateLimiter: Sendable {
    private struct State {
        var rates: HostRates<RequestURL.Origin>
        var runs: [UInt64: any RateWaiter] = [:]
        /// With the moment of each, so that one that comes too late for a nearer one is replaced.
        var timers: [RequestURL.Origin: (due: Int64, timer: any Cancellable)] = [:]
    }

    private let longestHold: Duration
    private let timing: any Timing
    private let state: Lock<State>

    /// `longestHold` is the most that a `Retry-After` holds a host: zero where it is not honored.
    init(_ rate: HostRate, longestHold: Duration, timing: any Timing) {
        self.longestHold = longestHold
        self.timing = timing
        state = Lock(State(rates: HostRates(rate)))
    }

    deinit { for (_, timer) in state.withLock({ $0.timers }).values { timer.cancel() } }

    private var now: Int64 { Int64(clamping: timing.now()) }

    var waitingCount: Int { state.withLock { $0.rates.waitingCount } }

    /// - Returns: nil where the request has to wait.
    func permit(_ host: RequestURL.Origin) -> Permit? {
        let now = now
        return state.withLock { $0.rates.permit(host, now: now) } ? Permit(limiter: self, host: host) : nil
    }

    /// Calls ``RateWaiter/rateGranted(_:_:)`` when it is the run's turn, at once or later, on any thread.
    func wait(_ run: any RateWaiter, _ number: UInt64, for host: RequestURL.Origin) -> any Cancellable {
        let now = now
        state.withLock { state in
            state.rates.wait(number, for: host, now: now)
            state.runs[number] = run
        }
        serve(host)
        return Waiting(limiter: self, number: number, host: host)
    }

    /// The host has answered that it wants no requests for some time.
    func hold(_ host: RequestURL.Origin, for time: Duration) {
        guard longestHold > .zero else { return }
        let now = now
        let until = now &+ Int64(clamping: min(time, longestHold).nanoseconds)
        state.withLock { $0.rates.hold(host, until: until, now: now) }
    }

    fileprivate func remove(_ number: UInt64, _ host: RequestURL.Origin) {
        let run = state.withLock { state -> (any RateWaiter)? in
            guard state.rates.remove(number) else { return nil }
            return state.runs.removeValue(forKey: number)
        }
        // The next one may have waited for this one alone, and the last one leaves no timer.
        if run != nil { serve(host) }
    }

    fileprivate func send(_ host: RequestURL.Origin) -> Bool {
        let now = now
        let isSent = state.withLock { $0.rates.send(host, now: now) }
        serve(host)
        return isSent
    }

    fileprivate func giveBack(_ host: RequestURL.Origin) {
        state.withLock { $0.rates.giveBack(host) }
        serve(host)
    }

    /// Lets those go who may, and sets the timer for the next.
    private func serve(_ host: RequestURL.Origin) {
        let now = now
        let (ready, due, old) = state.withLock { state -> ([(UInt64, any RateWaiter)], Int64?, (any Cancellable)?) in
            let ready = state.rates.takeReady(host, now: now).compactMap { number in
                state.runs.removeValue(forKey: number).map { (number, $0) }
            }
            let due = state.rates.nextDue(host, now: now)
            if let known = state.timers[host], known.due == due { return (ready, nil, nil) }
            return (ready, due, state.timers.removeValue(forKey: host)?.timer)
        }
        old?.cancel()
        if let due { arm(host, due, now) }
        for (number, run) in ready { run.rateGranted(number, Permit(limiter: self, host: host)) }
    }

    private func arm(_ host: RequestURL.Origin, _ due: Int64, _ now: Int64) {
        let timer = timing.schedule(after: .nanoseconds(max(0, due - now))) { [weak self] in self?.fired(host, due) }
        let unneeded = state.withLock { state -> (any Cancellable)? in
            // Another thread was faster, or the time has come already, or nobody waits any more.
            guard state.timers[host] == nil, state.rates.nextDue(host, now: now) == due else { return timer }
            state.timers[host] = (due, timer)
            return nil
        }
        guard let unneeded else { return }
        unneeded.cancel()
        serve(host)
    }

    private func fired(_ host: RequestURL.Origin, _ due: Int64) {
        state.withLock { state in if state.timers[host]?.due == due { state.timers[host] = nil } }
        serve(host)
    }

    /// The place of a request in the rate of its host: sent, or given back by its cancellation.
    final class Permit: Cancellable {
        private let limiter: HostRateLimiter
        private let host: RequestURL.Origin
        private let isUsed = Lock(false)

        fileprivate init(limiter: HostRateLimiter, host: RequestURL.Origin) {
            self.limiter = limiter
            self.host = host
        }

        /// - Returns: false while the host is held: the request has to wait anew.
        func send() -> Bool { take() ? limiter.send(host) : true }

        func cancel() { if take() { limiter.giveBack(host) } }

        private func take() -> Bool {
            isUsed.withLock { isUsed in
                defer { isUsed = true }
                return !isUsed
            }
        }
    }

    private struct Waiting: Cancellable {
        let limiter: HostRateLimiter
        let number: UInt64
        let host: RequestURL.Origin
        func cancel() { limiter.remove(number, host) }
    }
}
