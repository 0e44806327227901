import HTTPTypes
import Synchronization

/// A run that waits: for a moment, a path, another run, a slot, the program or a disk.
///
/// The stage says that it waits, and the number in it which wait that is. The one that takes the stage away from a wait owns the run: the timer,
/// the thing that was waited for, or the waiting thread where it sees a cancel.
protocol WaitingRun: ManagedRun {
    var exchanges: ExchangeBuilder { get set }
    var decoder: AnyDecoder { get }
    /// The present step has ended: the next ones follow, for as long as they are done at once. Call it only from the thread that owns the run now.
    func receive(_ event: RunEvent, _ input: consuming StepInput)
    /// Called by the thread that owns the run when it sees that it was cancelled: lets go of the download, of a body that is held, and of those who wait
    /// for the response.
    func abandonWork()
}

/// The things that one step leaves to the next, beside the event.
struct StepInput {
    /// Takes what is handed to other threads. The ``DeliveryBatch/direct`` one where the event came alone.
    var batch: DeliveryBatch
    /// The response that is judged, or the error in its place.
    var result: TransferResult?
    /// Most steps leave none of it: one word, so that all others are small.
    private var rare: Rare?

    private final class Rare {
        var error: NetworkError?
        var stored: StoredAnswer?
        var file: FileCommit?
        var copy: CacheCopy?
        var retryTiming: RetryTiming?
    }

    init(
        _ batch: DeliveryBatch = .direct, result: consuming TransferResult? = nil, error: NetworkError? = nil, stored: StoredAnswer? = nil
    ) {
        self.batch = batch
        self.result = result
        if error != nil { self.error = error }
        if stored != nil { self.stored = stored }
    }

    /// Takes the result, for the step that is the last to need it.
    mutating func takeResult() -> TransferResult? {
        var taken: TransferResult?
        swap(&taken, &result)
        return taken
    }

    /// The outcome, where it is an error.
    var error: NetworkError? {
        get { rare?.error }
        set { changeRare { $0.error = newValue } }
    }

    /// The stored response that is served.
    var stored: StoredAnswer? {
        get { rare?.stored }
        set { changeRare { $0.stored = newValue } }
    }

    /// A file that gets its place.
    var file: FileCommit? {
        get { rare?.file }
        set { if newValue != nil || rare != nil { changeRare { $0.file = newValue } } }
    }

    /// The copy of a file that goes into the cache.
    var copy: CacheCopy? {
        get { rare?.copy }
        set { if newValue != nil || rare != nil { changeRare { $0.copy = newValue } } }
    }

    /// The time until the next attempt.
    var retryTiming: RetryTiming? {
        get { rare?.retryTiming }
        set { changeRare { $0.retryTiming = newValue } }
    }

    private mutating func changeRare(_ change: (Rare) -> Void) {
        let rare = rare ?? Rare()
        self.rare = rare
        change(rare)
    }
}

extension WaitingRun {
    // MARK: From step to step

    func receive(_ event: RunEvent) { receive(event, StepInput()) }

    /// An error is the outcome.
    func fail(_ error: NetworkError, _ result: TransferResult? = nil, batch: DeliveryBatch = .direct) {
        receive(.failed, StepInput(batch, result: result, error: error))
    }

    /// The same, for the step to return.
    func failed(_ error: NetworkError, _ input: inout StepInput) -> RunEvent {
        input.error = error
        return .failed
    }

    /// Carries a part of the step out where it may block, and goes on from there.
    func block(_ input: inout StepInput, _ part: @escaping @Sendable (Self, inout StepInput) -> RunEvent?) -> RunEvent? {
        enter(.working)
        let (result, stored) = (input.result, input.stored)
        block(input.batch) { [self] in goOn(StepInput(result: result, stored: stored), part) }
        return nil
    }

    /// Does what may wait for a disk, in the batch at hand or at once.
    func block(_ batch: DeliveryBatch, _ job: @escaping BlockingPool.Job) {
        let group =
            template.destination.map { BlockingPool.Group(folderOf: $0) } ?? .init(session.configuration.cache ?? session as AnyObject)
        batch.block(group, job)
    }

    /// The rest of a step, on another thread. A cancelled run ends there.
    func goOn(_ input: consuming StepInput, _ part: (Self, inout StepInput) -> RunEvent?) {
        guard mayGoOn else { return abandonWork() }
        enter(.idle)
        if let event = part(self, &input) { receive(event, input) }
    }

    // MARK: The exchange

    /// The present one, made where it is not yet.
    var exchange: TransferRequest { exchanges.current }
    var exchangeID: TransferID { exchanges.id }
    /// The body goes to a reader while it arrives.
    var hasStream: Bool { stream != nil }

    func setOwnFields(_ fields: HTTPFields?) throws(NetworkError) {
        guard let fields else { return }
        exchanges.setHeaders(try session.headerBlock(fields, method: exchanges.method, body: exchanges.body))
    }

    // MARK: Errors

    func error(_ code: NetworkError.Code, _ phase: NetworkError.Phase, _ message: String) -> NetworkError {
        NetworkError(code, phase: phase, message: message, runID: id, attempt: exchanges.attempt)
    }

    /// Says that an error is this run's.
    func numbered(_ error: NetworkError) -> NetworkError {
        var error = error
        error.runID = id
        error.attempt = exchanges.attempt
        return error
    }

    /// The error of a run whose total time is over, of which `reason` says why it was still waiting.
    func totalTimeout(_ phase: NetworkError.Phase, _ reason: String = "") -> NetworkError {
        error(.totalTimeout, phase, "the total time of \(template.options.timeouts.total ?? .zero) is over\(reason)")
    }

    // MARK: Waits

    /// The run waits from here on. `arm` sets whatever ends the wait; from then on another thread may have the run and be far ahead.
    ///
    /// A cancel stores its word and then reads the stage; this stores the stage and then reads the word. One of the two sees the other: either the
    /// cancel takes the waits back, or this thread does, once it has armed them.
    func wait(_ stage: RunStage, arm: () -> Void) {
        enter(stage)
        arm()
        StepDoor.pass(.retryWaiting, id)
        abandonWait(stage)
    }

    /// Ends the wait after a time, unless something else has.
    func limit(_ stage: RunStage, to time: Duration, then expired: @escaping @Sendable (Self) -> Void) {
        let timer = session.timing.schedule(after: time) { [self] in
            if takeWait(stage) { expired(self) }
        }
        setWait(timer, .timer, of: stage.number)
    }

    /// Goes on where the wait is not over already; `late` is called where it is, or where the run has been cancelled.
    func resume(_ stage: RunStage, late: () -> Void = {}, _ next: (Self) -> Void) {
        guard takeWait(stage) else { return late() }
        // A cancel that came at the same moment leaves the run to whoever has it.
        guard mayGoOn else {
            late()
            return abandonWork()
        }
        next(self)
    }

    /// - Returns: true for the one who has the run now.
    func takeWait(_ stage: RunStage) -> Bool {
        guard leave(stage, for: .idle) else { return false }
        cancelWait(stage.number)
        return true
    }

    /// A cancel that came before the waits were known could not stop them; one that has ended left them behind.
    func abandonWait(_ stage: RunStage) {
        if !mayGoOn {
            cancelWait(stage.number)
            if leave(stage, for: .idle) { abandonWork() }
        } else if self.stage != stage {
            cancelWait(stage.number)
        }
    }

    /// The caller looks at the stage afterwards: the wait may be over.
    func setWait(_ item: any Cancellable, _ kind: WaitSet.Kind, of number: UInt64) {
        var replaced: (any Cancellable)?
        addExtra { replaced = $0.waits.set(item, kind, of: number) }
        replaced?.cancel()
    }

    func cancelWait(_ kind: WaitSet.Kind, of number: UInt64) {
        ifExtras { $0.waits.take(kind, of: number) }??.cancel()
    }

    func cancelWait(_ number: UInt64) {
        ifExtras { $0.waits.takeWait(number) }?.forEach { $0.cancel() }
    }

    func cancelWaits() {
        ifExtras { $0.waits.takeAll() }?.forEach { $0.cancel() }
    }

    // MARK: The total time

    /// The total time begins, with the first transfer or with what has to be asked before it.
    func beginTotalTime() {
        guard let total = template.options.timeouts.total, exchanges.deadline == nil else { return }
        exchanges.setDeadline(session.timing.now() &+ total.nanoseconds)
    }

    /// Of the total time; all of it where it has not begun. Nil without one.
    var timeLeft: Duration? { exchanges.deadline.map { left(until: $0) } ?? template.options.timeouts.total }

    func left(until deadline: UInt64) -> Duration {
        let now = session.timing.now()
        return .nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0))
    }

    // MARK: Questions

    /// Asks the program how to go on: an async closure decides, and the run waits for it as it waits for a retry. A cancel takes the question back.
    /// Any thread that has the run.
    ///
    /// - Parameters:
    ///   - question: not put once the run is cancelled; cancelled with it while it runs. Its task does not hold the run.
    ///   - expired: gets the error where the total time is over before there is an answer.
    ///   - next: goes on with the answer, on a thread of the concurrency runtime. Not called when the run is cancelled meanwhile.
    func ask<Answer: Sendable>(
        _ question: HookQuestion<Answer>, expired: @escaping @Sendable (Self, NetworkError) -> Void,
        next: @escaping @Sendable (Self, Answer) -> Void
    ) {
        // Of its own: the next step may wait again, while this thread still looks after this wait.
        let stage = RunStage.waiting(TransferID().number)
        wait(stage) {
            let hook = HookCall { question.drop() }
            setWait(hook, .answer, of: stage.number)
            limitAsking(stage, expired)
            StepDoor.pass(.retryWaiting, id)
            hook.run { [weak self] in
                // Looked at after the call was begun: a cancel that came before is seen here, a later one sees the call.
                guard self?.mayBeAsked(stage) == true else { return }
                guard let answer = await question.answer(), let self else { return }
                StepDoor.pass(.hookAnswered, id)
                resume(stage) { next($0, answer) }
            }
        }
    }

    /// Answers come within the total time, or too late. Known before the question is put: whoever takes the wait takes the timer with it.
    func limitAsking(_ stage: RunStage, _ expired: @escaping @Sendable (Self, NetworkError) -> Void) {
        guard let deadline = exchanges.deadline else { return }
        limit(stage, to: left(until: deadline)) { run in
            expired(run, run.totalTimeout(.receiving, ", and the hook, handler or token source it waits for has not answered"))
        }
    }

    /// False where a question may not be put any more. Then nobody else may have seen that the run is over, and it leaves from here.
    private func mayBeAsked(_ stage: RunStage) -> Bool {
        if mayGoOn { return true }
        if takeWait(stage) { abandonWork() }
        return false
    }

    // MARK: Disks

    /// Waits for an answer that somebody else's threads give, as those of a disk: within the total time, and a little longer where that is over
    /// already.
    ///
    /// - Parameters:
    ///   - limit: the time there is for an answer, where that is less than what is left of the total time.
    ///   - request: hands on the closure that takes the answer, and does not call it itself.
    ///   - next: with nil where there was no answer in time. Not called when the run is cancelled meanwhile.
    ///   - late: with an answer that came when the run was over.
    func waitForAnswer<Answer: Sendable>(
        atMost limit: Duration? = nil, _ request: (_ answered: @escaping @Sendable (Answer) -> Void) -> Void,
        next: @escaping @Sendable (Self, Answer?) -> Void, late: @escaping @Sendable (Answer) -> Void = { _ in }
    ) {
        let stage = RunStage.waitingForDisk(TransferID().number)
        wait(stage) {
            if let time = [timeLeft.map { max($0, .milliseconds(100)) }, limit].compactMap({ $0 }).min() {
                self.limit(stage, to: time) { next($0, nil) }
            }
            request { [self] answer in resume(stage, late: { late(answer) }) { next($0, answer) } }
        }
    }

    /// Does what may wait for a disk, and goes on with its answer. `work` touches nothing of the run that changes from step to step: nobody waits for
    /// it once the time is over.
    func waitForDisk<Answer: Sendable>(
        atMost limit: Duration? = nil, _ work: @escaping @Sendable () -> Answer, next: @escaping @Sendable (Self, Answer?) -> Void,
        late: @escaping @Sendable (Answer) -> Void = { _ in }
    ) {
        waitForAnswer(atMost: limit, { answered in block(.direct) { answered(work()) } }, next: next, late: late)
    }
}
