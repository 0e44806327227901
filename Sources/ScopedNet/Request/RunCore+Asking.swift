import SystemSupport

/// Asking the program, between two exchanges, how to go on: an async closure decides, and the run waits for it as it waits for a retry.
extension RunCore {
    /// Any thread that has the run. Nothing else happens to the run until there is an answer; a cancel takes the question back.
    ///
    /// - Parameters:
    ///   - question: not called once the run is cancelled; cancelled with it while it runs. Its task does not hold the run.
    ///   - next: goes on with the answer, on a thread of the concurrency runtime. Not called when the run is cancelled meanwhile, or its total
    ///     time is over.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable () async -> Answer, next: @escaping @Sendable (RunCore, Answer) -> Void
    ) {
        ask(HookQuestion(question), next: next)
    }

    /// The same, where nobody on the way may hold the program's closure.
    func ask<Answer: Sendable>(_ question: HookQuestion<Answer>, next: @escaping @Sendable (RunCore, Answer) -> Void) {
        // Of its own: what follows an answer may wait again, while this thread still looks after the first wait.
        let number = TransferID().number
        enter(.waiting(number))
        let hook = HookCall { question.drop() }
        setWait(hook, .answer, of: number)
        limitAsking(number)
        StepDoor.pass(.retryWaiting, id)
        hook.run { [weak self] in
            // Looked at after the call was begun: a cancel that came before is seen here, a later one sees the call.
            guard self?.mayBeAsked(number) == true else { return }
            guard let answer = await question.answer(), let self else { return }
            StepDoor.pass(.hookAnswered, id)
            guard takeWait(.waiting(number)) else { return }
            // A cancel that came with the answer leaves the run to whoever has it.
            guard mayGoOn else { return abandonWork() }
            next(self, answer)
        }
        abandonWait(.waiting(number))
    }

    /// Begins with the first transfer, or with what has to be asked before it.
    func beginTotalTime() {
        guard let total = template.options.timeouts.total, exchanges.deadline == nil else { return }
        exchanges.setDeadline(session.timing.now() &+ total.nanoseconds)
    }

    /// Whether a question may still be put. Where not, nobody else may have seen that the run is over, and it leaves from here.
    private func mayBeAsked(_ number: UInt64) -> Bool {
        if mayGoOn { return true }
        if takeWait(.waiting(number)) { abandonWork() }
        return false
    }

    /// Answers come within the total time, or too late. Known before the question is put: whoever takes the wait takes the timer with it.
    func limitAsking(_ number: UInt64) {
        guard let deadline = exchanges.deadline, let total = template.options.timeouts.total else { return }
        let now = session.timing.now()
        let left = Duration.nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0))
        let timer = session.timing.schedule(after: left) { [self] in
            guard takeWait(.waiting(number)) else { return }
            let message = "the total time of \(total) is over, and the hook, handler or token source it waits for has not answered"
            giveUpWaiting(NetworkError(.totalTimeout, phase: .receiving, message: message, runID: id, attempt: exchange.attempt))
        }
        setWait(timer, .timer, of: number)
    }
}

/// One call of an async hook: begun or taken back, never both.
final class HookCall: Cancellable {
    private enum State {
        case pending
        case running(Task<Void, Never>?)
        case cancelled
    }
    private let state = Lock(State.pending)
    private let dropped: @Sendable () -> Void

    /// - Parameter dropped: called at each cancel: lets go of what was not begun.
    init(_ dropped: @escaping @Sendable () -> Void = {}) { self.dropped = dropped }

    func run(_ body: @escaping @Sendable () async -> Void) {
        let mayRun = state.withLock { state -> Bool in
            guard case .pending = state else { return false }
            state = .running(nil)
            return true
        }
        guard mayRun else { return }
        let task = Task { await TransportUsers.$servesRunningRequest.withValue(true) { await body() } }
        let isCancelled = state.withLock { state -> Bool in
            guard case .running = state else { return true }
            state = .running(task)
            return false
        }
        if isCancelled { task.cancel() }
    }

    func cancel() {
        let task = state.withLock { state -> Task<Void, Never>? in
            defer { state = .cancelled }
            guard case .running(let task) = state else { return nil }
            return task
        }
        task?.cancel()
        dropped()
    }
}
