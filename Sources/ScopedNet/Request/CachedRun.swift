import FoundationEssentials
import HTTPTypes
import Persistence
import Synchronization

/// The way of a run through the response cache.
struct CacheState {
    /// While an exchange is on its way through the cache to the server.
    var transaction: CacheTransaction?
    var status: ResponseCache.Status?
    /// It has waited for another run's answer, or found that it had just come.
    var hasFollowed = false
    /// Another run's answer has come for it.
    var isCollapsed = false
    /// The bytes that came over the wire of a body that was put together with stored parts.
    var joined: Data?
}

/// A stored response, about to become that of an exchange.
struct StoredAnswer: Sendable {
    let answer: CachedAnswer
    let use: CacheUse
    /// The server has just confirmed it.
    var isValidated = false
}

/// A run whose exchanges go through the response cache: the request itself, each redirect, and each answer to a challenge.
protocol CachedRun: HookedRun, CoalescedMember {
    var caching: CacheState { get set }
    var authentication: AuthenticationSession? { get }
    func isFollowed(_ head: ResponseHead) -> Bool
    /// The fields of another exchange with the same request: credentials that are used once are renewed.
    func authorizedForRetry(_ headers: HeaderBlock) -> HeaderBlock
    /// The value of a stored response, for the first of two deliveries; nil when nobody wants it or it cannot be made.
    func makeCached(_ result: TransferResult) -> AnyResponse?
    /// True where the response, and the value that was made of it, may be stored.
    func mayStoreValue(_ result: TransferResult) -> Bool
    /// The total time is over, and the disk has not answered.
    func failForDisk(_ result: TransferResult?)
    /// Refreshes what is served, beside this run: its owner has an answer and may go.
    func refresh(_ transaction: CacheTransaction)
}

extension CachedRun {
    // MARK: Asking

    func consultCache(_ input: inout StepInput, elsewhere: Bool) -> RunEvent? {
        if elsewhere, session.configuration.cache != nil { return block(&input) { $0.lookUp(&$1) } }
        return lookUp(&input)
    }

    private func lookUp(_ input: inout StepInput) -> RunEvent? {
        // The rest of a file is no response that a cache knows.
        guard let cache = session.configuration.cache, downloading.session?.asked == nil else { return uncached(&input) }
        // Its own fields, also where the cache has added to them and begins again.
        let request = CacheRequest(
            method: exchanges.method, url: exchanges.url.string, fields: exchanges.ownHeaders.fields, hasBody: exchanges.body != nil)
        let consumer: CacheInquiry.Consumer = hasStream ? .stream : template.destination != nil ? .file : .memory
        let entry = CacheInquiry.entry(
            request, template.options.cache, readsNothing: authentication?.readsNothingStored == true, cache, for: consumer
        ) { strategy in exchanges.isFirst ? template.cacheKey { strategy.key(for: request) } : strategy.key(for: request) }
        switch entry {
        case .pass: return uncached(&input)
        case .refuseStream:
            let message = "a stream is never read out of the cache, and the network is out of bounds"
            return failed(error(.invalidOption, .preparing, message), &input)
        case .askNothing(let inquiry):
            input.batch = .direct
            return carryOut(inquiry.answered(CacheLookupResult(ticket: nil)), inquiry, &input)
        case .ask(let inquiry): return ask(inquiry, &input)
        }
    }

    private func ask(_ inquiry: CacheInquiry, _ input: inout StepInput) -> RunEvent? {
        let (cache, key) = (inquiry.cache, inquiry.key)
        if let found = cache.cached(key) { return carryOut(inquiry.answered(found), inquiry, &input) }
        StepDoor.pass(.cacheAsked, id)
        waitForAnswer { [id] answered in
            cache.load(key) { found in
                StepDoor.pass(.cacheAnswered, id)
                answered(found)
            }
        } next: { run, found in
            guard let found else { return run.failForDisk(nil) }
            var input = StepInput()
            if let event = run.carryOut(inquiry.answered(found), inquiry, &input) { run.receive(event, input) }
        }
        return nil
    }

    private func carryOut(_ step: CacheInquiry.Step, _ inquiry: CacheInquiry, _ input: inout StepInput) -> RunEvent? {
        switch step {
        case .serve(let answer, let use):
            input.stored = StoredAnswer(answer: answer, use: use)
            return .found
        case .serveFirst(let answer, let use, let transaction):
            caching.transaction = transaction
            input.stored = StoredAnswer(answer: answer, use: use)
            return .foundFirst
        case .serveAndRefresh(let answer, let use, let transaction):
            refresh(transaction)
            input = StepInput(stored: StoredAnswer(answer: answer, use: use))
            return .found
        case .send(let transaction):
            caching.transaction = transaction
            return .missed(isShared: inquiry.mayBeShared && !caching.hasFollowed && !holdsBodies)
        case .unavailable(let head, let status):
            count(.miss, in: inquiry.cache)
            note(status)
            // The 504 that RFC 9111 section 5.2.1.7 wants made here is a response only for those who accept it as one.
            guard template.options.validation.accepts(head.status) else { return unstored("nothing stored may be used", &input) }
            receiving.source = .cache
            input.result = TransferResult(head: ResponseHead(head))
            return .answered
        }
    }

    private func unstored(_ reason: String, _ input: inout StepInput) -> RunEvent {
        failed(error(.notInCache, .preparing, "\(reason), and the server must not be asked"), &input)
    }

    /// Without a cache, or where it has no key for the request: nothing stored is there.
    private func uncached(_ input: inout StepInput) -> RunEvent {
        template.options.cache.read == .only ? unstored("the request goes through no cache", &input) : .uncached
    }

    func note(_ status: ResponseCache.Status) {
        caching.status = status
        feed?.push(observed: .cacheDecided(status), from: self)
    }

    /// In the cache's own counts and in the session's.
    func count(_ use: ResponseCache.Use, in cache: ResponseCache, savedBytes: Int = 0) {
        session.counter.cache(use)
        cache.count { statistics in
            switch use {
            case .hit: statistics.hits += 1
            case .validation: statistics.validated += 1
            case .miss: statistics.misses += 1
            }
            statistics.bytesSaved += Int64(savedBytes)
        }
    }

    // MARK: Asking for others

    /// Asks the server for all who have the same key, or waits for the answer that another run is getting.
    func coalesce() -> RunEvent? {
        guard let transaction = caching.transaction else { return .done }
        let (cache, key) = (transaction.cache, transaction.key)
        if cache.coalescer.lead(key, self) {
            step { $0.lead() }
            // A suspension that came before this could not end it.
            if isSuspended { endLeading() }
            return .done
        }
        // The wait is a part of the time it has: whoever goes himself afterwards has what is left.
        beginTotalTime()
        let stage = RunStage.waiting(TransferID().number)
        // Once only: who has waited and found nothing goes himself, and does not queue up again.
        caching.hasFollowed = true
        // The thread that has the run next makes its own.
        caching.transaction = nil
        let limit = FollowLimit(firstByte: template.options.timeouts.firstByte, total: timeLeft)
        enter(stage)
        let follows = cache.coalescer.follow(key, id, template.options.priority) { [self] _ in
            guard takeWait(stage) else { return }
            caching.isCollapsed = true
            receive(.changed(elsewhere: false))
        }
        guard follows else {
            // No call has come, and none will: the stage is this thread's, unless a cancel was faster.
            guard leave(stage, for: .idle) else { return nil }
            guard mayGoOn else {
                abandonWork()
                return nil
            }
            caching.transaction = transaction
            return .done
        }
        let bound = end(stage, at: limit, transaction)
        let leaving = AnyCancellable { [id] in
            bound?.cancel()
            cache.coalescer.leave(key, id)
        }
        setWait(leaving, .path, of: stage.number)
        StepDoor.pass(.retryWaiting, id)
        abandonWait(stage)
        return nil
    }

    private func end(_ stage: RunStage, at limit: FollowLimit, _ transaction: CacheTransaction) -> (any Cancellable)? {
        guard let wait = limit.wait else { return nil }
        return session.timing.schedule(after: wait) { [self] in
            transaction.cache.coalescer.leave(transaction.key, id)
            guard takeWait(stage) else { return }
            guard case .total = limit else { return receive(.changed(elsewhere: true)) }
            // A stored response may be better than the error.
            caching.transaction = transaction
            receive(.expired, StepInput(error: totalTimeout(.queued)))
        }
    }

    // MARK: The stored response first

    /// *Cached then network*: the stored value is delivered while the server is asked.
    func serveFirst(_ input: inout StepInput) -> RunEvent? {
        guard let stored = input.stored else { return .done }
        input.batch = .direct
        let count = stored.use.range(of: stored.answer)?.count ?? 0
        // A file has one content, and the server's is the one.
        guard let feed, template.destination == nil, count <= template.options.limits.bodyBytes else { return .done }
        enter(.working)
        BlockingPool.shared.submit(.init(stored.use.cache)) { [self] in
            guard mayGoOn else { return abandonWork() }
            tell(stored, feed)
            enter(.idle)
            receive(.done)
        }
        return nil
    }

    private func tell(_ stored: StoredAnswer, _ feed: EventFeed) {
        let (answer, use) = (stored.answer, stored.use)
        let body = use.range(of: answer).map { use.found.entries[answer.candidate].bytes($0) } ?? Data()
        guard let body, template.options.validation.accepts(answer.head.status) else { return }
        caching.status = answer.status
        receiving.source = .cache
        let cached = makeCached(TransferResult(head: ResponseHead(answer.head), body: body))
        receiving.source = .network
        if let cached { feed.push(.cached(cached), from: self) }
    }

    // MARK: Sending

    /// The request goes out as the rules want it sent. Of one that the server has seen already, what may be used once is renewed.
    func condition(_ input: inout StepInput) -> RunEvent? {
        guard let transaction = caching.transaction else { return .done }
        let forward = transaction.forward
        let isRenewed = transaction.isRepeated && authentication != nil
        guard forward.isChanged || exchanges.isConditional || isRenewed else { return .done }
        do throws(NetworkError) {
            let headers = try session.headerBlock(forward.request.fields, method: exchange.method, body: exchange.body)
            exchanges.condition(isRenewed ? authorizedForRetry(headers) : headers)
        } catch { return failed(error, &input) }
        return .done
    }

    // MARK: The server's answer

    /// Network thread. Nil: the body goes where it would go without a cache.
    func cacheDestination(_ head: ResponseHead) -> BodyDestination? {
        guard let transaction = caching.transaction else { return nil }
        if hasStream {
            let isAccepted = template.options.validation.accepts(head.status)
            caching.status = transaction.receive(streamed: head, isAccepted: isAccepted)
            guard isAccepted else { return nil }
            caching.transaction = nil
            if let status = caching.status { note(status) }
            return nil
        }
        switch transaction.receive(head) {
        case .discard: return .memoryPrefix(limit: 0)
        case .join:
            receiving.bodyIsValue = true
            return .memory(limit: template.options.limits.bodyBytes)
        case .pass:
            // It is not for others: they would not find it in the cache.
            if !transaction.stores { stopLeading() }
            return nil
        }
    }

    /// Others go to the server themselves from here on.
    private func stopLeading() {
        endLeading()
        // Its owner has gone, and those it went on for are on their own way now.
        if isMuted { _ = cancel(reason) }
    }

    func updateCache(_ input: inout StepInput) -> RunEvent? {
        receiving.source = .network
        guard let transaction = caching.transaction, input.result?.error == nil, let outcome = transaction.outcome else { return .answered }
        caching.status = outcome.status
        let step = transaction.endStep
        if case .stand = step, !transaction.changesStored { return .answered }
        enter(.working)
        let result = input.result
        block(input.batch) { [self] in
            // Also where the run was cancelled meanwhile: entries that the server has disowned are of no use to others either.
            transaction.applyChanges()
            goOn(StepInput(result: result)) { run, input in run.carryOut(step, transaction, &input) }
        }
        return nil
    }

    private func carryOut(_ step: CacheTransaction.EndStep, _ transaction: CacheTransaction, _ input: inout StepInput) -> RunEvent? {
        switch step {
        case .stand: return .answered
        case .serve(let answer, let isValidated):
            input.stored = StoredAnswer(answer: answer, use: CacheUse(transaction), isValidated: isValidated)
            return .found
        case .again(let forward):
            transaction.begin(forward)
            return .missed(isShared: false)
        case .join(let head, let pieces):
            let received = input.result?.body ?? Data()
            guard let body = transaction.joined(pieces, received) else {
                transaction.removeCompleted()
                transaction.begin(transaction.forward.unconditional)
                return .missed(isShared: false)
            }
            input.result?.head = ResponseHead(head)
            // For storing, the pieces are put together once more, by the same rules.
            input.result?.body = body
            caching.joined = received
            return .answered
        }
    }

    /// A challenge or a redirect leads elsewhere: a refusal is nothing to keep, nor to share, as what comes next is another question.
    func leaveCache() {
        guard caching.transaction != nil else { return }
        caching.transaction = nil
        stopLeading()
    }

    // MARK: In the place of an error

    /// Looks for something stored in the place of an error.
    ///
    /// - Returns: nil when there is nothing to take its place.
    func storedInstead(of error: NetworkError?, _ input: inout StepInput) -> RunEvent? {
        guard let error, let transaction = caching.transaction else { return nil }
        switch transaction.failed(error) {
        case .fail: return nil
        case .serve(let answer):
            input.stored = StoredAnswer(answer: answer, use: CacheUse(transaction))
            // Looked for once: if the time is over for this one, too, the error stands.
            caching.transaction = nil
            return .found
        case .unavailable(let head, let status):
            caching.transaction = nil
            note(status)
            // Else the reason why no response came says more than a 504 that no server has sent.
            guard template.options.validation.accepts(head.status) else { return nil }
            receiving.source = .cache
            input.result = TransferResult(head: ResponseHead(head))
            return .answered
        }
    }

    /// A wait has lasted too long. What is stored may be better than the error.
    func expire(_ error: NetworkError) {
        if caching.transaction == nil { fail(error) } else { receive(.expired, StepInput(error: error)) }
    }

    func replaceError(_ input: inout StepInput) -> RunEvent? {
        guard let error = input.error else { return .failed }
        enter(.working)
        // A timer's thread has other timers.
        WorkPool.shared.submit([
            { [self] in
                guard mayGoOn else { return abandonWork() }
                enter(.idle)
                var input = StepInput(error: error)
                receive(storedInstead(of: error, &input) ?? .failed, input)
            }
        ])
        return nil
    }

    // MARK: Storing

    func storeRefused(_ input: inout StepInput) -> RunEvent? {
        guard let result = input.result else { return .failed }
        guard input.batch !== DeliveryBatch.direct, caching.transaction?.readsStoredBodies == true else {
            storeInCache(result)
            return .failed
        }
        let error = input.error
        return block(&input) { run, input in
            run.storeInCache(result)
            input.error = error
            return .failed
        }
    }

    /// After the value was made, before it is delivered: whoever asks again from within the callback finds it.
    func storeInCache(_ result: TransferResult) {
        guard caching.transaction != nil else { return }
        defer { endLeading() }
        guard let transaction = endTransaction(result), result.metrics.bodyBytesReceived == Int64((caching.joined ?? result.body).count)
        else { return }
        transaction.store(caching.joined ?? result.body, isComplete: result.error == nil, of: result.head)
    }

    /// Nothing more is asked of the cache.
    ///
    /// - Returns: nil where nothing is to be stored.
    func endTransaction(_ result: TransferResult) -> CacheTransaction? {
        guard let transaction = caching.transaction else { return nil }
        caching.transaction = nil
        note(caching.status ?? ResponseCache.Status(forward: transaction.forward.reason))
        if !transaction.isRefresh, !hasStream, result.error == nil { count(.miss, in: transaction.cache) }
        return transaction.stores && mayStoreValue(result) ? transaction : nil
    }
}
