import FoundationEssentials
import HTTPTypes
import Synchronization

/// From stage to stage. Each stage begins with a look at the gate.
extension RunCore {
    /// Caller's thread.
    ///
    /// - Parameter batch: takes what is ready at once. The caller ends it.
    package func begin(batch: DeliveryBatch? = nil) {
        StepDoor.pass(.beforeStart, id)
        guard startGate() else { return }
        feed?.push(observed: .created, from: self)
        announceUpgrade()
        if let preparationError {
            var error = preparationError
            error.runID = id
            return fail(error, batch: nil)
        }
        // A refresh has been through the cache already.
        if let transaction = drive.cache { return send(transaction.forward) }
        guard session.link.users.acceptsRun else {
            return fail(NetworkError(.shutdown, phase: .preparing, message: "the session was shut down", runID: id), batch: nil)
        }
        if template.destination != nil { return claimTarget() }
        beginExchanges(batch)
    }

    func beginExchanges(_ batch: DeliveryBatch?) {
        takeCookies()
        if !openAuthentication(batch: batch) { enterFirst(batch) }
    }

    /// The first exchange is made, and asks the cache.
    func enterFirst(_ batch: DeliveryBatch?) {
        if let cache = session.configuration.cache, cache.needsFile(template.options.cache, url: template.url.string) {
            return enterCacheBlocking(batch: nil)
        }
        // Observers are not called from within.
        enterCache(feed == nil ? batch : nil)
    }

    /// Asks for a slot. Any thread.
    func submitAttempt() {
        StepDoor.pass(.beforeQueue, id)
        guard mayGoOn else { return abandonWork() }
        if !waitsForRate() { enterQueue() }
    }

    func enterQueue() {
        let number = exchangeID.number
        // The first exchange has none, and need not be made yet.
        let deadline = exchanges.deadline
        enter(.queued(number))
        switch session.admission.submit(self) {
        case .start: session.admission.grant(self)
        case .queued(let position):
            StepDoor.pass(.queued, id)
            feed?.push(observed: .queued(position: position), from: self)
            limitWaiting(number, deadline)
            // A cancel that came before the word was stored could not take the run out again.
            if !mayGoOn, session.admission.remove(self, exchange: TransferID(number: number)) { abandonWork() }
        case .refusedFull:
            let limit = session.configuration.connection.limits.queued
            fail(
                NetworkError(
                    .queueFull, phase: .queued, message: "\(limit) requests are waiting already", runID: id, attempt: exchange.attempt),
                batch: nil)
        }
    }

    /// From here on another thread may have the run and be far ahead: all this touches is its own exchange's place and timer.
    private func limitWaiting(_ number: UInt64, _ deadline: UInt64?) {
        let timeouts = template.options.timeouts
        // Redirects and retries wait within the total time.
        let left = deadline.map { deadline -> Duration in
            let now = session.timing.now()
            return .nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0))
        }
        guard let limit = [timeouts.queue, left].compactMap({ $0 }).min() else { return }
        let (code, message): (NetworkError.Code, String) =
            limit == timeouts.queue
            ? (.queueTimeout, "no free connection for \(limit)") : (.totalTimeout, "the total time of \(timeouts.total ?? .zero) is over")
        let wait = session.timing.schedule(after: limit) { [self] in
            guard session.admission.remove(self, exchange: TransferID(number: number)) else { return }
            giveUpWaiting(NetworkError(code, phase: .queued, message: message, runID: id, attempt: exchange.attempt))
        }
        setWait(wait, .queue, of: number)
        StepDoor.pass(.queueTimed, id)
        // It may have left the queue, or been cancelled, before the timer was known.
        guard stage == .queued(number), mayGoOn else { return cancelWait(.queue, of: number) }
    }

    /// Has a slot. Any thread, also the network's.
    ///
    /// - Returns: false when the slot is not used; the caller passes it on.
    package func beginTransfer() -> Bool {
        StepDoor.pass(.beforeTransfer, id)
        guard mayGoOn else {
            abandonWork()
            return false
        }
        if isSuspended {
            giveBackRatePermit()
            enter(.parked)
            guard !isSuspended, leave(.parked, for: .idle) else { return false }
        }
        cancelWait(.queue, of: exchangeID.number)
        guard usesRatePermit() else { return false }
        if !drive.hasBegun {
            drive.hasBegun = true
            if template.options.retry.maxAttempts > 1 {
                session.admission.payIn(exchanges.url.originID)
                session.link.noteRetries(to: template.url)
            }
            beginTotalTime()
        }
        if let transaction = drive.cache { transaction.sentAt = transaction.cache.clock() }
        let transfer = exchange
        enter(.transferring(transfer.id.number))
        StepDoor.pass(.stageStored, id)
        feed?.push(observed: .started(attempt: transfer.attempt), from: self)
        feed?.pushStart(from: self)
        note(.sent)
        session.transport.start(transfer, sink: self)
        StepDoor.pass(.transferStarted, id)
        if !mayGoOn { session.transport.cancel(transfer.id) }
        if isSuspended { applySuspension(transfer.id) }
        return true
    }

    /// A cancelled run met the door of its next stage. A detached one whose transfer was stopped still has to leave the agent.
    func abandonWork() {
        endLeading()
        enter(.idle)
        if let held = drive.held { abandon(held) }
        dropDownload { [self] in if isMuted { workEnded() } }
    }

    // MARK: After an attempt

    /// Network thread (or a mock's): decide and hand on.
    func attemptFinished(_ result: TransferResult, batch: DeliveryBatch) {
        session.link.noteConnection(to: result.metrics.remoteAddress)
        attempts.append(result.metrics)
        session.counter.transfer(result.metrics)
        if let head = result.head { noteRetryAfter(head) }
        session.admission.noteVersion(result.metrics.httpVersion, of: admissionKey)
        feed?.push(observed: .attemptFinished(result.metrics, error: result.error), from: self, batch: batch)
        guard mayGoOn else { return abandonWork() }
        if let held = drive.held, !hasVerdict(held, result, batch: batch) { return }
        attemptSettled(result, batch: batch)
    }

    /// Where its body went is known.
    func attemptSettled(_ result: TransferResult, batch: DeliveryBatch) {
        if waitsForDisk(result) { finishOnDisk(result) } else { received(result, batch: batch) }
    }

    func received(_ result: TransferResult, batch: DeliveryBatch?) {
        if let transaction = drive.cache, !passThroughCache(transaction, result, batch: batch) { return }
        conclude(result, batch: batch)
    }

    /// A response stands, the server's or a stored one, or an error.
    func conclude(_ result: TransferResult, source: ResponseSource = .network, batch: DeliveryBatch?) {
        drive.source = source
        judge(result, batch: batch)
    }

    /// One step after the other, in the order of ``ResponseVerdict``, until one of them takes the response over. `declined` is the last that has
    /// not; it may have asked the program first.
    func judge(_ result: TransferResult, after declined: ResponseVerdict? = nil, batch: DeliveryBatch?) {
        let facts = Facts(run: self, result: result)
        var verdict = ResponseVerdict.next(after: declined, facts)
        while !carryOut(verdict, result, batch: batch) { verdict = .next(after: verdict, facts) }
    }

    /// - Returns: false where the step declines.
    private func carryOut(_ verdict: ResponseVerdict, _ result: TransferResult, batch: DeliveryBatch?) -> Bool {
        switch verdict {
        case .challenge: return answersChallenge(result, batch: batch)
        case .redirect: return redirects(result, batch: batch)
        case .retry: return retry(result, batch: batch)
        case .storedResponse: return serveInstead(of: result.error)
        case .failure:
            storeInCache(result, batch: batch) { run, batch in run.fail(run.error(of: result), result, batch: batch) }
        case .status:
            storeInCache(result, batch: batch) { run, batch in run.fail(run.statusRefusal(result), result, batch: batch) }
        case .contentType: refuseType(result, batch: batch)
        case .acceptance:
            tellOfBody(result, batch: batch)
            succeed(result, batch: batch)
        }
        return true
    }

    private struct Facts: ResponseFacts {
        let run: RunCore
        let result: TransferResult
        var isResponse: Bool { result.error == nil && result.head != nil }
        var isRedirection: Bool { result.head.map { (300..<400).contains($0.status) } ?? false }
        var canAuthenticate: Bool { run.drive.authentication != nil }
        var isFromNetwork: Bool { run.drive.source == .network }
        var isPartHeld: Bool { run.isPartHeld }
        var isStatusAccepted: Bool { result.head.map { run.template.options.validation.accepts($0.status) } ?? false }
        var isTypeAccepted: Bool { result.head.map { !run.isTypeUnwanted($0, result.body) } ?? false }
    }

    private func error(of result: TransferResult) -> NetworkError {
        result.error
            ?? NetworkError(.badResponse, phase: .receiving, message: "no response head", runID: id, attempt: exchange.attempt)
    }

    private func statusRefusal(_ result: TransferResult) -> NetworkError {
        guard let head = result.head else { return error(of: result) }
        let isExpected = acceptsType(head, isEmpty: result.body.isEmpty)
        return NetworkError(
            .unacceptableStatus, phase: .receiving,
            message: "the server answered \(head.status)\(head.reasonPhrase.isEmpty ? "" : " " + head.reasonPhrase)", runID: id,
            attempt: exchange.attempt, underlying: isExpected ? nil : NetworkError.unacceptableType(head))
    }

    /// The answer is complete, and of a type that nobody asked for.
    private func refuseType(_ result: TransferResult, batch: DeliveryBatch?) {
        tellOfBody(result, batch: batch)
        storeInCache(result, batch: batch) { run, batch in
            guard let head = result.head else { return run.fail(run.error(of: result), result, batch: batch) }
            var error = run.numbered(.unacceptableType(head))
            if head.appliedCoding == nil { error.bodyBytes = result.body.count }
            run.fail(error, result, batch: batch)
        }
    }

    private func tellOfBody(_ result: TransferResult, batch: DeliveryBatch?) {
        guard drive.source == .network else {
            if let head = result.head { feed?.pushHead(head, from: self, batch: batch) }
            return
        }
        feed?.push(observed: .bodyReceived(bytes: Int(clamping: result.metrics.bodyBytesReceived)), from: self, batch: batch)
        feed?.pushFinalProgress(
            result.metrics, offset: drive.download?.offset ?? 0, hasBody: exchange.body != nil, from: self, batch: batch)
    }

    private func succeed(_ result: TransferResult, batch: DeliveryBatch?) {
        let asksTheProgram = drive.cache != nil && template.options.hooks.shouldCache != nil
        guard !canProcessInline(result) || asksTheProgram || drive.cache?.readsStoredBodies == true else {
            makeValue(result)
            return complete(batch: batch)
        }
        if let file = fileToCommit(result) { return commit(file, result) }
        makeValueElsewhere(result, batch: batch)
    }

    /// The file gets its place first: that may take as long as the disk likes, and the run no longer than its total time.
    private func commit(_ file: FileCommit, _ result: TransferResult) {
        waitForDisk { [self] () -> Result<Void, NetworkError>? in
            StepDoor.pass(.beforeDecode, id)
            guard mayGoOn else { return nil }
            // A response that the program refuses replaces nothing.
            if let head = result.head, let refusal = programsRefusal(head, Data()) {
                file.file.reject()
                return .failure(refusal)
            }
            return file.run { mayGoOn }
        } next: { run, done in
            guard let done else { return run.failForDisk(result) }
            run.drive.commitOutcome = done
            run.makeValueElsewhere(result, batch: nil)
        }
    }

    private func makeValueElsewhere(_ result: TransferResult, batch: DeliveryBatch?) {
        enter(.working)
        let job: WorkPool.Job = { [self] in
            defer { StepDoor.pass(.workEnded, id) }
            // A file had its step before it got its place.
            if drive.commitOutcome == nil { StepDoor.pass(.beforeDecode, id) }
            guard mayGoOn else { return abandonWork() }
            if !worksForOthers { process(result) }
            let copy = makeCacheCopy(result)
            storeInCache(result)
            concludeDownload()
            if let copy { wait(for: copy) { $0.completeValue() } } else { completeValue() }
        }
        // A file gets its name there, and stored pieces are read.
        if isFile || drive.cache?.readsStoredBodies == true { return block(batch, job) }
        if let batch { batch.work(job) } else { WorkPool.shared.submit([job]) }
    }

    private func completeValue() {
        StepDoor.pass(.decoded, id)
        feed?.push(observed: .decoded, from: self)
        complete(batch: nil)
    }

    private func makeValue(_ result: TransferResult) {
        // Nobody's decoder is called for a value that nobody gets.
        if !worksForOthers { process(result) }
        storeInCache(result)
    }

    /// The outcome is there; the delivery executor decides whether it is still wanted.
    private func complete(batch: DeliveryBatch?) {
        enter(.idle)
        StepDoor.pass(.beforeDelivery, id)
        if let feed { return feed.push(.ending, from: self, batch: batch) }
        if let batch { return batch.deliver(.run(self, .ending), on: lane) }
        lane.enqueue(.run(self, .ending))
    }

    func fail(_ error: NetworkError, _ result: TransferResult? = nil, batch: DeliveryBatch?) {
        endLeading()
        var error = error
        error.response = result?.head ?? error.response
        guard let ending = drive.download?.ending else { return finish(failing: error, result, batch: batch) }
        // File and target are free before anybody hears of the end, unless the disk hangs.
        let failure = error
        waitForDisk(atMost: patienceWithDisk, ending) { run, kept in
            var failure = failure
            if let kept = kept ?? nil { failure.resumableBytes = kept }
            run.finish(failing: failure, result, batch: nil)
        }
    }

    private func finish(failing error: NetworkError, _ result: TransferResult?, batch: DeliveryBatch?) {
        var error = error
        guard let result, !result.body.isEmpty, let head = result.head, let coding = head.appliedCoding else {
            if let result, !result.body.isEmpty { error.body = result.body.prefix(template.errorBodyBytes) }
            setFailure(error)
            return complete(batch: batch)
        }
        // An error document may be compressed too; undoing that is work.
        let limits = DecodingLimits(maxOutputBytes: template.errorBodyBytes)
        let failure = error
        enter(.working)
        let job: WorkPool.Job = { [self] in
            guard mayGoOn else { return abandonWork() }
            var failure = failure
            failure.body = ContentCoding.decodedPrefix(result.body, coding: coding, limits: limits)
            setFailure(failure)
            complete(batch: nil)
        }
        if let batch { batch.work(job) } else { WorkPool.shared.submit([job]) }
    }
}
