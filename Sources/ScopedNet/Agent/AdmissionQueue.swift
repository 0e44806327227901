import SystemSupport

/// The slots of one transport and who waits for them: the pure ``PendingQueue`` behind a lock. Waiting happens here and not in libcurl, so it
/// costs nothing there and eats no transfer's timeouts.
package final class AdmissionQueue: Sendable {
    package enum Submission { case start, queued(position: Int), refusedFull }

    /// A run in the queue, by identity and exchange: who comes late for one place does not take out the next.
    private struct Waiter: Equatable, Sendable {
        let run: any AdmissionWaiter
        let exchange: TransferID
        static func == (left: Waiter, right: Waiter) -> Bool { left.run === right.run && left.exchange == right.exchange }
    }

    private struct State {
        var queue: PendingQueue<Waiter, AdmissionKey>
        /// The origins with a limit of their own: the number of one without URLs would be forgotten.
        var limitedOrigins: [UInt32: OriginKey] = [:]
        var budgets: [UInt32: RetryPolicy.Budget] = [:]
        /// How many budgets there may be before those that are full are dropped.
        var budgetBound = 1024
    }

    private let limits: ConnectionLimits
    private let timing: any Timing
    private let state: Lock<State>

    package init(limits: ConnectionLimits, timing: any Timing) {
        self.limits = limits
        self.timing = timing
        let bounds = PendingQueue<Waiter, AdmissionKey>.Limits(
            total: max(1, limits.total), perHost: max(1, limits.perHost), waiting: max(0, limits.queued))
        state = Lock(State(queue: PendingQueue(limits: bounds, sibling: { $0.sibling })))
    }

    private var now: Duration { .nanoseconds(nanoseconds) }
    private var nanoseconds: Int64 { Int64(clamping: timing.now()) }

    package func submit(_ run: any AdmissionWaiter) -> Submission {
        let now = nanoseconds
        let host = run.admissionKey
        let waiter = Waiter(run: run, exchange: run.exchangeID)
        let answer = state.withLock { state in
            // Read here: who raises it comes to `reprioritize` afterwards, and so finds the run waiting if this was too early.
            let priority = run.priority
            let answer = state.queue.submit(waiter, host: host, priority: priority, nanoseconds: now)
            // A place that is another's by now does no harm: who takes a run out asks whether it is the one that waits there.
            run.queuePlace = state.queue.lastPlace
            return answer
        }
        return switch answer {
        case .start: .start
        case .queued(let position): .queued(position: position)
        case .refused: .refusedFull
        }
    }

    /// A slot is free again; whoever is next begins.
    package func release(_ key: AdmissionKey) {
        let now = nanoseconds
        let next = state.withLock { $0.queue.finished(host: key, nanoseconds: now) }
        if let next { grant(next.run) }
    }

    /// Gives a slot to a run. One that does not want it any more (cancelled, suspended) passes it on; a loop, because ten thousand of them
    /// may follow each other.
    package func grant(_ run: any AdmissionWaiter) {
        var run = run
        while true {
            // Read before: a run that was parked may be resumed, and redirected, while this thread still holds its slot.
            let key = run.admissionKey
            if run.beginTransfer() { return }
            let now = nanoseconds
            guard let next = state.withLock({ $0.queue.finished(host: key, nanoseconds: now) }) else { return }
            run = next.run
        }
    }

    /// The run's priority is another one by now: if it waits, it finds its new place.
    package func reprioritize(_ run: any AdmissionWaiter) {
        let now = nanoseconds
        state.withLock { state in
            guard let exchange = run.queuedExchange else { return }
            state.queue.setPriority(run.priority, of: Waiter(run: run, exchange: exchange), at: run.queuePlace, nanoseconds: now)
        }
    }

    /// - Returns: false when it was not waiting (any more).
    package func remove(_ run: any AdmissionWaiter, exchange: TransferID) -> Bool {
        let waiter = Waiter(run: run, exchange: exchange)
        return state.withLock { $0.queue.remove(waiter, at: run.queuePlace) }
    }

    /// Takes those out that wait, in one go, and tells them so: their stage is idle then.
    package func removeAll<Member: AdmissionWaiter>(_ runs: some Sequence<Member>) {
        state.withLock { state in
            state.queue.removeAll(
                of: runs,
                find: { run in
                    guard let exchange = run.queuedExchange else { return nil }
                    return (Waiter(run: run, exchange: exchange), run.queuePlace)
                },
                removed: { $0.didLeaveQueue() })
        }
    }

    /// What a request that could share its connection was answered in: an origin that speaks HTTP/2 is limited in streams, not in connections,
    /// until it falls back. What a request for HTTP/1.1 was answered in says nothing.
    package func noteVersion(_ version: String, of key: AdmissionKey) {
        guard key.sharesConnection, !version.isEmpty else { return }
        let now = now
        let limit = version == "2" ? max(limits.streamsPerHost, limits.perHost, 1) : nil
        let next = state.withLock { state -> [Waiter] in
            // Asked each time: the queue forgets hosts that were idle for long.
            guard state.queue.limit(ofHost: key) != limit else { return [] }
            return state.queue.setLimit(host: key, limit, now: now)
        }
        for waiter in next { grant(waiter.run) }
    }

    /// At most so many requests to an origin at once, whatever they share; nil for what the settings say.
    func setLimit(_ limit: Int?, of origin: OriginKey) {
        let now = now
        let (next, old) = state.withLock { state -> ([Waiter], OriginKey?) in
            let old = state.limitedOrigins[origin.id]
            state.limitedOrigins[origin.id] = limit == nil ? nil : origin
            let key = AdmissionKey(origin: origin.id, sharesConnection: true)
            return (state.queue.setCommonLimit(host: key, limit.map { max(1, $0) }, now: now), old)
        }
        // Its last reference may be this one, and it has a table of its own to leave.
        _ = old
        for waiter in next { grant(waiter.run) }
    }

    func limit(ofOrigin origin: OriginKey) -> Int? {
        state.withLock { $0.queue.commonLimit(ofHost: AdmissionKey(origin: origin.id, sharesConnection: true)) }
    }

    /// The limit of an origin in streams; nil where it is not known to speak HTTP/2.
    package func streamLimit(ofOrigin origin: UInt32) -> Int? {
        state.withLock { $0.queue.limit(ofHost: AdmissionKey(origin: origin, sharesConnection: true)) }
    }
    package var budgetCount: Int { state.withLock { $0.budgets.count } }
    package var waitingCount: Int { state.withLock { $0.queue.waitingCount } }
    package var activeCount: Int { state.withLock { $0.queue.activeCount } }

    // MARK: Retry budget

    /// Each first attempt pays in, each retry takes out; asked only where retrying is on.
    package func payIn(_ origin: UInt32) {
        let now = now
        state.withLock { state in
            state.budgets[origin, default: RetryPolicy.Budget(now: now)].deposit(now: now)
            // A full budget is what a new one would be: no need to keep it.
            guard state.budgets.count > state.budgetBound else { return }
            state.budgets = state.budgets.filter { !$0.value.isFull(at: now) }
            state.budgetBound = max(1024, 2 * state.budgets.count)
        }
    }

    package func retryBudget(_ origin: UInt32, now: Duration) -> Double {
        state.withLock { $0.budgets[origin, default: RetryPolicy.Budget(now: now)].available(at: now) }
    }

    package func withdrawRetry(_ origin: UInt32, now: Duration) {
        state.withLock { _ = $0.budgets[origin, default: RetryPolicy.Budget(now: now)].withdraw(now: now) }
    }
}
