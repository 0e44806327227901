import Glibc
import HTTPTypes
import Synchronization

/// One run of a request: what the agent retains from start to end, the bags link, and the transport reports to.
///
/// Its files: this one holds the gate and the ending; `RunCore+Drive` takes it from stage to stage; `RunCore+Sink` hears the transport;
/// `RunCore+Delivery` calls the user. `TypedRun` adds what depends on the value.
package class RunCore: BagMember, @unchecked Sendable {
    // Safety: every stored property says who may touch it. What is not atomic is either immutable, or handed from stage to stage (one
    // stage at a time, each hand-over through a lock or queue), or owned by whoever won the gate's last step.

    package enum Delivery: Sendable { case events, ending, cancelled }

    // Immutable.
    package let id = Identifier.next()
    package let template: RequestTemplate
    package let session: Session
    package let agent: RequestAgent
    package let lane: DeliveryLane
    package let origin: CodeOrigin
    package let feed: EventFeed?
    package let startedAt = monotonicNow()
    package let repeatKey: RequestAgent.RepeatKey?
    let preparationError: NetworkError?

    // Atomic.
    private let gate = Atomic<UInt32>(RunGate().word)
    private let stageWord = Atomic<UInt64>(RunStage.idle.word)
    private let suspended = Atomic<Bool>(false)
    private let retired = Atomic<Bool>(false)
    private let rareFlag = Atomic<Bool>(false)
    private let attemptCounter = Atomic<Int>(1)

    // Guarded by the agent's shard.
    var agentNext: Unmanaged<RunCore>?
    var agentPrevious: Unmanaged<RunCore>?

    // Handed from stage to stage.
    var exchange: TransferRequest
    var attempts: [TransferMetrics] = []
    var drive = DriveState()

    struct DriveState {
        var silentReconnects = 0
        var visits: [RedirectContext.Visit] = []
        var file: FileSink?
        var hasBegun = false
    }

    package init(
        template: RequestTemplate, session: Session, lane: DeliveryLane, feed: EventFeed?, listensToProgress: Bool, repeatKey: RequestAgent.RepeatKey?,
        origin: CodeOrigin, preparationError: NetworkError?
    ) {
        self.template = template
        self.session = session
        agent = session.agent
        self.lane = lane
        self.feed = feed
        self.origin = origin
        self.repeatKey = repeatKey
        self.preparationError = preparationError
        exchange = TransferRequest(
            url: template.url, method: template.method, headers: template.headers, body: template.body, options: template.transferOptions,
            wantsProgress: listensToProgress, wantsMilestones: !session.configuration.observers.isEmpty, requestID: id)
        exchange.repeatsSilently = template.method.isIdempotent && template.options.retry.silentReconnect
        super.init()
        LiveObjects.born(.run)
    }

    deinit { LiveObjects.died(.run) }

    // MARK: The gate

    @inline(__always)
    private func step<Action>(_ transition: (inout RunGate) -> Action) -> Action {
        var word = gate.load(ordering: .sequentiallyConsistent)
        while true {
            var state = RunGate(word: word)
            let action = transition(&state)
            let next = state.word
            if next == word { return action }
            let (exchanged, original) = gate.compareExchange(expected: word, desired: next, ordering: .sequentiallyConsistent)
            if exchanged { return action }
            word = original
        }
    }

    package var gateState: RunGate { RunGate(word: gate.load(ordering: .sequentiallyConsistent)) }

    /// The gates are closed and the transfer goes on (see ``ReleaseStrategy/detached``).
    var isMuted: Bool {
        guard template.options.release == .detached else { return false }
        let state = gateState
        guard state.phase == .cancelled else { return false }
        return Self.releases.contains(state.reason)
    }

    private static let releases: [UInt8] = [CancelReason.Name.ownerReleased.rawValue, CancelReason.Name.requestReleased.rawValue]

    /// Asked before each stage: a cancelled run goes no further (G5), unless it is detached.
    var mayGoOn: Bool { !gateState.isOver || isMuted }

    package func cancel(_ reason: CancelReason) -> CancelResult {
        let (result, mustTearDown) = closeGate(reason)
        if mustTearDown { tearDown(reason) }
        if result == .alreadyEnded, reason == .explicit || reason == .shutdown, isMuted { stopMuted() }
        return result
    }

    /// An explicit cancel stops a detached transfer too. Where no stage is under way that would come to an end, this is it.
    private func stopMuted() {
        let before = stage
        abortStage()
        switch before {
        case .queued, .waiting, .parked: retire()
        case .idle, .transferring, .working: break
        }
    }

    override package func closeGate(_ reason: CancelReason) -> (result: CancelResult, mustTearDown: Bool) {
        switch step({ $0.cancel(reason: reason.name.rawValue) }) {
        case .tearDown: (.cancelled, true)
        case .leaveToCaller, .tooLate: (.callbackRunning, false)
        case .alreadyEnded: (.alreadyEnded, false)
        }
    }

    /// The winner of the step to *cancelled* comes here once: closures go, work is taken back, and what may still be said (`onEnd`,
    /// observers, an `await`) is the next item on the delivery executor.
    override package func tearDown(_ reason: CancelReason) {
        leaveBags()
        releaseHandlers()
        let muted = isMuted
        if !muted { abortStage() }
        if let feed {
            feed.push(.cancelled, from: self)
        } else if hasLastWord {
            lane.enqueue(.run(self, .cancelled))
        } else if !muted {
            retire()
        }
    }

    func startGate() -> Bool { step { $0.start() } == .proceed }

    /// One admitted call that is not the last. False: nothing may be called.
    func admitCall() -> Bool {
        guard step({ $0.admitCall() }) == .admitted else { return false }
        return !withdrawIfBagsClosed()
    }

    func endCall() {
        if step({ $0.endCall() }) == .tearDown { tearDown(reason) }
    }

    func admitEnding() -> Bool {
        StepDoor.pass(.beforeAdmission, id)
        guard step({ $0.admitEnding() }) == .admitted else { return false }
        StepDoor.pass(.afterAdmission, id)
        return !withdrawIfBagsClosed()
    }

    func endGate() { step { $0.end() } }

    var reason: CancelReason {
        CancelReason(CancelReason.Name(rawValue: gateState.reason) ?? .explicit)
    }

    /// The shared gate: a bag's end is one store, which every admission looks at after its own step.
    private func withdrawIfBagsClosed() -> Bool {
        guard let ended = closedBag else { return false }
        let reason = ended.endReason ?? .ownerReleased
        step { $0.withdrawAdmission(reason: reason.name.rawValue) }
        tearDown(self.reason)
        return true
    }

    private var closedBag: BagStorage? {
        if let bag, bag.isClosed { return bag }
        guard rareFlag.load(ordering: .acquiring) else { return nil }
        return Rare.of(id).bags.first { $0.isClosed }
    }

    // MARK: Stages

    /// For snapshots; the drive's own number is in `exchange`.
    var attemptNumber: Int { attemptCounter.load(ordering: .relaxed) }
    func countAttempt() { attemptCounter.store(exchange.attempt, ordering: .relaxed) }

    var stage: RunStage { RunStage(word: stageWord.load(ordering: .sequentiallyConsistent)) }

    func enter(_ stage: RunStage) { stageWord.store(stage.word, ordering: .sequentiallyConsistent) }

    func leave(_ stage: RunStage, for next: RunStage) -> Bool {
        stageWord.compareExchange(expected: stage.word, desired: next.word, ordering: .sequentiallyConsistent).exchanged
    }

    /// Takes the work of the present stage back. Idempotent, never blocks.
    func abortStage() {
        switch stage {
        case .idle, .working, .parked: break
        case .queued: _ = session.admission.remove(self)
        case .transferring(let number): session.transport.cancel(TransferID(number: number))
        case .waiting: break
        }
        cancelWait()
    }

    // MARK: Rarely used state

    /// Timers, further bags: most runs never have any, so they live in a table beside the run.
    struct Rare {
        var wait: (any Cancellable)?
        var links: [BagMember] = []
        var bags: [BagStorage] = []

        private static let stripes: [Shard] = (0..<16).map { _ in Shard() }
        private final class Shard: Sendable { let table = Lock<[UInt64: Rare]>([:]) }

        static func of(_ id: UInt64) -> Rare { stripes[Int(id & 15)].table.withLock { $0[id] } ?? Rare() }

        static func update<Result>(_ id: UInt64, _ body: (inout Rare) -> Result) -> Result {
            stripes[Int(id & 15)].table.withLock { body(&$0[id, default: Rare()]) }
        }

        static func take(_ id: UInt64) -> Rare? { stripes[Int(id & 15)].table.withLock { $0.removeValue(forKey: id) } }
    }

    func setWait(_ wait: any Cancellable) {
        Rare.update(id) { $0.wait = wait }
        rareFlag.store(true, ordering: .sequentiallyConsistent)
    }

    func cancelWait() {
        guard rareFlag.load(ordering: .sequentiallyConsistent) else { return }
        let wait = Rare.update(id) { rare in
            defer { rare.wait = nil }
            return rare.wait
        }
        wait?.cancel()
    }

    /// Puts a run that is under way into one more bag.
    func join(_ storage: BagStorage) -> Bool {
        let link = RunLink(self)
        Rare.update(id) {
            $0.links.append(link)
            $0.bags.append(storage)
        }
        rareFlag.store(true, ordering: .sequentiallyConsistent)
        guard storage.insert(link) else {
            _ = cancel(storage.endReason ?? .ownerReleased)
            return false
        }
        // It ended while it was being put in.
        if gateState.isOver || gateState.phase == .ending {
            link.leaveBag()
            return false
        }
        return true
    }

    func leaveBags() {
        leaveBag()
        guard rareFlag.load(ordering: .sequentiallyConsistent) else { return }
        let links = Rare.update(id) { rare in
            defer { rare.links = [] }
            return rare.links
        }
        for link in links { link.leaveBag() }
    }

    // MARK: The end

    /// The run's last step: no user code of it is pending.
    func retire() {
        StepDoor.pass(.beforeEnd, id)
        guard !retired.exchange(true, ordering: .acquiringAndReleasing) else { return }
        if rareFlag.load(ordering: .acquiring) { _ = Rare.take(id) }
        agent.remove(self)
    }

    package var isRetired: Bool { retired.load(ordering: .sequentiallyConsistent) }

    // MARK: Suspending

    /// - Returns: true when this changed something.
    func setSuspended(_ value: Bool) -> Bool {
        guard !gateState.isOver, suspended.exchange(value, ordering: .sequentiallyConsistent) != value else { return false }
        feed?.push(observed: value ? .suspended : .resumed, from: self)
        switch stage {
        case .transferring(let number):
            value ? session.transport.suspend(TransferID(number: number)) : session.transport.resume(TransferID(number: number))
        case .parked:
            if !value, leave(.parked, for: .idle) { submitAttempt() }
        case .idle, .queued, .waiting, .working: break
        }
        return true
    }

    var isSuspended: Bool { suspended.load(ordering: .sequentiallyConsistent) }

    // MARK: What depends on the value

    /// Whether something is to be said after a cancellation.
    var hasLastWord: Bool { fatalError("TypedRun") }
    /// Destroys success, failure, progress and delegate; keeps what `hasLastWord` is about.
    func releaseHandlers() { fatalError("TypedRun") }
    /// The body goes to a reader while it arrives.
    var hasStream: Bool { false }
    func bodyDestination() -> BodyDestination { .memory(limit: template.options.maxBodyBytes) }
    /// True when `process` costs nothing and may run on the network thread.
    func canProcessInline(_ result: TransferResult) -> Bool { fatalError("TypedRun") }
    /// Makes the outcome of a complete, accepted response.
    func process(_ result: TransferResult) { fatalError("TypedRun") }
    func setFailure(_ error: NetworkError) { fatalError("TypedRun") }
    func deliverEnding() { fatalError("TypedRun") }
    func deliverCancelled() { fatalError("TypedRun") }
    func deliverEvent(_ entry: EventFeed.Entry) -> EventOutcome { fatalError("TypedRun") }
}

/// A further bag a run is in.
private final class RunLink: BagMember, @unchecked Sendable {
    // Safety: as the base class; `run` is constant.
    private let run: RunCore

    init(_ run: RunCore) {
        self.run = run
        super.init()
    }

    override func closeGate(_ reason: CancelReason) -> (result: CancelResult, mustTearDown: Bool) { run.closeGate(reason) }
    override func tearDown(_ reason: CancelReason) { run.tearDown(reason) }
}

extension TransferID {
    init(number: UInt64) { self.number = number }
}
