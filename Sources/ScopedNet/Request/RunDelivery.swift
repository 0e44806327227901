import FoundationEssentials

/// What a delivery asks of the run it speaks for: the admission of each call, and what surrounds them.
protocol DeliveringRun: AnyObject, Sendable {
    var delivery: RunDelivery { get set }

    /// Admits one call of an event. Until ``endCall()`` the handlers are the caller's.
    func admitCall(isFirst: Bool) -> Bool
    /// - Returns: false when the run was cancelled during the call.
    func endCall() -> Bool
    /// Looks at the feed again, on the executor.
    func continueFeed()
    /// Admits one more call that says how the run ended.
    func admitFurtherCall() -> Bool
    /// All that was to be said of the outcome is said, and the closures are gone.
    func endGate()
    /// Lets go of the deciding closures.
    func dropHooks()
    /// The last call has returned.
    func depart(_ reason: EndReason, onLane: Bool)
    func passStep(_ step: Step)
}

/// The calls of one run to its user: handlers, event feed and callback executor.
///
/// Each call is admitted for itself, where it is made and just before it. What a run has to say in several places goes from one to the next, and
/// ends where it began.
///
/// Functions that call are static: user code may come back by any way, so no access to the value lasts longer than a load or a store.
struct RunDelivery: ~Copyable {
    // Of whoever won the gate's last step, and of the callback executor while a call is admitted. First: the sanitizers know an access by its
    // address.
    var handlers: RunHandlers
    // Immutable.
    let executor: DeliveryLane
    let feed: EventFeed?
    /// All handlers run on the executor, as nearly always.
    let isUniform: Bool
    /// What `handlers` held at first: who is about to ask for an admission may not look there yet.
    let interest: RunInterest

    init(_ handlers: consuming RunHandlers, executor: DeliveryLane, feed: EventFeed?) {
        isUniform = handlers.fits(executor)
        interest = RunInterest(handlers)
        self.handlers = handlers
        self.executor = executor
        self.feed = feed
    }

    // MARK: Silence

    /// Whether something is to be said after a cancellation.
    var hasLastWord: Bool { !handlers.end.isEmpty || handlers.resolve != nil }

    /// Takes success, failure, progress and delegate out, for the caller to destroy; keeps what ``hasLastWord`` is about.
    mutating func fallSilent() -> RunHandlers {
        // Moved out first: a capture's deinit may come back by any way.
        var old = handlers.take()
        swap(&old.end, &handlers.end)
        swap(&old.resolve, &handlers.resolve)
        return old
    }

    // MARK: Events

    enum Announcement {
        case done
        /// The calls go on in other places; the feed is looked at again when they are through.
        case continues
    }

    /// Makes the calls of an event that begin at `first`, on their executors.
    static func announce<Run: DeliveringRun>(
        _ entry: EventFeed.Entry, of run: Run, from first: Int = 0, on here: DeliveryLane
    ) -> Announcement {
        var number = first
        while run.admitCall(isFirst: number == 0) {
            // Here, where the handlers are in hand; a cancel between two calls takes them away.
            var place = run.delivery.place(of: number, in: entry)
            if place === here {
                run.delivery.call(number, of: entry)?.make(entry)
                number += 1
                place = run.delivery.place(of: number, in: entry)
            }
            guard run.endCall(), let place else { break }
            guard place === here else {
                place.enqueue(.work { [number] in _ = announce(entry, of: run, from: number, on: place) })
                return .continues
            }
        }
        if first == 0, here === run.delivery.executor { return .done }
        run.continueFeed()
        return .continues
    }

    // MARK: The ending

    /// Says how the run ended, whose ending has been admitted, and then that it has.
    ///
    /// With `isFirstAdmitted` nothing has been called since the admission, which so is the first call's.
    static func end<Run: DeliveringRun>(
        _ run: Run, with outcome: RunOutcome, from first: Int = 0, isFirstAdmitted: Bool, on here: DeliveryLane
    ) {
        let isUniform = run.delivery.isUniform
        var number = first
        while true {
            guard let call = run.delivery.call(number, of: outcome) else { break }
            guard number == 0 && isFirstAdmitted || run.admitFurtherCall() else { break }
            if !isUniform, let place = run.delivery.place(of: number, in: outcome), place !== here {
                // Asked again there, just before the call; a run that is silent by now does not wait for the place.
                place.enqueue(.work { [number] in end(run, with: outcome, from: number, isFirstAdmitted: false, on: place) })
                return
            }
            call.make(outcome)
            number += 1
        }
        let home = run.delivery.executor
        if here === home { return conclude(run, with: outcome) }
        home.enqueue(.work { conclude(run, with: outcome) })
    }

    /// After the last call: closures are destroyed, called or not, then the spinner stops, then the agent lets go.
    private static func conclude<Run: DeliveringRun>(_ run: Run, with outcome: RunOutcome) {
        run.passStep(.afterCall)
        var closures = run.delivery.handlers.take()
        var ends = HandlerList<EndReason>.none
        swap(&ends, &closures.end)
        let resolve = closures.resolve
        _ = consume closures
        run.dropHooks()
        run.endGate()
        resolve?(outcome)
        let reason: EndReason =
            switch outcome {
            case .success: .succeeded
            case .failure(let error): .failed(error)
            }
        sayEnd(of: run, consume ends, reason)
    }

    /// Says that the run was cancelled: the only call that may follow a cancel.
    static func end<Run: DeliveringRun>(_ run: Run, cancelled reason: CancelReason, _ error: NetworkError) {
        let ends = run.delivery.handlers.end
        let resolve = run.delivery.handlers.resolve
        run.delivery.handlers.end = .none
        run.delivery.handlers.resolve = nil
        resolve?(.failure(error))
        sayEnd(of: run, consume ends, .cancelled(reason))
    }

    /// The closures are gone before the agent lets go.
    private static func sayEnd<Run: DeliveringRun>(of run: Run, _ ends: consuming HandlerList<EndReason>, _ reason: EndReason) {
        guard !run.delivery.isUniform else {
            ends.forEach { $0.invoke(reason) }
            _ = consume ends
            return run.depart(reason, onLane: true)
        }
        let home = run.delivery.executor
        var calls: [CallChain.Call] = []
        ends.forEach { callback in calls.append(.init(lane: callback.lane ?? home) { callback.invoke(reason) }) }
        _ = consume ends
        CallChain.run(calls, on: home, home: home) { run.depart(reason, onLane: false) }
    }
}

// MARK: - The calls, in order

extension RunDelivery {
    /// One call, ready to be made. What it is told comes with the call: to copy that would cost more than the rest.
    enum Call {
        case head(CallbackHandler<ResponseHead>)
        case progress(CallbackHandler<TransferProgress>)
        case response(CallbackHandler<AnyResponse>)
        case error(CallbackHandler<NetworkError>)
        case delegate(DelegateReference, EventFeed)
        case delegateEnd(DelegateReference, EventFeed)

        func make(_ entry: EventFeed.Entry) {
            switch (self, entry) {
            case (.head(let callback), .head(let head)): callback.invoke(head)
            case (.progress(let callback), .sent(let progress)), (.progress(let callback), .received(let progress)):
                callback.invoke(progress)
            case (.response(let callback), .cached(let response)): callback.invoke(response)
            case (.delegate(let reference, let feed), _): reference.delegate?.tell(feed.info, entry)
            default: break
            }
        }

        func make(_ outcome: RunOutcome) {
            switch (self, outcome) {
            case (.response(let callback), .success(let response)): callback.invoke(response)
            case (.error(let callback), .failure(let error)): callback.invoke(error)
            case (.delegate(let reference, let feed), _): reference.delegate?.tell(feed.info, outcome)
            case (.delegateEnd(let reference, let feed), _): reference.delegate?.requestDidEnd(feed.info)
            default: break
            }
        }
    }

    /// The delegate is first, where there is one.
    private var delegate: (reference: DelegateReference, feed: EventFeed)? {
        guard let reference = handlers.delegate, let feed else { return nil }
        return (reference, feed)
    }

    /// Where a call of an event is made; nil when there are no more.
    private func place(of number: Int, in entry: EventFeed.Entry) -> DeliveryLane? {
        var number = number
        if let delegate {
            if number == 0 { return delegate.reference.lane ?? executor }
            number -= 1
        }
        return switch entry {
        case .head: place(of: number, in: handlers.head)
        case .sent: place(of: number, in: handlers.sent)
        case .received: place(of: number, in: handlers.received)
        case .cached: place(of: number, in: handlers.cached)
        case .start, .observed, .ending, .cancelled: nil
        }
    }

    private func call(_ number: Int, of entry: EventFeed.Entry) -> Call? {
        var number = number
        if let delegate {
            if number == 0 { return .delegate(delegate.reference, delegate.feed) }
            number -= 1
        }
        return switch entry {
        case .head: handlers.head[number].map { .head($0) }
        case .sent: handlers.sent[number].map { .progress($0) }
        case .received: handlers.received[number].map { .progress($0) }
        case .cached: handlers.cached[number].map { .response($0) }
        case .start, .observed, .ending, .cancelled: nil
        }
    }

    /// Where a call that says how the run ended is made; nil when there are no more.
    private func place(of number: Int, in outcome: RunOutcome) -> DeliveryLane? {
        var number = number
        if let delegate {
            // The outcome, and that it ended.
            if number < 2 { return delegate.reference.lane ?? executor }
            number -= 2
        }
        return switch outcome {
        case .success: place(of: number, in: handlers.success)
        case .failure: place(of: number, in: handlers.failure)
        }
    }

    private func call(_ number: Int, of outcome: RunOutcome) -> Call? {
        var number = number
        if let delegate {
            if number == 0 { return .delegate(delegate.reference, delegate.feed) }
            if number == 1 { return .delegateEnd(delegate.reference, delegate.feed) }
            number -= 2
        }
        return switch outcome {
        case .success: handlers.success[number].map { .response($0) }
        case .failure: handlers.failure[number].map { .error($0) }
        }
    }

    private func place<Payload>(of number: Int, in list: HandlerList<Payload>) -> DeliveryLane? {
        guard let callback = list[number] else { return nil }
        return callback.lane ?? executor
    }
}

extension RequestDelegate {
    fileprivate func tell(_ info: Run.Info, _ outcome: RunOutcome) {
        switch outcome {
        case .success(let response): request(info, didSucceedWith: response.anyValue, response: response.parts.head)
        case .failure(let error): request(info, didFailWith: error)
        }
    }

    fileprivate func tell(_ info: Run.Info, _ entry: EventFeed.Entry) {
        switch entry {
        case .start: requestDidStart(info)
        case .head(let head): request(info, didReceiveHead: head)
        case .sent(let progress): request(info, didSend: progress)
        case .received(let progress): request(info, didReceive: progress)
        case .cached(let response): request(info, didLoadCached: response.anyValue, response: response.parts.head)
        case .observed, .ending, .cancelled: break
        }
    }
}
