import FoundationEssentials
import Synchronization
import SystemSupport

/// The calls of a run, on its callback executor.
extension ManagedRun: DeliveringRun {
    package func deliver(_ item: DeliveryLane.Signal) {
        guard let ticket else { return say(item) }
        // Objects that its callbacks make belong to its census.
        ticket.listening { say(item) }
    }

    private func say(_ item: DeliveryLane.Signal) {
        switch item {
        case .events: pump()
        case .ending: sayEnding()
        case .cancelled: sayCancelled()
        }
    }

    /// Says what has gathered, in order, until nothing is left or an entry has to continue elsewhere (it comes back here).
    private func pump() {
        while let entry = feed?.next() {
            switch entry {
            case .observed(let event): feed?.observers.forEach { $0.observe(event) }
            case .ending: sayEnding()
            case .cancelled: sayCancelled()
            case .start, .head, .sent, .received, .cached:
                // Bytes still arrive until the socket is closed; a cancelled run no longer tells of them.
                if mayGoOn, let feed {
                    if case .sent(let progress) = entry { feed.tellObservers(.sent(progress)) }
                    if case .received(let progress) = entry { feed.tellObservers(.received(progress)) }
                }
                guard delivery.interest.includes(entry) else { continue }
                guard RunDelivery.announce(entry, of: self, on: lane) == .done else { return }
            }
        }
    }

    func continueFeed() { lane.enqueue(.run(self, .events)) }

    private func sayEnding() {
        StepDoor.pass(.delivering, id)
        guard admitEnding() else {
            if isMuted { finishMuted() }
            return
        }
        beginDelivery()
        leaveBags()
        // `complete` is reached with an outcome on every way.
        guard let outcome else { return retire() }
        if !isRefresh { session.counter.end(outcome.error?.code, nanoseconds: monotonicNow() &- startedAt) }
        let isObserved = tellObservers(outcome)
        RunDelivery.end(self, with: outcome, isFirstAdmitted: !isObserved, on: lane)
    }

    private func sayCancelled() {
        StepDoor.pass(.delivering, id)
        let reason = reason
        let error = NetworkError.cancelled(reason, runID: id, phase: reachedPhase).asked(template.method, template.url)
        feed?.tellObservers(.cancelled(reason))
        stream?.finish(error)
        RunDelivery.end(self, cancelled: reason, error)
    }

    func depart(_ reason: EndReason, onLane: Bool) {
        if reason.isCancelled { lastWordSaid(onLane: onLane) } else { retire(onLane: onLane) }
    }

    func passStep(_ step: Step) { StepDoor.pass(step, id) }

    /// A detached transfer came to its own end, which only observers hear of.
    private func finishMuted() {
        if let outcome { tellObservers(outcome) }
        workEnded(onLane: true)
    }

    /// - Returns: false when there are none.
    @discardableResult
    private func tellObservers(_ outcome: RunOutcome) -> Bool {
        guard let feed, !feed.observers.isEmpty else { return false }
        var completion = completion
        switch outcome {
        case .success(let response):
            completion.response = response.parts.head
            completion.value = response.anyValue
            completion.body = response.parts.body
        case .failure(let error):
            completion.error = error
            completion.body = error.body ?? Data()
            completion.response = error.response
            completion.filePath = nil
        }
        feed.tellObservers(.finished(completion))
        return true
    }

    // MARK: Handlers

    /// Something is to be said after a cancellation.
    var hasLastWord: Bool { delivery.hasLastWord }

    /// For the census: what was not destroyed although the run has ended. Nobody but the run touches them then.
    var heldClosures: [String] { isRetired ? delivery.handlers.origins : [] }

    /// Destroys success, failure, progress and delegate; keeps what `hasLastWord` is about.
    func releaseHandlers() {
        let old = delivery.fallSilent()
        _ = consume old
        dropHooks()
    }
}

extension RunOutcome {
    fileprivate var error: NetworkError? { if case .failure(let error) = self { error } else { nil } }
}
