import Synchronization

/// Where the run is, and how its work is taken back, held, and let go on.
extension RunCore {
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
        case .queued(let number): _ = session.admission.remove(self, exchange: TransferID(number: number))
        case .transferring(let number): session.transport.cancel(TransferID(number: number))
        case .waiting, .waitingForDisk: break
        }
        cancelWaits()
        releaseTarget()
    }

    // MARK: Suspending

    /// - Returns: true when this changed something.
    func setSuspended(_ value: Bool) -> Bool {
        guard mayGoOn else { return false }
        StepDoor.pass(.suspensionAsked, id)
        let isDetached = template.options.release == .detached
        guard step({ $0.setSuspended(value, isDetached: isDetached) }) == .changed else { return false }
        // Others do not wait for what its owner holds up.
        if value { endLeading() }
        feed?.push(observed: value ? .suspended : .resumed, from: self)
        switch stage {
        case .transferring(let number): applySuspension(TransferID(number: number))
        case .parked:
            if !value, leave(.parked, for: .idle) { submitAttempt() }
        case .idle, .queued, .waiting, .waitingForDisk, .working: break
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

    var isSuspended: Bool { lifecycle.isSuspended }
}

extension TransferID {
    init(number: UInt64) { self.number = number }
}
