import FoundationEssentials
import HTTPTypes
import Synchronization

/// The work of one run, from step to step: ``RunMachine`` says which step is next, and ``perform(_:_:)`` carries it out.
///
/// A step that is done at once returns its event, and the next follows. One that is done later returns nil, and the thread that ends it calls
/// ``receive(_:_:)``, perhaps before this has returned. The run belongs to one thread at a time.
///
/// The steps stand in protocols, each of which sees what it and its parents list, and ``ManagedRun``: ``DownloadRun``, ``AuthenticatedRun``, ``CachedRun``,
/// ``QueuedRun``, ``RedirectedRun``, ``RetriedRun``, ``InterceptedRun``, ``JudgedRun``. Those that ask the program are ``HookedRun``, and all are ``WaitingRun``, which
/// knows how a run waits. ``ManagedRun`` is the run as its agent, bags and callbacks see it.
package final class RunDriver: ManagedRun, @unchecked Sendable {
    // Safety: what is neither atomic nor immutable is handed from step to step (one step at a time, each hand-over through a lock or queue), or
    // owned as ``ManagedRun`` says.

    // Immutable.
    let preparationError: NetworkError?
    let decoder: AnyDecoder

    // Guarded by its admission queue.
    package var queuePlace: Int32 = -1

    // Handed from step to step. Unchecked: one step has them at a time, and no access lasts longer than a load or a store.
    @exclusivity(unchecked) private var machine = RunMachine()
    @exclusivity(unchecked) var exchanges: ExchangeBuilder
    @exclusivity(unchecked) var attempts = AttemptList()
    @exclusivity(unchecked) var sending = SendingState()
    @exclusivity(unchecked) var caching = CacheState()
    @exclusivity(unchecked) var redirecting = RedirectState()
    @exclusivity(unchecked) var downloading = DownloadState()
    @exclusivity(unchecked) var receiving = ReceivingState()
    @exclusivity(unchecked) var authentication: AuthenticationSession?
    @exclusivity(unchecked) var interception: InterceptionSession?

    package init(
        template: RequestTemplate, requestID: UInt64, session: Session, decoder: AnyDecoder, handlers: consuming RunHandlers,
        stream: BodyStream? = nil, scope: String? = nil, isRefresh: Bool = false, repeatKey: RequestAgent.RepeatKey?, origin: CodeOrigin,
        preparationError: NetworkError?
    ) {
        self.decoder = decoder
        let lane = handlers.preferredLane ?? (handlers.resolve != nil && handlers.isOtherwiseEmpty ? .resumption : session.lane)
        let wantsEvents = handlers.delegate != nil || !handlers.head.isEmpty || !handlers.cached.isEmpty
        let wantsProgress = handlers.delegate != nil || !handlers.sent.isEmpty || !handlers.received.isEmpty
        var observers = session.configuration.observers
        if let own = handlers.observer { observers.append(own) }
        let id = Identifier.next()
        var feed: EventFeed?
        if wantsEvents || wantsProgress || !observers.isEmpty {
            let info = Run.Info(
                id: id, requestID: requestID, method: template.method, url: template.url.description,
                headers: template.fields, scope: scope ?? TaskScope.bag?.label, release: template.options.release,
                tag: template.options.tag, userInfo: template.options.userInfo, origin: origin.description)
            feed = EventFeed(observers: observers, info: info, hasHandlers: wantsEvents || wantsProgress)
        }
        self.preparationError = preparationError
        exchanges = ExchangeBuilder(
            template, runID: id, wantsProgress: wantsProgress || !observers.isEmpty, wantsMilestones: !observers.isEmpty,
            isLive: stream != nil)
        super.init(
            id: id, template: template, session: session, delivery: RunDelivery(handlers, executor: lane, feed: feed), stream: stream,
            isRefresh: isRefresh, repeatKey: repeatKey, origin: origin)
    }

    // MARK: From step to step

    /// The present step has ended: the next ones follow, for as long as they are done at once. Call it only from the thread that owns the run now.
    func receive(_ event: RunEvent, _ input: consuming StepInput) {
        var event: RunEvent? = event
        while let ended = event { event = advance(ended, &input) }
    }

    /// Carries out the step that follows the event, and no further one.
    func advance(_ event: RunEvent, _ input: inout StepInput) -> RunEvent? {
        guard let next = machine.handle(event) else {
            // A mistake of this library. A run that nobody ends would be worse than one that fails; one that has an outcome ends by itself.
            assertionFailure("\(event) in \(machine.step)")
            return event == .failed ? nil : failed(error(.other, .preparing, "no step follows \(event) in \(machine.step)"), &input)
        }
        switch next {
        // Another exchange, or another response in the place of the last one: that must not be said of an error that follows.
        case .consultCache, .serve, .condition, .backOff: input.result = nil
        default: break
        }
        return perform(next, &input)
    }

    /// - Returns: nil where the run is no longer this thread's: the step ends elsewhere, or later, or the run goes no further.
    private func perform(_ step: RunStep, _ input: inout StepInput) -> RunEvent? {
        switch step {
        case .created: nil
        case .interceptCall: interceptCall(&input)
        case .claimTarget: claimTarget()
        case .authorize: authorize(&input)
        case .consultCache(let elsewhere): consultCache(&input, elsewhere: elsewhere)
        case .coalesce: coalesce()
        case .serveFirst: serveFirst(&input)
        case .serve: serve(&input)
        case .condition: condition(&input)
        case .awaitPath: awaitPath()
        case .interceptExchange: interceptExchange(&input)
        case .awaitRate: awaitRate()
        case .awaitSlot: awaitSlot(&input)
        case .park: park()
        case .transfer: transfer()
        case .awaitDisposition: awaitDisposition(&input)
        case .finishPart: finishPart(&input)
        case .leaveExchange: leaveExchange(&input)
        case .updateCache: updateCache(&input)
        case .judge(let declined): judge(&input, after: declined)
        case .backOff: backOff(&input)
        case .replaceError: replaceError(&input)
        case .storeRefused: storeRefused(&input)
        case .placeFile: placeFile(&input)
        case .makeValue: makeValue(&input)
        case .copyToCache: copyToCache(&input)
        case .fail: fail(&input)
        case .deliver: deliver(&input)
        }
    }

    // MARK: The exchange

    package var exchangeID: TransferID { exchanges.id }
    package var admissionKey: AdmissionKey { exchanges.admissionKey }
    override package var wantsProgress: Bool { exchanges.wantsProgress }

    override var completion: RequestEvent.Completion {
        let fromNetwork = receiving.source == .network ? Int(clamping: attempts.last?.bodyBytesReceived ?? 0) : 0
        return RequestEvent.Completion(
            bodyBytes: receiving.decodedBytes ?? fromNetwork, metrics: attempts.all, duration: elapsed,
            filePath: downloading.committed?.destination)
    }

    // MARK: Taking work back

    override func abortWork() {
        let stage = stage
        StepDoor.pass(.stageRead, id)
        switch stage {
        case .idle, .working, .parked, .waiting, .waitingForDisk: break
        case .queued(let number): _ = slots.remove(self, exchange: TransferID(number: number))
        case .transferring(let number): session.transport.cancel(TransferID(number: number))
        }
        cancelWaits()
        releaseTarget()
    }

    /// From a thread that must not wait for the disk, and may know nothing of the stage. Nothing happens where the run has let go by itself.
    override func releaseTarget() {
        guard template.destination != nil, let claim = DownloadClaims.shared.claim(ofRun: id) else { return }
        block(.direct) { claim.end() }
    }

    override func suspensionChanged(to value: Bool) {
        switch stage {
        case .transferring(let number): applySuspension(TransferID(number: number))
        case .parked:
            if !value, leave(.parked, for: .idle) { receive(.resumed(hasSlot: false)) }
        case .idle, .queued, .waiting, .waitingForDisk, .working: break
        }
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
}

/// The beginning and the end of the work.
extension RunDriver {
    /// Caller's thread. `batch` takes what is ready at once; the caller ends it.
    package func begin(batch: DeliveryBatch = .direct) {
        StepDoor.pass(.beforeStart, id)
        guard step({ $0.start() }) == .proceed else { return }
        feed?.push(observed: .created, from: self)
        announceUpgrade()
        if let preparationError { return fail(numbered(preparationError)) }
        // A refresh has been through the cache already.
        if caching.transaction != nil { return receive(.began(.refresh)) }
        guard session.link.users.acceptsRun else { return fail(error(.shutdown, .preparing, "the session was shut down")) }
        guard !mayIntercept else { return receive(.began(.call), StepInput(batch)) }
        receive(.began(beginning), StepInput(batch))
    }

    /// A cancelled run met its next step. Nobody waits for its work: it has left the agent, or leaves with its last callback.
    func abandonWork() {
        endLeading()
        enter(.idle)
        if let held = receiving.held { abandon(held) }
        dropDownload()
    }

    /// The fields of another attempt, with the cookies and credentials of this moment.
    func renewedFields() -> HeaderBlock { authorizedForRetry(cookiesOfRetry()) }

    /// Refreshes what is served, beside this run: its owner has an answer and may go.
    func refresh(_ transaction: CacheTransaction) {
        guard transaction.cache.beginRefresh(transaction.key, transaction.found) else { return }
        let (cache, key) = (transaction.cache, transaction.key)
        var handlers = RunHandlers()
        handlers.resolve = { _ in cache.endRefresh(key) }
        let run = RunDriver(
            template: template, requestID: id, session: session, decoder: refreshDecoder, handlers: handlers, isRefresh: true,
            repeatKey: nil, origin: origin, preparationError: nil)
        // Of this hop, not of the one the request began with.
        run.exchanges = exchanges.refresh(runID: run.id)
        // The way there decides about cookies.
        run.redirecting.hasJarCookies = redirecting.hasJarCookies
        run.redirecting.visits = redirecting.visits
        run.caching.transaction = transaction
        _ = agent.add(run)
        run.begin()
    }
}

// MARK: - Its neighbours

extension RunDriver: JudgedRun, QueuedRun {}

extension RunDriver: SessionBound {
    package var userInfo: [String: any Sendable] { template.options.userInfo }
}

extension RunDriver: RateWaiter {
    func rateGranted(_ number: UInt64, _ permit: HostRateLimiter.Permit) { takeTurn(number, permit) }
}

extension RunDriver: AdmissionWaiter {
    package var queuedExchange: TransferID? {
        guard case .queued(let number) = stage else { return nil }
        return TransferID(number: number)
    }

    package func didLeaveQueue() { _ = leave(stage, for: .idle) }
    package func beginTransfer() -> Bool { takeSlot() }
}

extension RunDriver: CoalescedMember {
    func setFollowersLevel(_ level: UInt8) -> Bool {
        guard followersLevel.exchange(level, ordering: .sequentiallyConsistent) != level else { return false }
        slots.reprioritize(self)
        return true
    }

    func followersHaveGone() {
        // Also one whose callback is running still: it is about to be cancelled.
        if lifecycle.goesOn { _ = cancel(reason) }
    }
}

extension TransferID {
    init(number: UInt64) { self.number = number }
}
