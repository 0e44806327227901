import FoundationEssentials
import Glibc
import HTTPTypes
import Synchronization

/// One run of a request: what the agent retains from start to end, the bags link, and the transport reports to.
///
/// Its files: this one holds the gate and the ending; `RunCore+Drive` takes it from stage to stage; `RunCore+Sink` hears the transport;
/// `RunCore+Delivery` calls the user. `RequestRun` adds the closures and the outcome.
package class RunCore: BagMember, @unchecked Sendable {
    // Safety: every stored property says who may touch it. What is not atomic is either immutable, or handed from stage to stage (one
    // stage at a time, each hand-over through a lock or queue), or owned by whoever won the gate's last step.

    package enum Delivery: Sendable { case events, ending, cancelled }

    // Immutable.
    package let id: UInt64
    package let template: RequestTemplate
    package let session: Session
    package var agent: RequestAgent { session.agent }
    package let lane: DeliveryLane
    package let origin: CodeOrigin
    package let feed: EventFeed?
    package let startedAt = monotonicNow()
    package let repeatKey: RequestAgent.RepeatKey?
    let preparationError: NetworkError?
    private let listensToProgress: Bool
    package let ticket: CensusTicket?

    // Atomic.
    private let gate = Atomic<UInt32>(RunGate().word)
    private let stageWord = Atomic<UInt64>(RunStage.idle.word)
    private let suspended = Atomic<Bool>(false)
    private let retired = Atomic<Bool>(false)
    private let departure = Atomic<UInt8>(0)
    private let rareFlag = Atomic<Bool>(false)
    /// Others may wait for what it is getting.
    let leadsFlight = Atomic<Bool>(false)
    private let attemptCounter = Atomic<Int>(1)
    /// Whether the transport was ever asked to do something: until then no server can know of the run.
    let reachedTransport = Atomic<Bool>(false)

    // Delivery executor only.
    var mustSettle = false

    // Guarded by the agent's shard.
    var agentNext: Unmanaged<RunCore>?
    var agentPrevious: Unmanaged<RunCore>?

    // Guarded by the session's admission queue.
    var queuePlace: Int32 = -1

    // Handed from stage to stage. Unchecked: one stage has them at a time, and no access lasts longer than a load or a store.
    /// Nil until it is wanted: a run that is cancelled while it waits for its first slot never has one.
    @exclusivity(unchecked) private var madeExchange: TransferRequest?
    /// Of the present exchange, made or not.
    @exclusivity(unchecked) private(set) var exchangeID = TransferID()
    @exclusivity(unchecked) var attempts = AttemptList()
    @exclusivity(unchecked) var drive = DriveState()

    struct DriveState {
        var silentReconnects = 0
        var visits: [RedirectContext.Visit] = []
        var file: FileSink?
        var hasBegun = false
        /// While an exchange is on its way through the cache to the server.
        var cache: CacheVisit?
        var cacheStatus: CacheStatus?
        /// It refreshes what its owner has been given already.
        var isRefresh = false
        /// It has waited for another run's answer, or found that it had just come.
        var hasFollowed = false
        /// Another run's answer has come for it.
        var isCollapsed = false
        var source = ResponseSource.network
        /// The fields as they were before the cache added its own.
        var callersHeaders: HeaderBlock?
        /// What came over the wire of a body that was put together with stored parts.
        var joined: Data?
        var isFileCommitted = false
    }

    override final var stepNumber: UInt64 { id }
    override final var asRun: RunCore? { self }

    package init(
        id: UInt64, template: RequestTemplate, session: Session, lane: DeliveryLane, feed: EventFeed?, listensToProgress: Bool,
        repeatKey: RequestAgent.RepeatKey?,
        origin: CodeOrigin, preparationError: NetworkError?
    ) {
        self.id = id
        self.template = template
        self.session = session
        self.lane = lane
        self.feed = feed
        self.origin = origin
        self.repeatKey = repeatKey
        self.preparationError = preparationError
        self.listensToProgress = listensToProgress
        ticket = Census.ticket(inheriting: session.ticket)
        super.init()
        LiveObjects.born(.run)
    }

    deinit {
        if let ticket, let ending = censusEnding { ticket.note(ending) }
        LiveObjects.died(.run)
    }

    // MARK: The exchange

    var exchange: TransferRequest {
        get {
            if let madeExchange { return madeExchange }
            let first = TransferRequest(
                id: exchangeID, url: template.url, method: template.method, headers: template.headers, body: template.body,
                options: template.transferOptions, wantsProgress: listensToProgress,
                wantsMilestones: !session.configuration.observers.isEmpty,
                repeatsSilently: template.method.isIdempotent && template.options.retry.silentReconnect, requestID: id)
            madeExchange = first
            return first
        }
        set {
            madeExchange = newValue
            exchangeID = newValue.id
        }
    }

    /// When the run as a whole must be over, as far as that is known.
    var attemptDeadline: UInt64? { madeExchange?.deadline }

    /// Whose slot the present exchange needs.
    var originID: UInt32 { (madeExchange?.url ?? template.url).originID }

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
    var isMuted: Bool { gateState.isMuted }

    /// Cancelled, and at work for others who wait for the same response: nothing is made of it here.
    var worksForOthers: Bool { isMuted && template.options.release != .detached }

    /// A release closes the gates of a detached run and nothing else, and so does any cancel while others wait for the same response.
    private func keepsWork(_ reason: CancelReason) -> Bool {
        template.options.release == .detached && (reason == .ownerReleased || reason == .requestReleased)
            || reason != .shutdown && leadsOthers
    }

    /// Asked before each stage: a cancelled run goes no further (G5), unless it is detached. Nor does one whose bag has ended, however many
    /// members that has: the bag's end will get to it.
    var mayGoOn: Bool {
        let state = gateState
        guard state.mayGoOn, !state.isOver, template.options.release != .detached else { return state.mayGoOn }
        return closedBag == nil || leadsOthers
    }

    package func cancel(_ reason: CancelReason) -> CancelResult {
        let (result, aftermath) = closeGate(reason)
        StepDoor.pass(.gateShut, id)
        settle(aftermath, reason)
        return result
    }

    override package func closeGate(_ reason: CancelReason) -> (result: CancelResult, aftermath: Aftermath) {
        let keepsWork = keepsWork(reason)
        StepDoor.pass(.gateAsked, id)
        var action = step { $0.cancel(reason: reason.name.rawValue, keepsWork: keepsWork) }
        // The last of the others may have left between the question and the step, and found nobody to stop.
        if keepsWork, !self.keepsWork(reason) {
            let second = step { $0.cancel(reason: reason.name.rawValue) }
            // Who closed the gate tears the run down, and the work with it.
            if action != .tearDown { action = second }
        }
        return switch action {
        case .tearDown: (.cancelled, .tearDown)
        // The call goes on; the transfer does not wait for that.
        case .leaveToCaller: (.callbackRunning, .stopWork)
        case .tooLate: (.callbackRunning, .none)
        case .stopWork: (.alreadyEnded, .stopWork)
        case .alreadyEnded: (.alreadyEnded, .none)
        }
    }

    override package func stopWork() {
        guard !mayGoOn else { return }
        abortStage()
        workEnded()
    }

    /// The winner of the step to *cancelled* comes here once: closures go, work is taken back, and what may still be said (`onEnd`,
    /// observers, an `await`) is the next item on the delivery executor.
    override package func tearDown(_ reason: CancelReason) {
        fallSilent()
        if let feed {
            feed.push(.cancelled, from: self)
        } else if hasLastWord {
            lane.enqueue(.run(self, .cancelled))
        } else {
            lastWordSaid()
        }
    }

    /// What a tear-down does before the last word.
    func fallSilent() {
        leaveBags()
        releaseHandlers()
        if !isMuted { return abortStage() }
        // It goes on for others, who did not suspend it, and nobody is left to resume it.
        if worksForOthers { _ = setSuspended(false) }
    }

    func startGate() -> Bool { step { $0.start() } == .proceed }

    /// One admitted call that is not the last. False: nothing may be called.
    func admitCall() -> Bool {
        StepDoor.pass(.beforeCall, id)
        guard step({ $0.admitCall() }) == .admitted else { return false }
        StepDoor.pass(.callAdmitted, id)
        return !withdrawIfBagsClosed()
    }

    func endCall() {
        StepDoor.pass(.callEnded, id)
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
        let keepsWork = keepsWork(reason)
        StepDoor.pass(.gateAsked, id)
        step { $0.withdrawAdmission(reason: reason.name.rawValue, keepsWork: keepsWork) }
        // As in `closeGate`.
        if keepsWork, !self.keepsWork(reason) { _ = step { $0.cancel(reason: reason.name.rawValue) } }
        tearDown(self.reason)
        return true
    }

    private var closedBag: BagStorage? {
        if isBagClosed { return bag }
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
        let stage = stage
        StepDoor.pass(.stageRead, id)
        switch stage {
        case .idle, .working, .parked: break
        case .queued(let number): _ = session.admission.remove(self, exchange: number)
        case .transferring(let number): session.transport.cancel(TransferID(number: number))
        case .waiting: break
        }
        cancelWaits()
    }

    // MARK: Rarely used state

    /// Timers, further bags: most runs never have any, so they live in a table beside the run.
    struct Rare {
        /// Timers, by the number of the exchange they were set for.
        var waits: [UInt64: any Cancellable] = [:]
        var links: [BagMember] = []
        var bags: [BagStorage] = []

        private static let stripes: [Shard] = (0..<16).map { _ in Shard() }
        private final class Shard: Sendable { let table = Lock<[UInt64: Rare]>([:]) }

        static func of(_ id: UInt64) -> Rare { stripes[Int(id & 15)].table.withLock { $0[id] } ?? Rare() }

        static func update<Result>(_ id: UInt64, _ body: (inout Rare) -> Result) -> Result {
            stripes[Int(id & 15)].table.withLock { body(&$0[id, default: Rare()]) }
        }

        /// Nil when there is nothing; makes nothing.
        static func ifAny<Result>(_ id: UInt64, _ body: (inout Rare) -> Result) -> Result? {
            stripes[Int(id & 15)].table.withLock { table in
                guard let index = table.index(forKey: id) else { return nil }
                return body(&table.values[index])
            }
        }

        static func take(_ id: UInt64) -> Rare? { stripes[Int(id & 15)].table.withLock { $0.removeValue(forKey: id) } }
    }

    /// A timer of one exchange. The caller looks at the stage afterwards: it may be over.
    func setWait(_ wait: any Cancellable, exchange number: UInt64) {
        Rare.update(id) { $0.waits[number] = wait }
        noteRare()
    }

    func cancelWait(exchange number: UInt64) {
        guard rareFlag.load(ordering: .sequentiallyConsistent) else { return }
        Rare.ifAny(id) { $0.waits.removeValue(forKey: number) }??.cancel()
    }

    private func cancelWaits() {
        guard rareFlag.load(ordering: .sequentiallyConsistent) else { return }
        let waits = Rare.ifAny(id) { rare in
            defer { rare.waits = [:] }
            return rare.waits
        }
        waits?.values.forEach { $0.cancel() }
    }

    /// After something was put in the table. A run that has left the agent meanwhile takes it out itself: nobody else will.
    private func noteRare() {
        rareFlag.store(true, ordering: .sequentiallyConsistent)
        if isRetired { dropRare() }
    }

    private func dropRare() {
        // Released here, outside the table's lock.
        let rare = Rare.take(id)
        rare?.waits.values.forEach { $0.cancel() }
    }

    /// Puts a run that is under way into one more bag.
    func join(_ storage: BagStorage) -> Bool {
        let link = RunLink(self)
        Rare.update(id) {
            $0.links.append(link)
            $0.bags.append(storage)
        }
        noteRare()
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
        let links = Rare.ifAny(id) { rare in
            defer { rare.links = [] }
            return rare.links
        }
        links?.forEach { $0.leaveBag() }
    }

    // MARK: The end

    // A cancelled run leaves the agent when its last word is said and no work goes on; whichever is last takes it out.
    private static let said: UInt8 = 1
    private static let workOver: UInt8 = 2

    /// After a cancellation: nothing is left to be called.
    func lastWordSaid(onLane: Bool = false) {
        if noteLastWord() { retire(onLane: onLane) }
    }

    /// - Returns: true when the run is to leave the agent now.
    func noteLastWord() -> Bool {
        let parts = departure.bitwiseOr(Self.said, ordering: .sequentiallyConsistent).newValue
        return parts & Self.workOver != 0 || !isMuted
    }

    /// The work of a muted run came to its end or was stopped.
    func workEnded(onLane: Bool = false) {
        let parts = departure.bitwiseOr(Self.workOver, ordering: .sequentiallyConsistent).newValue
        if parts & Self.said != 0 { retire(onLane: onLane) }
    }

    /// The run's last step: no user code of it is pending.
    ///
    /// On a delivery executor the agent's count is settled by the lane, after it has let the run go: when `idle()` returns the run is gone too.
    func retire(onLane: Bool = false) {
        guard noteRetired() else { return }
        agent.remove(self)
        if onLane {
            mustSettle = true
        } else {
            agent.settle(id)
        }
    }

    /// - Returns: true for the one who is to take the run out of the agent.
    func noteRetired() -> Bool {
        StepDoor.pass(.beforeEnd, id)
        guard !retired.exchange(true, ordering: .sequentiallyConsistent) else { return false }
        endFlight()
        if rareFlag.load(ordering: .sequentiallyConsistent) { dropRare() }
        return true
    }

    package var isRetired: Bool { retired.load(ordering: .sequentiallyConsistent) }

    // MARK: Suspending

    /// - Returns: true when this changed something.
    func setSuspended(_ value: Bool) -> Bool {
        guard mayGoOn, suspended.exchange(value, ordering: .sequentiallyConsistent) != value else { return false }
        feed?.push(observed: value ? .suspended : .resumed, from: self)
        switch stage {
        case .transferring(let number): applySuspension(TransferID(number: number))
        case .parked:
            if !value, leave(.parked, for: .idle) { submitAttempt() }
        case .idle, .queued, .waiting, .working: break
        }
        return true
    }

    /// Tells the transport what holds now, and again when that changed meanwhile: the last word it hears is the right one, whichever
    /// thread says it.
    func applySuspension(_ transfer: TransferID) {
        var value = isSuspended
        while true {
            value ? session.transport.suspend(transfer) : session.transport.resume(transfer)
            let now = isSuspended
            if now == value { return }
            value = now
        }
    }

    var isSuspended: Bool { suspended.load(ordering: .sequentiallyConsistent) }

    // MARK: Closures and outcome

    /// Whether something is to be said after a cancellation.
    var hasLastWord: Bool { fatalError("RequestRun") }
    /// For the census: what was not destroyed although the run has ended.
    var heldClosures: [String] { [] }
    /// Destroys success, failure, progress and delegate; keeps what `hasLastWord` is about.
    func releaseHandlers() { fatalError("RequestRun") }
    /// The body goes to a reader while it arrives.
    var hasStream: Bool { false }
    func bodyDestination() -> BodyDestination { .memory(limit: template.options.maxBodyBytes) }
    /// True when `process` costs nothing and may run on the network thread.
    func canProcessInline(_ result: TransferResult) -> Bool { fatalError("RequestRun") }
    /// Makes the outcome of a complete, accepted response.
    func process(_ result: TransferResult) { fatalError("RequestRun") }
    func setFailure(_ error: NetworkError) { fatalError("RequestRun") }
    /// What was made of the response may be stored with it.
    var mayStoreValue: Bool { fatalError("RequestRun") }
    /// Makes of a refreshed response what has to be made of it: nothing, unless the program looks at values before they are stored.
    var refreshDecoder: AnyDecoder { fatalError("RequestRun") }
    /// The value of a stored response, for the first of two deliveries; nil when nobody wants it or it cannot be made.
    func makeCached(_ result: TransferResult) -> AnyResponse? { fatalError("RequestRun") }
    func deliverEnding() { fatalError("RequestRun") }
    func deliverCancelled() { fatalError("RequestRun") }
    func deliverEvent(_ entry: EventFeed.Entry) -> EventOutcome { fatalError("RequestRun") }
}

/// A further bag a run is in.
private final class RunLink: BagMember, @unchecked Sendable {
    // Safety: as the base class; `run` is constant.
    private let run: RunCore
    override var stepNumber: UInt64 { run.id }
    override func isOf(_ run: RunCore) -> Bool { self.run === run }

    init(_ run: RunCore) {
        self.run = run
        super.init()
    }

    override func closeGate(_ reason: CancelReason) -> (result: CancelResult, aftermath: Aftermath) { run.closeGate(reason) }
    override func tearDown(_ reason: CancelReason) { run.tearDown(reason) }
    override func stopWork() { run.stopWork() }
}

extension TransferID {
    init(number: UInt64) { self.number = number }
}
