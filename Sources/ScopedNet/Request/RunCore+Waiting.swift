/// Waiting for a path, or for the time of the next attempt. Whoever takes the stage away from the wait has the run.
extension RunCore {
    /// Before the first attempt of a request that asked for it.
    ///
    /// - Returns: false when there is a path, or nobody to ask.
    func waitForPath() -> Bool {
        let targets = session.link.targets(of: template.url)
        guard !targets.isEmpty, let source = session.link.connectivitySource(), source.isSatisfied(targets) != true else { return false }
        let number = exchangeID.number
        enter(.waiting(number))
        if let limit = template.options.timeouts.connectivity {
            let timer = session.timing.schedule(after: limit) { [self] in
                guard takeWait(.waiting(number)) else { return }
                let message = "no path to \(template.url.host) for \(limit)"
                giveUpWaiting(NetworkError(.connectivityTimeout, phase: .preparing, message: message, runID: id))
            }
            setWait(timer, .timer, of: number)
        }
        let path = source.wait(for: targets) { [weak self] in
            if let self, stage == .waiting(number) { feed?.push(observed: .waitingForConnectivity, from: self) }
        } _: { [self] in
            endWait(number)
        }
        setWait(path, .path, of: number)
        StepDoor.pass(.retryWaiting, id)
        abandonWait(.waiting(number))
        return true
    }

    /// A wait has lasted too long. What is stored may be better than the error.
    func giveUpWaiting(_ error: NetworkError) {
        guard drive.cache != nil else { return fail(error, batch: nil) }
        enter(.working)
        // A timer's thread has other timers.
        WorkPool.shared.submit([
            { [self] in
                guard mayGoOn else { return abandonWork() }
                enter(.idle)
                if !serveInstead(of: error) { fail(error, batch: nil) }
            }
        ])
    }

    /// Does what may wait for a disk, and goes on with the answer: within the total time, and a little longer where that is over already.
    ///
    /// - Parameters:
    ///   - limit: the time there is for an answer, where that is less than what is left of the total time.
    ///   - work: touches nothing of the run that changes from stage to stage: nobody waits for it once the time is over.
    ///   - next: with nil when the disk has not answered in time. Not called when the run is cancelled meanwhile.
    ///   - late: with an answer that came when the run was over.
    func waitForDisk<Answer: Sendable>(
        atMost limit: Duration? = nil, _ work: @escaping @Sendable () -> Answer, next: @escaping @Sendable (RunCore, Answer?) -> Void,
        late: @escaping @Sendable (Answer) -> Void = { _ in }
    ) {
        waitForAnswer(atMost: limit, { answered in block(nil) { answered(work()) } }, next: next, late: late)
    }

    /// The time that an error waits for the disk once it is known.
    var patienceWithDisk: Duration {
        .nanoseconds(Int64(DiskWaits.patience(keepsPart: drive.download?.keepsPart == true)))
    }

    /// As `waitForDisk`, where somebody else has the threads: `ask` hands on the closure that takes the answer, and does not call it itself.
    func waitForAnswer<Answer: Sendable>(
        atMost limit: Duration? = nil, _ ask: (_ answered: @escaping @Sendable (Answer) -> Void) -> Void,
        next: @escaping @Sendable (RunCore, Answer?) -> Void,
        late: @escaping @Sendable (Answer) -> Void = { _ in }
    ) {
        let number = TransferID().number
        enter(.waitingForDisk(number))
        if let last = [timeLeft.map { max($0, .milliseconds(100)) }, limit].compactMap({ $0 }).min() {
            let timer = session.timing.schedule(after: last) { [self] in
                if takeWait(.waitingForDisk(number)) { next(self, nil) }
            }
            setWait(timer, .timer, of: number)
        }
        ask { [self] answer in
            guard takeWait(.waitingForDisk(number)) else { return late(answer) }
            guard mayGoOn else {
                late(answer)
                return abandonWork()
            }
            next(self, answer)
        }
        StepDoor.pass(.retryWaiting, id)
        abandonWait(.waitingForDisk(number))
    }

    /// Of the total time; all of it where it has not begun. Nil without one.
    var timeLeft: Duration? {
        guard let deadline = exchanges.deadline else { return template.options.timeouts.total }
        let now = session.timing.now()
        return .nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0))
    }

    /// The total time is over, and the disk has not answered.
    func failForDisk(_ result: TransferResult? = nil) {
        // Before the error is told, and without waiting for a thread: the disk may return any moment.
        drive.file?.forbidPlacing()
        let total = template.options.timeouts.total ?? .zero
        let message = "the total time of \(total) is over, and the disk has not answered"
        let phase: NetworkError.Phase = result == nil ? .preparing : .receiving
        fail(NetworkError(.totalTimeout, phase: phase, message: message, runID: id, attempt: exchange.attempt), result, batch: nil)
    }

    /// A retry goes out with the path, should that come before the timer.
    func endWait(_ number: UInt64, afterPathAnd jitter: Duration) {
        guard let source = session.link.connectivitySource() else { return }
        let path = source.wait(for: session.link.targets(of: exchange.url), notYet: nil) { [self] in
            guard stage == .waiting(number) else { return }
            let timer = session.timing.schedule(after: jitter) { [self] in endWait(number) }
            // The path may come before the wait for it is noted, below: a key of its own, so that neither takes the other's place.
            setWait(timer, .jitter, of: number)
            if stage != .waiting(number) { cancelWait(number) }
        }
        setWait(path, .path, of: number)
    }

    /// The time has come, or the path.
    func endWait(_ number: UInt64) {
        if takeWait(.waiting(number)) { submitAttempt() }
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
}
