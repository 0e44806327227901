import FoundationEssentials
import Synchronization

/// The calls of the closures, the delegate and the observers, on the delivery executor.
extension RunCore {
    // MARK: Handlers

    /// Whether something is to be said after a cancellation.
    var hasLastWord: Bool { !handlers.end.isEmpty || handlers.resolve != nil }

    /// For the census: what was not destroyed although the run has ended. Nobody but the run touches them then.
    var heldClosures: [String] { isRetired ? handlers.origins : [] }

    /// Destroys success, failure, progress and delegate; keeps what `hasLastWord` is about.
    func releaseHandlers() {
        // Moved out first: a capture's deinit may come back through any door.
        var old = handlers.take()
        swap(&old.end, &handlers.end)
        swap(&old.resolve, &handlers.resolve)
        dropHooks()
    }
    // MARK: Delivery

    func deliverEnding() {
        guard admitEnding() else {
            if isMuted { finishMuted() }
            return
        }
        leaveBags()
        // `complete` is reached with an outcome on every way.
        guard let outcome else { return retire() }
        tellObservers(outcome)
        if isUniform {
            call(outcome)
            endCalls(outcome)
        } else {
            CallChain.run(calls(outcome), on: lane, home: lane) { self.endCalls(outcome) }
        }
    }

    private func call(_ outcome: RunOutcome) {
        if let delegate = handlers.delegate?.delegate, let info = feed?.info {
            tell(delegate, info, outcome)
        }
        switch outcome {
        case .success(let response): handlers.success.forEach { $0.invoke(response) }
        case .failure(let error): handlers.failure.forEach { $0.invoke(error) }
        }
    }

    private func tell(_ delegate: any RequestDelegate, _ info: RunInfo, _ outcome: RunOutcome) {
        switch outcome {
        case .success(let response): delegate.request(info, didSucceedWith: response.anyValue, response: response.parts.head)
        case .failure(let error): delegate.request(info, didFailWith: error)
        }
        delegate.requestDidEnd(info)
    }

    private func calls(_ outcome: RunOutcome) -> [CallChain.Call] {
        var calls: [CallChain.Call] = []
        if let reference = handlers.delegate, let info = feed?.info {
            calls.append(
                .init(lane: reference.lane ?? lane) { [self] in
                    if let delegate = reference.delegate { tell(delegate, info, outcome) }
                })
        }
        switch outcome {
        case .success(let response):
            handlers.success.forEach { callback in calls.append(.init(lane: callback.lane ?? lane) { callback.invoke(response) }) }
        case .failure(let error):
            handlers.failure.forEach { callback in calls.append(.init(lane: callback.lane ?? lane) { callback.invoke(error) }) }
        }
        return calls
    }

    /// After the last call: closures are destroyed, then the spinner stops, then the agent lets go.
    private func endCalls(_ outcome: RunOutcome) {
        StepDoor.pass(.afterCall, id)
        var closures = handlers.take()
        var end = CallbackList<EndReason>.none
        swap(&end, &closures.end)
        let resolve = closures.resolve
        _ = consume closures
        dropHooks()
        endGate()
        let reason: EndReason
        switch outcome {
        case .success: reason = .succeeded
        case .failure(let error): reason = .failed(error)
        }
        resolve?(outcome)
        finish(consume end, reason)
    }

    /// The closures are gone before the agent lets go.
    private func finish(_ end: consuming CallbackList<EndReason>, _ reason: EndReason) {
        guard !isUniform else {
            end.forEach { $0.invoke(reason) }
            _ = consume end
            return depart(reason, onLane: true)
        }
        CallChain.run(calls(consume end, reason), on: lane, home: lane) { self.depart(reason, onLane: false) }
    }

    private func calls(_ end: consuming CallbackList<EndReason>, _ reason: EndReason) -> [CallChain.Call] {
        var calls: [CallChain.Call] = []
        end.forEach { callback in calls.append(.init(lane: callback.lane ?? lane) { callback.invoke(reason) }) }
        return calls
    }

    private func depart(_ reason: EndReason, onLane: Bool) {
        if reason.isCancelled { lastWordSaid(onLane: onLane) } else { retire(onLane: onLane) }
    }

    func deliverCancelled() {
        let reason = reason
        let error = NetworkError.cancelled(reason, requestID: id, wasSent: reachedTransport.load(ordering: .relaxed))
        feed?.tellObservers(.cancelled(reason))
        stream?.finish(error)
        let end = handlers.end
        let resolve = handlers.resolve
        handlers.end = .none
        handlers.resolve = nil
        resolve?(.failure(error))
        finish(consume end, .cancelled(reason))
    }

    /// A detached transfer came to its own end, which only observers hear of.
    private func finishMuted() {
        if let outcome { tellObservers(outcome) }
        workEnded(onLane: true)
    }

    private var bodyBytes: Int {
        if let decoded = drive.decodedBytes { return decoded }
        return drive.source == .network ? Int(clamping: attempts.last?.bodyBytesReceived ?? 0) : 0
    }

    private func tellObservers(_ outcome: RunOutcome) {
        guard let feed, !feed.observers.isEmpty else { return }
        var completion = RequestEvent.Completion(
            bodyBytes: bodyBytes, metrics: attempts.all, duration: elapsed, filePath: drive.committed?.destination)
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
    }

    // MARK: Events

    func deliverEvent(_ entry: EventFeed.Entry) -> EventOutcome {
        guard interest.includes(entry) else { return .done }
        guard admitCall() else { return .done }
        let calls = calls(entry)
        if isUniform {
            for call in calls { call.work() }
            endCall()
            return .done
        }
        CallChain.run(calls, on: lane, home: lane) { [self] in
            endCall()
            lane.enqueue(.run(self, .events))
        }
        return .continues
    }

    private func calls(_ entry: EventFeed.Entry) -> [CallChain.Call] {
        var calls: [CallChain.Call] = []
        if let reference = handlers.delegate, let info = feed?.info {
            calls.append(
                .init(lane: reference.lane ?? lane) {
                    guard let delegate = reference.delegate else { return }
                    switch entry {
                    case .start: delegate.requestDidStart(info)
                    case .head(let head): delegate.request(info, didReceiveHead: head)
                    case .sent(let progress): delegate.request(info, didSend: progress)
                    case .received(let progress): delegate.request(info, didReceive: progress)
                    case .cached(let response):
                        delegate.request(info, didLoadCached: response.anyValue, response: response.parts.head)
                    case .observed, .ending, .cancelled: break
                    }
                })
        }
        func add<Payload: Sendable>(_ list: CallbackList<Payload>, _ payload: Payload) {
            list.forEach { callback in calls.append(.init(lane: callback.lane ?? lane) { callback.invoke(payload) }) }
        }
        switch entry {
        case .head(let head): add(handlers.head, head)
        case .sent(let progress): add(handlers.sent, progress)
        case .received(let progress): add(handlers.received, progress)
        case .cached(let response): add(handlers.cached, response)
        case .start, .observed, .ending, .cancelled: break
        }
        return calls
    }
}
