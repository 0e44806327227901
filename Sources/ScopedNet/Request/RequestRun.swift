import FoundationEssentials
import HTTPTypes
import Synchronization

/// The run of a ``Request``: its closures, its decoder, and what it ends in.
package final class RequestRun: RunCore, @unchecked Sendable {
    // Safety: `handlers` is written in `init`; success, failure and progress closures belong to whoever won the gate's last step (and
    // to the delivery executor while a call is admitted, during which nobody can win). `outcome` is written by the last stage and read by the
    // delivery executor, which the stage handed the run to.
    private var handlers: RunHandlers
    private let decoder: AnyDecoder
    private var outcome: RunOutcome?
    /// All handlers run on the run's own lane, as nearly always.
    private let isUniform: Bool
    /// What `handlers` held at first: who is about to ask for an admission may not look there yet.
    private let interest: RunInterest
    private let stream: BodyStream?

    package init(
        template: RequestTemplate, requestID: UInt64, session: Session, decoder: AnyDecoder, handlers: consuming RunHandlers,
        stream: BodyStream? = nil, scope: String? = nil, repeatKey: RequestAgent.RepeatKey?, origin: CodeOrigin,
        preparationError: NetworkError?
    ) {
        self.decoder = decoder
        self.stream = stream
        let lane = handlers.preferredLane ?? (handlers.resolve != nil && handlers.isOtherwiseEmpty ? .resumption : session.lane)
        isUniform = handlers.fits(lane)
        interest = RunInterest(handlers)
        let wantsEvents = handlers.delegate != nil || !handlers.head.isEmpty || !handlers.cached.isEmpty
        let wantsProgress = handlers.delegate != nil || !handlers.sent.isEmpty || !handlers.received.isEmpty
        let observers = session.configuration.observers
        let id = Identifier.next()
        var feed: EventFeed?
        if wantsEvents || wantsProgress || !observers.isEmpty {
            let info = RunInfo(
                id: id, requestID: requestID, method: template.method.rawValue, url: template.url.description,
                headers: template.fields, scope: scope ?? ScopeName.ofTask, release: template.options.release, tag: template.options.tag,
                userInfo: template.options.userInfo, origin: origin.description)
            feed = EventFeed(observers: observers, info: info, hasHandlers: wantsEvents || wantsProgress)
        }
        self.handlers = handlers
        super.init(
            id: id, template: template, session: session, lane: lane, feed: feed, listensToProgress: wantsProgress || !observers.isEmpty,
            repeatKey: repeatKey, origin: origin, preparationError: preparationError)
        if let ticket { ticket.watch(self, .run, origin: origin.description, closures: self.handlers.origins) }
    }

    // MARK: Handlers

    override var hasLastWord: Bool { !handlers.end.isEmpty || handlers.resolve != nil }

    // Nobody but the run touches them then.
    override var heldClosures: [String] { isRetired ? handlers.origins : [] }

    override func releaseHandlers() {
        // Moved out first: a capture's deinit may come back through any door.
        var old = handlers.take()
        swap(&old.end, &handlers.end)
        swap(&old.resolve, &handlers.resolve)
    }

    // MARK: Processing

    override var hasStream: Bool { stream != nil }

    override func bodyDestination() -> BodyDestination {
        if let stream { return .stream(stream) }
        if let path = template.destination {
            let file = FileSink(destination: path)
            drive.file = file
            return .file(file)
        }
        return decoder.wantsBody ? super.bodyDestination() : .memoryPrefix(limit: 0)
    }

    override func canProcessInline(_ result: TransferResult) -> Bool {
        decoder.isImmediate && drive.file == nil && template.destination == nil
            && (result.body.isEmpty || result.head?.contentEncoding == nil)
    }

    override func process(_ result: TransferResult) {
        do throws(NetworkError) { outcome = .success(try makeResponse(result)) } catch {
            var error = error
            error.response = result.head
            error.requestID = id
            error.attempt = exchange.attempt
            outcome = .failure(error)
        }
    }

    override var mayStoreValue: Bool {
        switch outcome {
        case .success(let response): template.options.shouldCache?(response.anyValue, response.parts.head) ?? true
        // Statuses that are not accepted are stored by the rules of HTTP alone; what could not be decoded is of no use.
        case .failure: false
        // No value was made, so the program's question about it has no answer.
        case nil: template.options.shouldCache == nil || !worksForOthers
        }
    }

    override var refreshDecoder: AnyDecoder { template.options.shouldCache == nil ? ResponseDecoder.data.any : decoder }

    override func makeCached(_ result: TransferResult) -> AnyResponse? {
        // A file has one content, and the server's is the one.
        guard interest.contains(.cached), template.destination == nil else { return nil }
        do throws(NetworkError) { return try makeResponse(result) } catch { return nil }
    }

    private func makeResponse(_ result: TransferResult) throws(NetworkError) -> AnyResponse {
        guard let head = result.head else {
            throw NetworkError(.badResponse, phase: .receiving, message: "no response head")
        }
        let body = try decodedBody(result.body, head)
        if template.destination != nil { try commitFile(head, stored: drive.source == .network && drive.joined == nil ? nil : result.body) }
        // For the error; a decoder that only hands the body on has none.
        let evidence = decoder.isImmediate ? nil : body
        let parts = ResponseParts(
            head: head, body: consume body, attempts: attempts, url: exchange.url.description, source: drive.source,
            cacheStatus: drive.cacheStatus)
        do { return try decoder.decode(consume parts) } catch {
            var failure = NetworkError(.decodingFailed, phase: .decoding, message: "the body is not what was expected", underlying: error)
            failure.body = evidence?.prefix(template.errorBodyBytes)
            throw failure
        }
    }

    private func decodedBody(_ body: Data, _ head: ResponseHead) throws(NetworkError) -> Data {
        guard !body.isEmpty, let coding = head.contentEncoding else { return body }
        var limits = template.options.decoding
        limits.maxOutputBytes = min(limits.maxOutputBytes ?? .max, template.options.maxBodyBytes)
        do throws(ContentDecodingError) { return try ContentCoding.decoded(body, coding: coding, limits: limits) } catch {
            throw NetworkError(error, requestID: id, attempt: exchange.attempt)
        }
    }

    /// - Parameter stored: the body of a response out of the cache, which no transfer has written.
    private func commitFile(_ head: ResponseHead, stored: Data?) throws(NetworkError) {
        guard let path = template.destination else { return }
        // An empty body never reached the sink.
        let file = drive.file ?? FileSink(destination: path)
        if let stored { try file.write(stored) }
        drive.file = nil
        try file.commit(coding: head.contentEncoding, limits: template.options.decoding)
        drive.isFileCommitted = true
    }

    override func setFailure(_ error: NetworkError) { outcome = .failure(error) }

    // MARK: Delivery

    override func deliverEnding() {
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

    override func deliverCancelled() {
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

    private func tellObservers(_ outcome: RunOutcome) {
        guard let feed, !feed.observers.isEmpty else { return }
        var completion = RequestEvent.Completion(bodyBytes: 0, metrics: attempts.all, filePath: template.destination)
        switch outcome {
        case .success(let response):
            completion.response = response.parts.head
            completion.value = response.anyValue
            completion.bodyBytes = response.parts.body.count
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

    override func deliverEvent(_ entry: EventFeed.Entry) -> EventOutcome {
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

    // MARK: Read-outs

    /// The result once the run has ended; nil before and after a cancellation. Any thread.
    package var result: RunOutcome? { gateState.phase == .ended ? outcome : nil }
}

extension RunHandlers {
    /// Only an `await` listens.
    var isOtherwiseEmpty: Bool {
        success.isEmpty && failure.isEmpty && cached.isEmpty && head.isEmpty && sent.isEmpty && received.isEmpty && end.isEmpty
            && delegate == nil
    }
}

/// Which events somebody listens to.
private struct RunInterest: OptionSet, Sendable {
    let rawValue: UInt8
    static let head = RunInterest(rawValue: 1)
    static let sent = RunInterest(rawValue: 2)
    static let received = RunInterest(rawValue: 4)
    static let cached = RunInterest(rawValue: 8)
    static let everything = RunInterest(rawValue: 255)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ handlers: borrowing RunHandlers) {
        self = handlers.delegate != nil ? .everything : []
        if !handlers.head.isEmpty { insert(.head) }
        if !handlers.sent.isEmpty { insert(.sent) }
        if !handlers.received.isEmpty { insert(.received) }
        if !handlers.cached.isEmpty { insert(.cached) }
    }

    func includes(_ entry: EventFeed.Entry) -> Bool {
        switch entry {
        case .start: self == .everything
        case .head: contains(.head)
        case .sent: contains(.sent)
        case .received: contains(.received)
        case .cached: contains(.cached)
        case .observed, .ending, .cancelled: false
        }
    }
}
