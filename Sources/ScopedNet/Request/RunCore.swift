import FoundationEssentials
import Glibc
import HTTPTypes
import Synchronization
import SystemSupport

/// One run of a request: what the agent retains from start to end, the bags link, and the transport reports to.
///
/// Its files: this one holds what it consists of, and the gate; `RunCore+Drive` takes it from stage to stage; `RunCore+Sink` hears the
/// transport; `RunCore+Value` makes of a response what was asked for; `RunDelivery` calls the user, as `RunCore+Delivery` and `RunCore+Admission`
/// let it; `RunCore+End` takes it out of the agent.
package final class RunCore: AgentEntry, @unchecked Sendable {
    // Safety: every stored property says who may touch it. What is not atomic is either immutable, or handed from stage to stage (one
    // stage at a time, each hand-over through a lock or queue), or owned by whoever won the gate's last step. The handlers are written in `init`;
    // success, failure and progress closures belong to whoever won that step (and to the delivery executor while a call is admitted, during
    // which nobody can win). `outcome` is written by the last stage and read by the delivery executor, which the stage handed the run to.

    // Immutable.
    package let template: RequestTemplate
    package let session: Session
    package var agent: RequestAgent { session.agent }
    package let origin: CodeOrigin
    package let startedAt = monotonicNow()
    let preparationError: NetworkError?
    package let ticket: CensusTicket?
    let decoder: AnyDecoder
    let stream: BodyStream?

    // Atomic.
    private let lifecycleWord = Atomic<UInt64>(RunLifecycle().word)
    let stageWord = Atomic<UInt64>(RunStage.idle.word)
    let extras = RunExtras.Slot()
    /// The highest level among those who wait for what it is getting, or zero.
    let followersLevel = Atomic<UInt8>(0)
    let attemptCounter = Atomic<Int>(1)
    /// How far it has come, for the error of a cancelled run. Beyond `queued` a server may know of it.
    let progress = Atomic<UInt8>(RunProgress.unsent.rawValue)

    /// The thread that retired the run on a delivery executor, and is to settle the agent's count when it has let the run go. Zero: nobody is.
    let settler = Atomic<UInt>(0)

    // Guarded by the session's admission queue.
    package var queuePlace: Int32 = -1

    // Handed from stage to stage. Unchecked: one stage has them at a time, and no access lasts longer than a load or a store.
    @exclusivity(unchecked) var exchanges: ExchangeBuilder
    @exclusivity(unchecked) var attempts = AttemptList()
    @exclusivity(unchecked) var drive = DriveState()

    /// Unchecked: its parts say whose they are, and no access lasts longer than a load or a store.
    @exclusivity(unchecked) var delivery: RunDelivery
    package var lane: DeliveryLane { delivery.executor }
    package var feed: EventFeed? { delivery.feed }
    var interest: RunInterest { delivery.interest }

    // Of whoever won the gate's last step.
    var outcome: RunOutcome?

    struct DriveState {
        var silentReconnects = 0
        var visits: [RedirectPolicy.Context.Visit] = []
        /// Of a download to a file.
        var download: DownloadSession?
        var hasBegun = false
        /// While an exchange is on its way through the cache to the server.
        var cache: CacheTransaction?
        var cacheStatus: ResponseCache.Status?
        /// It refreshes what its owner has been given already.
        var isRefresh = false
        /// It has waited for another run's answer, or found that it had just come.
        var hasFollowed = false
        /// Another run's answer has come for it.
        var isCollapsed = false
        var source = ResponseSource.network
        /// The head was of a type that is not accepted, and so the body went nowhere.
        var isTypeRefused = false
        /// The body that is coming is what was asked for, or the rest of it; progress tells of nothing else.
        var bodyIsValue = true
        /// The jar has filled the `Cookie` field in, not the caller.
        var hasJarCookies = false
        /// What came over the wire of a body that was put together with stored parts.
        var joined: Data?
        /// Nil for runs that have nothing to say about who they are.
        var authentication: AuthenticationSession?
        /// The download, in its place.
        var committed: FileSink?
        /// The length of the body that the decoder was given, or that is in the file.
        var decodedBytes: Int?
        /// The slot of the present exchange was given back before its end.
        var hasLeftConnection = false
        /// Whether it got there; nil while that was not tried.
        var commitOutcome: Result<Void, NetworkError>?
        /// A response whose body waits for the program.
        var held: HeldResponse?
    }

    /// Its own, or that of somebody more urgent who waits for the same response. Any thread.
    package var priority: Priority {
        let own = template.options.priority
        return Priority.allCases.last { $0.level == followersLevel.load(ordering: .sequentiallyConsistent) }.map { max($0, own) } ?? own
    }

    override var group: (any ScopeGroup.Type)? { RunGroup.self }
    override var ending: (@Sendable () async -> Void)? { { [self] in await agent.ended(self) } }
    override var repeatStrategy: RepeatStrategy { template.options.repeats.strategy }
    override var tag: String? { template.options.tag }
    override package var isRetired: Bool { lifecycle.isRetired }
    override func didEnter() { countStart() }
    override func uses(_ link: TransportLink) -> Bool { session.link === link }

    package init(
        template: RequestTemplate, requestID: UInt64, session: Session, decoder: AnyDecoder, handlers: consuming RunHandlers,
        stream: BodyStream? = nil, scope: String? = nil, repeatKey: RequestAgent.RepeatKey?, origin: CodeOrigin,
        preparationError: NetworkError?
    ) {
        self.decoder = decoder
        self.stream = stream
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
        delivery = RunDelivery(handlers, executor: lane, feed: feed)
        self.template = template
        self.session = session
        self.origin = origin
        self.preparationError = preparationError
        exchanges = ExchangeBuilder(
            template, runID: id, wantsProgress: wantsProgress || !observers.isEmpty, wantsMilestones: !observers.isEmpty)
        ticket = Census.ticket(inheriting: session.ticket)
        super.init(id: id, repeatKey: repeatKey)
        LiveObjects.born(.run)
        if let ticket { ticket.watch(self, .run, origin: origin.description, closures: delivery.handlers.origins) }
    }

    deinit {
        if let ticket, let ending = censusEnding { ticket.note(ending) }
        LiveObjects.died(.run)
    }

    /// The time since the start.
    var elapsed: Duration { .nanoseconds(Int64(clamping: monotonicNow() &- startedAt)) }

    // MARK: The exchange

    /// The present one, made where it is not yet.
    var exchange: TransferRequest { exchanges.current }
    package var exchangeID: TransferID { exchanges.id }
    package var admissionKey: AdmissionKey { exchanges.admissionKey }

    // MARK: The lifecycle

    package var lifecycle: RunLifecycle { RunLifecycle(word: lifecycleWord.load(ordering: .sequentiallyConsistent)) }

    @inline(__always)
    func step<Action>(_ transition: (inout RunLifecycle) -> Action) -> Action {
        var word = lifecycleWord.load(ordering: .sequentiallyConsistent)
        while true {
            var state = RunLifecycle(word: word)
            let action = transition(&state)
            let next = state.word
            if next == word { return action }
            let (exchanged, original) = lifecycleWord.compareExchange(expected: word, desired: next, ordering: .sequentiallyConsistent)
            if exchanged { return action }
            word = original
        }
    }

    /// The gates are closed and the transfer goes on (see ``ReleaseStrategy/detached``).
    var isMuted: Bool { lifecycle.isMuted }

    /// Cancelled, and at work for others who wait for the same response: nothing is made of it here.
    var worksForOthers: Bool { isMuted && template.options.release != .detached }

    /// A release closes the gates of a detached run and nothing else, and so does any cancel while others wait for the same response.
    func keepsWork(_ reason: CancelReason) -> Bool {
        template.options.release == .detached && (reason == .ownerReleased || reason == .requestReleased)
            || reason != .shutdown && leadsOthers
    }

    /// Asked before each stage: a cancelled run goes no further (G5), unless it is detached. Nor does one whose bag has ended, however many
    /// members that has: the bag's end will get to it.
    package var mayGoOn: Bool {
        let state = lifecycle
        guard state.mayGoOn, !state.isOver, template.options.release != .detached else { return state.mayGoOn }
        return closedBag == nil || leadsOthers
    }

    override package func closeGate(_ reason: CancelReason) -> (result: Run.CancelResult, aftermath: Aftermath) {
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
        countCancel()
        leaveBags()
        releaseHandlers()
        if !isMuted { return abortStage() }
        // It goes on for others, who did not suspend it, and nobody is left to resume it.
        if worksForOthers { _ = setSuspended(false) }
    }

    func startGate() -> Bool { step { $0.start() } == .proceed }

    var reason: CancelReason {
        CancelReason(CancelReason.Name(rawValue: lifecycle.reason) ?? .explicit)
    }
}
