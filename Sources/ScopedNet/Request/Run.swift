import SystemSupport

/// One start of a request, as `start` returns it. Keep it to cancel, suspend or look; dropping it changes nothing unless the request says
/// ``ReleaseStrategy/cancelOnRelease``.
public final class Run: Sendable {
    package let core: RunDriver
    private let token: HandleToken?
    /// Whether the start that returned this was refused, under ``RepeatStrategy/keepRunning``: it made no run, its closures were
    /// released, and this is the run that continues in its place, whoever started it.
    public let wasRefused: Bool

    package init(core: RunDriver, token: HandleToken?, wasRefused: Bool = false) {
        self.core = core
        self.token = token
        self.wasRefused = wasRefused
        core.ticket?.noteHandle(1)
    }

    deinit { core.ticket?.noteHandle(-1) }

    /// The error of an `await` whose start was refused for this run.
    var refusal: NetworkError {
        NetworkError(.duplicateRequest, phase: .preparing, message: "run \(id) is under way", runID: id)
            .asked(core.template.method, core.template.url)
    }

    /// Unique in the process.
    public var id: UInt64 { core.id }

    /// Ends the run; the answer says what that achieved (G3). Success, failure, progress and delegate are not called any more; `onEnd` is,
    /// later, on the delivery executor. Never blocks; any thread; idempotent.
    @discardableResult
    public func cancel() -> Run.CancelResult { Run.CancelResult(core.cancel(.explicit)) }

    /// Cancels, and returns when no callback of this run is executing any more. Do not call it from inside one of them.
    @discardableResult
    public func cancelAndWait() async -> Run.CancelResult {
        let result = Run.CancelResult(core.cancel(.explicit))
        await core.agent.ended(core)
        return result
    }

    /// Pauses the transfer itself: no byte moves, the idle clock is held. What is already on its way to you may still arrive.
    ///
    /// - Returns: false when it was suspended already, was cancelled or has ended. A transfer that outlives its cancel for the sake of others
    ///   cannot be held up.
    @discardableResult
    public func suspend() -> Bool { core.setSuspended(true) }

    /// Lets a suspended transfer go on, from where it was.
    ///
    /// - Returns: false when it was not suspended, was cancelled or has ended.
    @discardableResult
    public func resume() -> Bool { core.setSuspended(false) }

    /// Changes the place in the queue, now and for later attempts and redirects of the run; what transfers already is not touched. Others that wait
    /// for the same response keep it as urgent as the most urgent of them.
    public func setPriority(_ priority: Priority) {
        core.changePriority(priority)
    }

    /// The present place in the queue: as the options say, or as it was set since.
    public var priority: Priority { core.priority }

    /// ``RequestOptions/tag`` of the run.
    public var tag: String? { core.template.options.tag }

    /// Puts the run in a further bag; the first bag to end cancels it.
    @discardableResult
    public func store(in bag: DeallocBag) -> Self {
        bag.insert(self)
        return self
    }

    /// A snapshot of the run, taken now.
    public var status: Run.Status { core.status }
}

extension RunDriver {
    func changePriority(_ priority: Priority) {
        setOwnPriority(priority)
        // Queued before the word was stored, it is found waiting here; queued later, it has read the word (`AdmissionQueue.submit`).
        slots.reprioritize(self)
    }
}

extension Run {
    /// A snapshot of a run.
    public struct Status: Sendable, CustomStringConvertible {
        /// Where it is. New stages may be added; keep a default when you switch.
        public enum Stage: String, Sendable {
            /// The stages in the order in which a run passes them; a retry goes back, and `ended` or `cancelled` is the last one.
            case created, queued, transferring, waitingToRetry, decoding, delivering, suspended, ended, cancelled
        }

        /// The stage of the moment.
        public let stage: Stage
        /// The number of the attempt. Counts from 1.
        public let attempt: Int
        /// True between ``Run/suspend()`` and ``Run/resume()``.
        public let isSuspended: Bool
        /// The reason when the run was cancelled, also by its bag or agent; nil otherwise.
        public let cancelReason: CancelReason?
        /// Started and neither ended nor cancelled.
        public var isExecuting: Bool { ![.created, .ended, .cancelled].contains(stage) }

        /// The stage and the attempt, such as `transferring, attempt 1`.
        public var description: String { "\(stage.rawValue), attempt \(attempt)\(cancelReason.map { " (\($0))" } ?? "")" }
    }
}

extension ManagedRun {
    package var status: Run.Status {
        let state = lifecycle
        let stage: Run.Status.Stage =
            switch state.phase {
            case .created: .created
            case .ended: .ended
            case .cancelled, .cancelRequested: .cancelled
            case .ending, .silenced: .delivering
            case .open, .calling:
                switch self.stage {
                case .queued: .queued
                case .transferring: isSuspended ? .suspended : .transferring
                case .waiting: .waitingToRetry
                case .working, .waitingForDisk: .decoding
                case .parked: .suspended
                case .idle: .delivering
                }
            }
        let isCancelled = stage == .cancelled
        return Run.Status(stage: stage, attempt: attemptNumber, isSuspended: isSuspended, cancelReason: isCancelled ? reason : nil)
    }
}

/// Shared by a request and its runs under ``ReleaseStrategy/cancelOnRelease``: when the last of them is gone, so is this.
package final class HandleToken: Sendable {
    /// The runs under way. Runs do not hold the token, so that dropping handles is noticed.
    private let runs = Lock<[UInt64: WeakReference<RunDriver>]>([:])

    func adopt(_ run: RunDriver) {
        runs.withLock { runs in
            if runs.count > 16 { runs = runs.filter { $0.value.object != nil } }
            runs[run.id] = WeakReference(run)
        }
    }

    deinit {
        let live = runs.withLock { $0.values.compactMap(\.object) }
        for run in live { _ = run.cancel(.requestReleased) }
    }
}

extension RequestAgent {
    package func liveRuns() -> [RunDriver] { liveEntries().compactMap { $0 as? RunDriver } }

    /// Finds the run with an id (``Run/id``), from its start to the end of its last callback; nil otherwise. Any thread; it looks at a sixteenth of what
    /// the agent holds.
    public func run(id: UInt64) -> Run? { entry(id: id).flatMap { $0 as? RunDriver }.map { Run(core: $0, token: nil) } }

    /// Finds the runs with a tag (``RequestOptions/tag``), the earliest first; all of them without one. Any thread.
    public func runs(tag: String? = nil) -> [Run] {
        liveRuns().filter { tag == nil || $0.tag == tag }.sorted { $0.id < $1.id }.map { Run(core: $0, token: nil) }
    }
}

extension DeallocBag {
    /// Puts a running request in this bag too; it may be in several, and the first to end cancels it.
    ///
    /// - Returns: false when the bag had ended (the run is cancelled) or the run has.
    @discardableResult
    public func insert(_ run: Run) -> Bool { run.core.join(storage) }
}
