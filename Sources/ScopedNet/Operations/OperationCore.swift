import Synchronization
import SystemSupport

/// An operation, as its agent and its bag see it.
///
/// Its life is that of a run (``RunLifecycle``), without what only transfers have: nothing of it goes on after a cancel. Its calls stand in one line, whatever
/// executors they belong to: only the first is on its way to its executor, and the next follows when it has returned. A cancel takes the line away.
final class OperationCore: AgentEntry, @unchecked Sendable {
    // Safety: what is not immutable is atomic or behind a lock.
    let session: Session
    let steps: DeallocBag
    let origin: CodeOrigin
    let ticket: CensusTicket?
    private let ownTag: String?
    private let lifecycleWord = Atomic<UInt64>(RunLifecycle().word)
    private let content: Lock<Content>

    typealias Outcome = ScopedOperation.Outcome

    /// One call to its user.
    private struct Call: Sendable {
        let executor: DeliveryLane
        /// Of the last one.
        let outcome: Outcome?
        let body: @Sendable () -> Void
    }

    /// The closures, which are gone at the end, and the outcome.
    private struct Content: Sendable {
        var onCancel: (@Sendable (CancelReason) -> Void)?
        var onEnd: CallbackHandler<Outcome>?
        var calls: [Call] = []
        /// The first of the calls is on its way, or has not returned.
        var isCalling = false
        /// It was finished; what comes behind that counts for nothing.
        var isFinished = false
        var outcome: Outcome?

        /// Moves the closures out, for the caller to let go outside the lock.
        mutating func end(_ outcome: Outcome) -> Content {
            let old = self
            self = Content(isFinished: true, outcome: outcome)
            return old
        }
    }

    init(
        id: UInt64 = Identifier.next(), session: Session, scope: BagStorage?, tag: String?, origin: CodeOrigin,
        onEnd: CallbackHandler<Outcome>?, onCancel: @escaping @Sendable (CancelReason) -> Void
    ) {
        self.session = session
        self.origin = origin
        ownTag = tag
        content = Lock(Content(onCancel: onCancel, onEnd: onEnd))
        steps = DeallocBag(storage: BagStorage(label: scope?.label ?? origin.description, parent: scope), origin: origin)
        ticket = Census.ticket(inheriting: session.ticket)
        super.init(id: id, repeatKey: nil)
        LiveObjects.born(.operation)
        if let ticket { ticket.watch(self, .operation, origin: origin.description, name: tag ?? "") }
    }

    deinit { LiveObjects.died(.operation) }

    override var tag: String? { ownTag }
    override var isRetired: Bool { lifecycle.isRetired }
    override func uses(_ link: AnyObject) -> Bool { session.link === link }
    override var ending: (@Sendable () async -> Void)? { { [self] in await session.agent.ended(self) } }

    func begin(in bag: BagStorage?) {
        _ = step { $0.start() }
        // It adds no key: it cannot be refused.
        _ = session.agent.add(self)
        if let bag, !bag.insert(self) {
            _ = cancel(bag.endReason ?? .ownerReleased)
        } else if !session.link.users.acceptsRun {
            _ = cancel(.shutdown)
        }
    }

    // MARK: The lifecycle

    var lifecycle: RunLifecycle { RunLifecycle(word: lifecycleWord.load(ordering: .sequentiallyConsistent)) }
    var outcome: Outcome? { content.withLock { $0.outcome } }

    /// Why it was cancelled, also where its bag has ended and has not come to it yet.
    var reason: CancelReason {
        let state = lifecycle
        if !state.isOver, isBagClosed { return bag?.endReason ?? .ownerReleased }
        return CancelReason(CancelReason.Name(rawValue: state.reason) ?? .explicit)
    }

    var isRunning: Bool {
        switch lifecycle.phase {
        case .created, .open, .calling: !isBagClosed
        case .cancelRequested, .ending, .silenced, .ended, .cancelled: false
        }
    }

    /// It was cancelled, or its bag has ended and comes to it soon.
    var isCancelled: Bool {
        switch lifecycle.phase {
        case .cancelRequested, .cancelled: true
        case .created, .open, .calling: isBagClosed
        case .ending, .silenced, .ended: false
        }
    }

    private func step<Action>(_ transition: (inout RunLifecycle) -> Action) -> Action {
        var word = lifecycleWord.load(ordering: .sequentiallyConsistent)
        while true {
            var state = RunLifecycle(word: word)
            let action = transition(&state)
            if state.word == word { return action }
            let (exchanged, original) = lifecycleWord.compareExchange(
                expected: word, desired: state.word, ordering: .sequentiallyConsistent)
            if exchanged { return action }
            word = original
        }
    }

    // MARK: Cancelling

    override func closeGate(_ reason: CancelReason) -> (result: CancelOutcome, aftermath: Aftermath) {
        switch step({ $0.cancel(reason: reason.name.rawValue) }) {
        case .tearDown:
            steps.storage.close(reason)
            return (.cancelled, .tearDown)
        // The thread inside the call tears it down; the steps do not wait for that.
        case .leaveToCaller:
            steps.storage.close(reason)
            return (.callbackRunning, .stopWork)
        case .tooLate: return (.callbackRunning, .none)
        case .stopWork, .alreadyEnded: return (.alreadyEnded, .none)
        }
    }

    override func stopWork() { steps.end(reason) }

    /// Of those that win the step to *cancelled*, one: steps end, then what else belongs to it, then the last word.
    override func tearDown(_ reason: CancelReason) { tearDown(reason, onExecutor: false) }

    /// - Returns: as ``sayLastWord(_:_:onExecutor:)``.
    @discardableResult
    private func tearDown(_ reason: CancelReason, onExecutor: Bool) -> Bool {
        leaveBag()
        steps.end(reason)
        return sayLastWord(letGo(reason), .cancelled(reason), onExecutor: onExecutor)
    }

    /// Calls `onCancel` and lets go of all closures but one: nobody holds them when this returns.
    private func letGo(_ reason: CancelReason) -> CallbackHandler<Outcome>? {
        let old = content.withLock { $0.end(.cancelled(reason)) }
        old.onCancel?(reason)
        return old.onEnd
    }

    // MARK: Calls

    /// Puts a call that is not the last behind those that wait.
    func call(on executor: DeliveryLane?, _ body: @escaping @Sendable () -> Void) { add(executor, nil, body) }

    /// Puts the last call behind those that wait. Of several the first one counts.
    func finish(_ outcome: Outcome, on executor: DeliveryLane?, _ body: @escaping @Sendable () -> Void) { add(executor, outcome, body) }

    private func add(_ executor: DeliveryLane?, _ outcome: Outcome?, _ body: @escaping @Sendable () -> Void) {
        let call = Call(executor: executor ?? session.lane, outcome: outcome, body: body)
        let begins = content.withLock { content -> Bool in
            guard !content.isFinished else { return false }
            content.isFinished = outcome != nil
            content.calls.append(call)
            defer { content.isCalling = true }
            return !content.isCalling
        }
        if begins { call.executor.enqueue(.run(NextCall(self), .events)) }
    }

    /// On the executor of the first call: makes it, and sends the next one on its way.
    ///
    /// - Returns: true where it has left the agent, which is told when nobody on this executor holds anything of it.
    fileprivate func makeCall() -> Bool {
        // One that was cancelled has none any more.
        guard let call = content.withLock({ $0.calls.first }) else { return false }
        if let outcome = call.outcome { return end(call, outcome) }
        let gate = step { $0.admitCall() }
        switch CallAdmission(gate, bagHasEnded: gate == .admitted && isBagClosed) {
        case .call: break
        case .refuse: return false
        case .withdraw: return withdraw()
        }
        make(call)
        if step({ $0.endCall() }) == .tearDown { return tearDown(reason, onExecutor: true) }
        let next = content.withLock { content -> DeliveryLane? in
            content.isCalling = !content.calls.isEmpty
            return content.calls.first?.executor
        }
        next?.enqueue(.run(NextCall(self), .events))
        return false
    }

    /// Takes the call out of the line, which else would keep its closure.
    private func make(_ call: Call) {
        let old = content.withLock { $0.calls.isEmpty ? nil : $0.calls.removeFirst() }
        _ = old
        call.body()
    }

    /// - Returns: as ``makeCall()``.
    private func end(_ call: Call, _ outcome: Outcome) -> Bool {
        let gate = step { $0.admitEnding() }
        switch CallAdmission(gate, bagHasEnded: gate == .admitted && isBagClosed) {
        case .call: break
        case .refuse: return false
        case .withdraw: return withdraw()
        }
        if let bag {
            step { $0.count() }
            bag.beginDelivery()
        }
        leaveBag()
        // Steps that are left are of no use to anybody, and say nothing beside the last call.
        steps.end(.explicit)
        make(call)
        let onEnd = content.withLock { $0.end(outcome) }.onEnd
        step { $0.end() }
        return sayLastWord(onEnd, outcome, onExecutor: true)
    }

    /// A bag's end is one store, which every admission looks at after its own step: nothing was called, and it ends cancelled.
    private func withdraw() -> Bool {
        let reason = bag?.endReason ?? .ownerReleased
        step { $0.withdrawAdmission(reason: reason.name.rawValue) }
        return tearDown(reason, onExecutor: true)
    }

    /// Says how it ended, where somebody wants to know, and leaves the agent.
    ///
    /// - Returns: true where it has left on an executor, whose item settles the agent's count once it has let go of everything.
    private func sayLastWord(_ onEnd: CallbackHandler<Outcome>?, _ outcome: Outcome, onExecutor: Bool) -> Bool {
        if let onEnd {
            (onEnd.lane ?? session.lane).enqueue(.run(LastWord(self, onEnd, outcome), .ending))
            return false
        }
        guard leaveAgent() else { return false }
        if !onExecutor { session.agent.settle(id) }
        return onExecutor
    }

    // MARK: Leaving the agent

    /// - Returns: true for the one who took it out, and settles the agent's count.
    fileprivate func leaveAgent() -> Bool {
        guard step({ $0.retire() }) == .leave else { return false }
        if lifecycle.isCounted { bag?.endDelivery() }
        session.agent.remove(self)
        return true
    }
}

/// The next call of an operation, on its executor.
private final class NextCall: ExecutorItem {
    private let core: OperationCore
    private let hasLeft = Atomic<Bool>(false)

    init(_ core: OperationCore) { self.core = core }

    func deliver(_ signal: DeliveryLane.Signal) { if core.makeCall() { hasLeft.store(true, ordering: .relaxed) } }

    func takeSettling() -> (agent: any SettlingAgent, id: UInt64)? {
        hasLeft.load(ordering: .relaxed) ? (core.session.agent, core.id) : nil
    }
}

/// The call of `onEnd`.
private final class LastWord: ExecutorItem {
    private let core: OperationCore
    private let handler: Lock<CallbackHandler<ScopedOperation.Outcome>?>
    private let outcome: ScopedOperation.Outcome
    private let hasLeft = Atomic<Bool>(false)

    init(_ core: OperationCore, _ handler: CallbackHandler<ScopedOperation.Outcome>, _ outcome: ScopedOperation.Outcome) {
        self.core = core
        self.handler = Lock(handler)
        self.outcome = outcome
    }

    func deliver(_ signal: DeliveryLane.Signal) {
        say()
        if core.leaveAgent() { hasLeft.store(true, ordering: .relaxed) }
    }

    /// The closure is gone when this returns.
    private func say() {
        let handler = self.handler.withLock { handler in
            defer { handler = nil }
            return handler
        }
        handler?.invoke(outcome)
    }

    func takeSettling() -> (agent: any SettlingAgent, id: UInt64)? {
        hasLeft.load(ordering: .relaxed) ? (core.session.agent, core.id) : nil
    }
}

extension OperationCore: CensusMember {
    var censusState: CensusState {
        var state = CensusState()
        let lifecycle = lifecycle
        state.isInFlight = !lifecycle.isRetired
        state.isOver = lifecycle.isRetired
        state.text = "operation\(ownTag.map { " \($0)" } ?? ""), \(steps.count) steps, \(lifecycle.phase)"
        if session.agent.entry(id: id) != nil { state.tables.append("its agent") }
        state.handles = ticket?.handleCount ?? 0
        state.holds = [session.ticket?.number].compactMap { $0 }
        return state
    }
}
