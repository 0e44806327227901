import SystemSupport

/// The start of a run, from the closures that were armed for it to its first step. It does not depend on the type of the value.
struct RunStarter {
    let session: Session
    let requestID: UInt64
    let decoder: AnyDecoder

    /// Starts a run, or returns the one that a refused start leaves running (``RepeatStrategy/keepRunning``).
    func start(
        _ state: borrowing Lock<RequestState>, in bag: BagStorage?, origin: CodeOrigin, handlers extra: consuming RunHandlers?,
        stream: BodyStream?, batch: DeliveryBatch, canceller: TaskCanceller?
    ) -> Run {
        var handlers = RunHandlers()
        var (token, description, known) = state.withLock { state in
            handlers = state.takeHandlers()
            return (state.token, state.description, state.template)
        }
        var error: NetworkError?
        if let made = known, !session.isCurrent(made) { known = nil }
        let settled = known ?? Self.prepare(description, for: session, &error)
        if let extra = consume extra { handlers.merge(extra) }
        var (hooks, reader) = (handlers.hooks, handlers.bodyWatch)
        (handlers.hooks, handlers.bodyWatch) = (nil, nil)
        let run = RunDriver(
            template: settled, requestID: requestID, session: session, decoder: decoder, handlers: consume handlers, stream: stream,
            scope: bag?.label,
            repeatKey: repeatKey(settled.options), origin: origin, preparationError: error)
        if settled.options.release == .cancelOnRelease {
            if token == nil {
                let fresh = HandleToken()
                token = state.withLock { $0.token(orElse: fresh) }
            }
            token?.adopt(run)
        }
        switch session.agent.add(run) {
        case .refused(let existing):
            run.discard()
            // An agent has no entries but runs.
            return Run(core: existing as? RunDriver ?? run, token: nil, wasRefused: true)
        case .accepted(let replaced):
            for old in replaced { _ = old.cancel(.replaced) }
        }
        if let mine = hooks { run.adopt(mine) }
        if let mine = reader { run.adopt(mine) }
        // The run may be over before this returns, and nobody but it may hold them then.
        (hooks, reader) = (nil, nil)
        var previous: RunDriver? = run
        state.withLock { state in
            state.replaceRun(by: &previous)
            if known == nil, error == nil { state.keep(settled, of: description) }
        }
        known = nil
        previous = nil
        let handle = Run(core: run, token: settled.options.release == .cancelOnRelease ? token : nil)
        StepDoor.pass(.beforeLink, run.id)
        if let bag, !bag.insert(run) {
            _ = run.cancel(bag.endReason ?? .ownerReleased)
            return handle
        }
        StepDoor.pass(.afterLink, run.id)
        // Before anything is sent: the task that awaits it may have been cancelled already.
        canceller?.arm(run)
        run.begin(batch: batch)
        return handle
    }

    private func repeatKey(_ options: RequestOptions) -> RequestAgent.RepeatKey? {
        guard options.repeats.strategy != .allowAll else { return nil }
        return options.repeats.key.map { .key($0) } ?? .object(requestID)
    }

    /// Checks the description; what is wrong with it becomes the run's failure.
    static func prepare(_ description: RequestDescription, for session: Session, _ failure: inout NetworkError?) -> RequestTemplate {
        do throws(NetworkError) { return try session.template(description) } catch {
            failure = error
            // Carries the options to the failing run.
            return RequestTemplate(
                url: .placeholder(description.url), method: description.method, fields: [:], headers: .empty, body: nil,
                options: description.options.value, transferOptions: TransferOptions(), destination: nil, errorBodyBytes: 0)
        }
    }
}

extension RunDriver {
    /// Releases the closures of a start that was refused; none is called.
    fileprivate func discard() {
        _ = closeGate(.explicit)
        releaseHandlers()
    }
}
