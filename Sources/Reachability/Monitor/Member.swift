import SystemSupport

/// One monitor as its thread sees it: target, current path, and who wants to hear of it. Outlives the monitor by no more than a turn.
final class Member: Sendable {
    struct Subscriber {
        let id: UInt64
        var last: NetworkPath?
        let handler: @Sendable (NetworkPath, NetworkPath.Delta) -> Void
    }

    struct Waiter {
        let generation: UInt64
        let continuation: CheckedContinuation<NetworkPath?, Never>
    }

    struct State {
        weak var monitor: ReachabilityMonitor?
        weak var delegate: (any ReachabilityDelegate)?
        var delegateLast: NetworkPath?
        var isStarted = false
        /// Counts starts and stops.
        var life: UInt64 = 0
        /// This start has told nothing yet: the settle rules do not hold it up.
        var isFresh = true
        var current: NetworkPath?
        /// The run of the thread this start belongs to, and the last look that counted: tickets count within a run.
        var run: ObjectIdentifier?
        var ticket: UInt64 = 0
        var settle: SettleRule
        var subscribers: [Subscriber] = []
        var waiters: [UInt64: Waiter] = [:]
        var lastID: UInt64 = 0
        var resolution = HostResolution()
    }

    let target: NetworkPath.Target
    let state: Lock<State>

    init(target: NetworkPath.Target, settle: SettleRule) {
        self.target = target
        state = Lock(State(settle: settle))
    }

    var current: NetworkPath? { state.withLock { $0.current } }
    var life: UInt64 { state.withLock { $0.life } }

    // MARK: Evaluating

    var question: PathQuestion {
        state.withLock { PathQuestion(target: target, resolved: $0.resolution.addresses, inUse: $0.interfacesInUse) }
    }

    /// The addresses whose routes decide the answer, beside those that stand for "anywhere".
    var addresses: [IPAddress] {
        switch target.subject {
        case .defaultPath: []
        case .address(let address): [address]
        case .host: Array(state.withLock { $0.resolution.addresses }.prefix(PathEvaluator.mostAddresses))
        }
    }

    /// Whether the path told last rests on one of these.
    func rests(on losses: Losses) -> Bool { losses.concern(current) }

    enum Commit: Equatable {
        case unchanged, published
        /// The name was resolved while the kernel was asked about the addresses before: ask again.
        case outdated
        case wait(until: Duration)
        /// The kernel could not be asked. What was told stands until it can be.
        case unanswered(SystemFailure)
    }

    /// Takes the answer to a question about `addresses` in. Of two evaluations the one that looked later wins, whatever order they come in.
    /// What a thread found that was stopped in the meantime counts no more.
    ///
    /// The question is older than its ticket. The thread that starts reads that there is no address yet; the resolver answers, and the
    /// monitor's thread asks about the address; only then the first one asks, about nothing, and has the later ticket. So an answer about
    /// other addresses than those known now does not count.
    func commit(
        _ outcome: PathEvaluator.Outcome, about addresses: [IPAddress], ticket: UInt64, of run: ObjectIdentifier, now: Duration
    ) -> Commit {
        state.withLock { state in
            guard state.belongs(to: run), ticket > state.ticket else { return .unchanged }
            guard addresses == state.resolution.addresses else { return .outdated }
            if let shortage = outcome.shortage { return .unanswered(shortage) }
            state.ticket = ticket
            var path = outcome.path
            if case .host = target.subject, let reason = state.resolution.reason { path.status = .unsatisfied(reason) }
            path.validation = state.current?.validation ?? .unknown
            if let current = state.current, path.hasSameContent(as: current) {
                state.settle.nothingToTell()
                state.isFresh = false
                return .unchanged
            }
            let old = state.isFresh ? nil : state.current
            let verdict = state.settle.decide(from: old, to: path, losesInterface: outcome.losesInterface, now: now)
            if case .wait(let deadline) = verdict { return .wait(until: deadline) }
            path.validation = .unknown
            state.publish(path)
            return .published
        }
    }

    /// The verdict of a probe of that path; too late when the path has changed, or the monitor was stopped since.
    func commit(_ validation: NetworkPath.Validation, of probed: NetworkPath, life: UInt64) -> Bool {
        state.withLock { state in
            guard state.isStarted, state.life == life, var path = state.current, path.validation != validation else { return false }
            var probed = probed
            probed.validation = path.validation
            guard path.hasSameContent(as: probed) else { return false }
            path.validation = validation
            state.publish(path)
            return true
        }
    }

    // MARK: Subscribers

    func insert(_ handler: @escaping @Sendable (NetworkPath, NetworkPath.Delta) -> Void) -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            state.subscribers.append(Subscriber(id: state.lastID, last: nil, handler: handler))
            return state.lastID
        }
    }

    func remove(_ id: UInt64) {
        let removed = state.withLock { state -> Subscriber? in
            guard let index = state.subscribers.firstIndex(where: { $0.id == id }) else { return nil }
            return state.subscribers.remove(at: index)
        }
        // What the closure holds goes here, outside the lock.
        _ = removed
    }

    /// Whether a call that has travelled through a queue of the user's may still be made.
    func admits(_ id: UInt64) -> Bool {
        state.withLock { state in state.isStarted && state.subscribers.contains { $0.id == id } }
    }

    // MARK: Telling (the monitor's thread only)

    func deliver() {
        tellDelegate()
        for id in state.withLock({ $0.subscribers.map(\.id) }) { tell(id) }
        let ready = state.withLock { $0.takeReadyWaiters() }
        for (waiter, path) in ready { waiter.continuation.resume(returning: path) }
    }

    private func tell(_ id: UInt64) {
        let call = state.withLock { state -> (Subscriber, NetworkPath)? in
            guard state.isStarted, !state.isFresh, let path = state.current,
                let index = state.subscribers.firstIndex(where: { $0.id == id }),
                state.subscribers[index].last?.generation != path.generation
            else { return nil }
            defer { state.subscribers[index].last = path }
            return (state.subscribers[index], path)
        }
        guard let (subscriber, path) = call else { return }
        subscriber.handler(path, path.delta(from: subscriber.last))
    }

    private func tellDelegate() {
        // Both leave the lock, whatever comes of them: this may be the last reference to either.
        let call = state.withLock { state -> ((any ReachabilityDelegate)?, ReachabilityMonitor?, NetworkPath, NetworkPath?)? in
            guard state.isStarted, !state.isFresh, let path = state.current, state.delegateLast?.generation != path.generation else {
                return nil
            }
            let (delegate, monitor, last) = (state.delegate, state.monitor, state.delegateLast)
            if delegate != nil, monitor != nil { state.delegateLast = path }
            return (delegate, monitor, path, last)
        }
        guard let (delegate, monitor, path, last) = call, let delegate, let monitor else { return }
        delegate.reachability(monitor, didChangeTo: path, delta: path.delta(from: last))
    }

    // MARK: Waiting

    /// The first path newer than that generation, once there is one; nil after `cancelWait`.
    func path(after generation: UInt64) async -> NetworkPath? {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> NetworkPath?? in
                    if Task.isCancelled { return .some(nil) }
                    if state.isStarted, !state.isFresh, let path = state.current, path.generation > generation { return path }
                    state.waiters[id] = Waiter(generation: generation, continuation: continuation)
                    return .none
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(returning: nil)
        }
    }
}

extension Member.State {
    var interfacesInUse: [NetworkInterface] { current.map { $0.isSatisfied ? $0.interfaces : [] } ?? [] }

    /// - Returns: the count of the life that begins; nil when it has begun already.
    mutating func begin() -> UInt64? {
        guard !isStarted else { return nil }
        isStarted = true
        life += 1
        // The run of this life is not known before it is open, which takes a while. Until then the thread of the run before may still look:
        // taken in, its look would leave a ticket behind that those of the new run, which count from one, do not reach for a long time.
        run = nil
        // What a probe found out was about the network of that time.
        if var path = current, path.validation != .unknown {
            path.validation = .unknown
            publish(path)
        }
        isFresh = true
        ticket = 0
        resolution.reset()
        return life
    }

    /// - Parameter expected: end this life only.
    /// - Returns: the count of the silence that begins; nil when there was nothing to end.
    mutating func end(_ expected: UInt64? = nil) -> UInt64? {
        guard isStarted, expected == nil || expected == life else { return nil }
        isStarted = false
        life += 1
        return life
    }

    func belongs(to run: ObjectIdentifier) -> Bool { isStarted && self.run == run }

    mutating func publish(_ path: NetworkPath) {
        var path = path
        path.generation = (current?.generation ?? 0) + 1
        current = path
        isFresh = false
    }

    mutating func takeReadyWaiters() -> [(Member.Waiter, NetworkPath)] {
        guard isStarted, !isFresh, let current, !waiters.isEmpty else { return [] }
        let ready = waiters.filter { $0.value.generation < current.generation }
        for id in ready.keys { waiters[id] = nil }
        return ready.sorted { $0.key < $1.key }.map { ($0.value, current) }
    }
}
