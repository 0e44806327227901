import Synchronization
import SystemSupport

/// A run, as its agent, its bags and its callbacks see it: whether anything may still be called, and how it is torn down. Its work is that of
/// ``RunDriver``, of which nothing is known here.
///
/// Its files: this one holds what it consists of and the cancel; `ManagedRun+Calls` admits each call; `ManagedRun+Delivery` says what there is to
/// say, on the callback executor; `ManagedRun+Departure` takes it out of the agent; `ManagedRun+Bags` has
/// its further bags, `ManagedRun+Census` what leak tests are told.
package class ManagedRun: AgentEntry, @unchecked Sendable {
    // Safety: what is not atomic is immutable, or owned by whoever won the lifecycle's last step. The handlers are written in `init`; success,
    // failure and progress closures belong to whoever won that step (and to the callback executor while a call is admitted, during which nobody
    // can win). `outcome` is written by the last step of the work and read by the callback executor, which that step handed the run to.

    // Immutable.
    package final let template: RequestTemplate
    package final let session: Session
    package final var agent: RequestAgent { session.agent }
    package final let origin: CodeOrigin
    package final let startedAt = monotonicNow()
    final let ticket: CensusTicket?
    final let stream: BodyStream?
    /// It refreshes what its owner has been given already, and is no request of the program.
    final let isRefresh: Bool

    // Atomic.
    private let lifecycleWord = Atomic<UInt64>(RunLifecycle().word)
    private let stageWord = Atomic<UInt64>(RunStage.idle.word)
    final let extras = RunExtras.Slot()
    /// The highest level among those who wait for what it is getting, or zero.
    final let followersLevel = Atomic<UInt8>(0)
    /// The level that was set since the start, plus one; zero for none.
    private let ownLevel = Atomic<UInt8>(0)
    /// The furthest point it has come to, for the error of a cancelled run. Beyond `unsent` a server may know of it.
    private let progress = Atomic<UInt8>(RunProgress.unsent.rawValue)
    private let attemptCounter = Atomic<Int>(1)
    /// The thread that retired the run on a callback executor, and is to settle the agent's count when it has let the run go. Zero: nobody is.
    final let settler = Atomic<UInt>(0)

    /// Unchecked: its parts say whose they are, and no access lasts longer than a load or a store.
    @exclusivity(unchecked) final var delivery: RunDelivery
    package final var lane: DeliveryLane { delivery.executor }
    package final var feed: EventFeed? { delivery.feed }
    final var interest: RunInterest { delivery.interest }

    // Written by the last step of the work.
    final var outcome: RunOutcome?

    init(
        id: UInt64, template: RequestTemplate, session: Session, delivery: consuming RunDelivery, stream: BodyStream?, isRefresh: Bool,
        repeatKey: RequestAgent.RepeatKey?, origin: CodeOrigin
    ) {
        self.template = template
        self.session = session
        self.delivery = delivery
        self.stream = stream
        self.isRefresh = isRefresh
        self.origin = origin
        ticket = Census.ticket(inheriting: session.ticket)
        super.init(id: id, repeatKey: repeatKey)
        LiveObjects.born(.run)
        if let ticket { ticket.watch(self, .run, origin: origin.description, closures: self.delivery.handlers.origins) }
    }

    deinit {
        if let ticket, let ending = censusEnding { ticket.note(ending) }
        LiveObjects.died(.run)
    }

    override final var group: (any ScopeGroup.Type)? { RunGroup.self }
    override final var ending: (@Sendable () async -> Void)? { { [self] in await agent.ended(self) } }
    override final var repeatStrategy: RepeatStrategy { template.options.repeats.strategy }
    override final var tag: String? { template.options.tag }
    override package final var isRetired: Bool { lifecycle.isRetired }
    override final func uses(_ link: AnyObject) -> Bool { session.link === link }
    override final func didEnter() { if !isRefresh { session.counter.start() } }

    // MARK: The work, which somebody else does

    /// Takes the work of the present step back. Idempotent, never blocks. Any thread.
    func abortWork() {}

    /// True where a delegate, closure or observer is told of progress.
    package var wantsProgress: Bool { false }

    /// Releases the claim on the target of a download. Any thread, idempotent.
    func releaseTarget() {}

    /// The facts of the end that only the work knows; the outcome is added to them. Callback executor.
    var completion: RequestEvent.Completion { RequestEvent.Completion(bodyBytes: 0, metrics: [], duration: elapsed, filePath: nil) }

    /// The result once the run has ended; nil before and after a cancellation. Any thread.
    package final var result: RunOutcome? { lifecycle.phase == .ended ? outcome : nil }

    /// The time since the start.
    final var elapsed: Duration { .nanoseconds(Int64(clamping: monotonicNow() &- startedAt)) }

    /// Its own priority, or that of somebody more urgent who waits for the same response. Any thread.
    package final var priority: Priority {
        let set = ownLevel.load(ordering: .sequentiallyConsistent)
        let own = set == 0 ? template.options.priority : Priority.allCases[Int(set) - 1]
        return Priority.allCases.last { $0.level == followersLevel.load(ordering: .sequentiallyConsistent) }.map { max($0, own) } ?? own
    }

    /// Its next place in the queue is by the new one. Any thread.
    final func setOwnPriority(_ priority: Priority) { ownLevel.store(priority.level + 1, ordering: .sequentiallyConsistent) }

    /// The number of the present attempt, for snapshots. Any thread.
    final var attemptNumber: Int { attemptCounter.load(ordering: .relaxed) }
    final func note(attempt: Int) { attemptCounter.store(attempt, ordering: .relaxed) }

    private var reachedStep: RunProgress { RunProgress(rawValue: progress.load(ordering: .relaxed)) ?? .unsent }

    /// The thread that does the run's work; one at a time.
    final func note(_ step: RunProgress) { progress.store(reachedStep.after(step).rawValue, ordering: .relaxed) }

    final var reachedPhase: NetworkError.Phase { reachedStep.phase }

    // MARK: The lifecycle

    package final var lifecycle: RunLifecycle { RunLifecycle(word: lifecycleWord.load(ordering: .sequentiallyConsistent)) }

    @inline(__always)
    final func step<Action>(_ transition: (inout RunLifecycle) -> Action) -> Action {
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

    /// Nothing is called any more, and the transfer goes on (see ``ReleaseStrategy/detached``).
    final var isMuted: Bool { lifecycle.isMuted }
    final var isSuspended: Bool { lifecycle.isSuspended }

    /// Cancelled, and at work for others who wait for the same response: nothing is made of it here.
    final var worksForOthers: Bool { isMuted && template.options.release != .detached }

    /// A release silences a detached run and does nothing else, and so does any cancel but a shutdown while others wait for the same response.
    final func keepsWork(_ reason: CancelReason) -> Bool {
        template.options.release == .detached && (reason == .ownerReleased || reason == .requestReleased)
            || reason != .shutdown && leadsOthers
    }

    /// Asked before each step that begins something: a cancelled run goes no further (G5), unless it is detached, or others wait for its response. Also
    /// false where a bag has ended and has not come to cancelling this member yet.
    package final var mayGoOn: Bool {
        let state = lifecycle
        guard state.mayGoOn, !state.isOver, template.options.release != .detached else { return state.mayGoOn }
        return closedBag == nil || leadsOthers
    }

    final var reason: CancelReason { CancelReason(CancelReason.Name(rawValue: lifecycle.reason) ?? .explicit) }

    // MARK: Cancelling

    override package final func closeGate(_ reason: CancelReason) -> (result: CancelOutcome, aftermath: Aftermath) {
        let keepsWork = keepsWork(reason)
        StepDoor.pass(.gateAsked, id)
        var action = step { $0.cancel(reason: reason.name.rawValue, keepsWork: keepsWork) }
        // The last of the others may have left between the question and the step, and found nobody to stop.
        if keepsWork, !self.keepsWork(reason) {
            let second = step { $0.cancel(reason: reason.name.rawValue) }
            // The thread that silenced the run tears it down, and the work with it.
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

    override package final func stopWork() {
        guard !mayGoOn else { return }
        abortWork()
        workEnded()
    }

    /// The winner of the step to *cancelled* comes here once: closures go, work is taken back, and what may still be said (`onEnd`, observers, an
    /// `await`) is the next item on the callback executor.
    override package final func tearDown(_ reason: CancelReason) {
        fallSilent()
        if let feed {
            feed.push(.cancelled, from: self)
        } else if hasLastWord {
            lane.enqueue(.run(self, .cancelled))
        } else {
            lastWordSaid()
        }
    }

    /// The part of a tear-down before the last word.
    final func fallSilent() {
        if !isRefresh { session.counter.cancel() }
        leaveBags()
        releaseHandlers()
        if !isMuted { return abortWork() }
        // Its owner hears nothing more, and neither do those who look at the call as a whole. Exchanges keep theirs: they are signed by them.
        (ifExtras { $0.waits.item(.call, of: 0) } as? InterceptorChain)?.silence()
        ifExtras { $0.waits.takeAll(.reader) }?.forEach { $0.cancel() }
        // It goes on for others, who did not suspend it, and nobody is left to resume it.
        if worksForOthers { _ = setSuspended(false) }
    }

    // MARK: Suspending

    /// The transfer is held up, or let go on, as the lifecycle says. Any thread.
    func suspensionChanged(to value: Bool) {}

    /// - Returns: true when this changed something.
    final func setSuspended(_ value: Bool) -> Bool {
        guard mayGoOn else { return false }
        StepDoor.pass(.suspensionAsked, id)
        let isDetached = template.options.release == .detached
        guard step({ $0.setSuspended(value, isDetached: isDetached) }) == .changed else { return false }
        // Others do not wait for what its owner holds up.
        if value { endLeading() }
        feed?.push(observed: value ? .suspended : .resumed, from: self)
        suspensionChanged(to: value)
        return true
    }

    // MARK: The stage of the work

    final var stage: RunStage { RunStage(word: stageWord.load(ordering: .sequentiallyConsistent)) }

    final func enter(_ stage: RunStage) { stageWord.store(stage.word, ordering: .sequentiallyConsistent) }

    /// - Returns: false where the stage is another one by now.
    final func leave(_ stage: RunStage, for next: RunStage) -> Bool {
        stageWord.compareExchange(expected: stage.word, desired: next.word, ordering: .sequentiallyConsistent).exchanged
    }

    // MARK: Leading others

    /// Others wait for what this run is getting: it goes on for them when its owner has gone. Any thread.
    final var leadsOthers: Bool { lifecycle.isLeading && session.configuration.cache?.coalescer.isFollowed(ledBy: id) == true }

    /// The answer that others wait for is in the cache, or will not be. Any thread, and at the latest when the run leaves the agent.
    final func endLeading() {
        guard lifecycle.isLeading, step({ $0.endLeading() }) == .tellOthers else { return }
        session.configuration.cache?.coalescer.end(ledBy: id)
        followersLevel.store(0, ordering: .sequentiallyConsistent)
    }
}

extension ManagedRun: EventSource {}
