import SystemSupport

/// A closure that hears of bodies while they arrive, beside the run that collects them.
package enum BodyWatch: Sendable {
    /// Reads them piece by piece, in a task of its own.
    case reader(BodyObserver)
    /// Is handed the memory in which they are collected, on the transport's thread, before the first byte: it keeps it, and looks at it with each progress,
    /// which copies nothing and holds nothing up. Their coding is not undone.
    case holder(@Sendable (ResponseHead, CollectedBody) -> Void)
}

/// A closure that reads bodies while they arrive.
package final class BodyObserver: Sendable {
    typealias Body = @isolated(any) @Sendable (ResponseHead, StreamedResponse.Bytes) async throws -> Void
    let window: Int
    private let body: Body
    let origin: CodeOrigin

    init(window: Int, origin: CodeOrigin, _ body: @escaping Body) {
        self.window = window
        self.body = body
        self.origin = origin
    }

    func read(_ head: ResponseHead, _ bytes: StreamedResponse.Bytes, unless isCancelled: @Sendable () -> Bool) async {
        await read(head, bytes, on: body.isolation, unless: isCancelled)
    }

    /// The way to the closure's actor takes time: one whose owner went there meanwhile is not called.
    private func read(
        _ head: ResponseHead, _ bytes: StreamedResponse.Bytes, on actor: isolated (any Actor)?, unless isCancelled: @Sendable () -> Bool
    ) async {
        guard !isCancelled() else { return }
        // Errors of the transfer are the run's; no other has a place to go.
        try? await body(head, bytes)
    }
}

/// One body that is read while it arrives, in a task. A cancel ends the task, and the sequence it reads.
private final class BodyReading: Cancellable {
    /// Gets this reading, to ask whether it is cancelled.
    typealias Body = @Sendable (BodyReading) async -> Void

    private enum State {
        /// The response is accepted, and may still be put elsewhere.
        case pending(Body)
        /// It will be begun.
        case due(Body)
        case starting
        case running(Task<Void, Never>)
        /// It has ended or was cancelled, and is in its bags for a moment more.
        case leaving
        case over

        var isEnding: Bool {
            switch self {
            case .leaving, .over: true
            case .pending, .due, .starting, .running: false
            }
        }
    }

    let stream: BodyStream
    private let state: Lock<State>
    /// Its places in bags, once its run has left them.
    private let links = Lock<[ScopeMember]>([])
    private let reason: @Sendable () -> CancelReason
    private let error: @Sendable (CancelReason) -> NetworkError

    init(
        _ stream: BodyStream, reason: @escaping @Sendable () -> CancelReason,
        error: @escaping @Sendable (CancelReason) -> NetworkError, body: @escaping Body
    ) {
        self.stream = stream
        self.reason = reason
        self.error = error
        state = Lock(.pending(body))
    }

    /// For a bag that waits; nil once it is over.
    var ending: (@Sendable () async -> Void)? {
        state.withLock { state in
            switch state {
            case .running(let task): { await task.value }
            // Between `begin` and its task there is none for a moment, and none is needed to leave a bag.
            case .pending, .due, .starting, .leaving: { await Task.yield() }
            case .over: nil
            }
        }
    }

    /// It was cancelled, or one of its bags has ended.
    var isCancelled: Bool { state.withLock { $0.isEnding } || links.withLock { $0 }.contains { $0.isBagClosed } }

    /// The body goes where it is read: the closure is called soon.
    func promise() { state.withLock { if case .pending(let body) = $0 { $0 = .due(body) } } }

    /// The body went elsewhere, or nowhere.
    var isUnwanted: Bool { state.withLock { if case .pending = $0 { true } else { false } } }

    func begin() {
        let body = state.withLock { state -> Body? in
            guard case .due(let body) = state else { return nil }
            state = .starting
            return body
        }
        guard let body else { return }
        let task = Task {
            await body(self)
            end()
        }
        let hasEnded = state.withLock { state -> Bool in
            if case .starting = state { state = .running(task) }
            return state.isEnding
        }
        // By a cancel, which found no task; one that is through already takes no notice.
        if hasEnded { task.cancel() }
    }

    private func end() {
        _ = leave { stream.abandon(.explicit) }
    }

    /// Ends it once: `work`, then out of its bags, and only then is it over for one who waits for them.
    ///
    /// - Returns: the state before, for the caller to let go of outside the lock.
    private func leave(_ work: () -> Void) -> State {
        let old = state.withLock { state in
            defer { if !state.isEnding { state = .leaving } }
            return state
        }
        work()
        guard !old.isEnding else { return old }
        if case .running(let task) = old { task.cancel() }
        leaveBags()
        state.withLock { $0 = .over }
        return old
    }

    private func leaveBags() {
        let links = self.links.withLock { links in
            defer { links = [] }
            return links
        }
        for link in links { link.leaveBag() }
    }

    func join(_ bag: BagStorage) {
        let link = BodyReadingLink(self)
        let isIn = bag.insert(link)
        // Behind the insertion, before which nobody may ask the link for its bag.
        links.withLock { $0.append(link) }
        // The reader has the last byte while the run's thread is here, and ends: it takes the links before this one is among them, and never looks
        // again. Whoever comes second takes them out.
        if state.withLock({ $0.isEnding }) { return leaveBags() }
        if !isIn { cancel(bag.endReason ?? .ownerReleased) }
    }

    func cancel() { cancel(reason()) }

    /// The reader gets nothing more. The transfer may wait for it: one that goes on for others does so without.
    func cutOff(_ reason: CancelReason) { stream.cut(error(reason), reason) }

    func cancel(_ reason: CancelReason) {
        // A closure that was never called is let go outside the lock.
        _ = leave { cutOff(reason) }
    }
}

/// The place of a reader in a bag.
private final class BodyReadingLink: ScopeMember, @unchecked Sendable {
    // Safety: as the base class; `reading` is constant.
    private let reading: BodyReading

    init(_ reading: BodyReading) {
        self.reading = reading
        super.init()
    }

    override var ending: (@Sendable () async -> Void)? { reading.ending }
    override func closeGate(_ reason: CancelReason) -> (result: CancelOutcome, aftermath: Aftermath) {
        reading.cutOff(reason)
        return (.cancelled, .tearDown)
    }
    override func tearDown(_ reason: CancelReason) { reading.cancel(reason) }
}

/// A run whose body is read while it arrives.
extension WaitingRun {
    func adopt(_ watch: BodyWatch) {
        addExtra { $0.bodyWatch = watch }
        // Cancelled meanwhile, when there was nothing to take away yet.
        if lifecycle.isOver { dropHooks() }
    }

    private var bodyWatch: BodyWatch? { isRefresh ? nil : ifExtras { $0.bodyWatch } ?? nil }

    /// Makes the memory for the body of an accepted response where somebody wants to look at it; nil where nobody does.
    func shareBody(_ head: ResponseHead) -> CollectedBody? {
        guard case .holder(let hold) = bodyWatch else { return nil }
        let body = CollectedBody()
        hold(head, body)
        return body
    }

    /// Prepares to read the body of an accepted response; nil where nobody wants to.
    func prepareReading(_ head: ResponseHead) -> BodyStream? {
        guard case .reader(let reader) = bodyWatch else { return nil }
        let source = StreamedResponse.Bytes.Source(template: template, runID: id, attempt: attemptNumber)
        let stream = BodyStream(window: reader.window, origin: reader.origin)
        let bytes = StreamedResponse.Bytes(
            observed: stream, source: source, coding: head.appliedCoding, limits: template.options.limits.decoding)
        let reading = BodyReading(stream) { [weak self] in
            self.map { $0.closedBag?.endReason ?? $0.reason } ?? .explicit
        } error: { [id] in
            source.named(.cancelled($0, runID: id, phase: .receiving))
        } body: { [weak self] reading in
            await reader.read(head, bytes) { [weak self] in reading.isCancelled || self?.closedBag != nil }
        }
        // The one of an earlier attempt has all that came of it; its run may be cancelled later for both.
        setWait(reading, .reader, of: exchanges.id.number)
        if !mayGoOn { reading.cancel() }
        return stream
    }

    /// The body goes where it is read.
    func beginReading(_ stream: BodyStream?) {
        guard let stream, let readings = ifExtras({ $0.waits.all(.reader) }) else { return }
        guard let reading = readings.lazy.compactMap({ $0 as? BodyReading }).first(where: { $0.stream === stream }) else { return }
        reading.promise()
        DeliveryLane.resumption.enqueue(
            .work { [weak self] in
                // Looked at where it begins: a cancel that came before is seen here, a later one finds it among the waits. A run that has ended is none:
                // the whole of a small body may be there before this is.
                switch self?.lifecycle.phase {
                case .cancelRequested, .silenced, .cancelled: reading.cancel()
                case .created, .open, .calling, .ending, .ended, nil: reading.begin()
                }
            })
    }

    /// The body is complete, or will never be. Its reader goes on until it has all that came, however the run ends; a cancel of the run and the end of
    /// its bags reach it until then.
    func endReading(_ error: NetworkError?) {
        guard let reading = (ifExtras { $0.waits.item(.reader, of: exchanges.id.number) } ?? nil) as? BodyReading else { return }
        // Also where it went elsewhere meanwhile.
        reading.stream.finish(error)
        if reading.isUnwanted || !mayGoOn { return reading.cancel() }
        for bag in [bag].compactMap({ $0 }) + (ifExtras { $0.bags } ?? []) { reading.join(bag) }
    }
}
