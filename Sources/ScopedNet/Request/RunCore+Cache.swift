import FoundationEssentials
import HTTPTypes
import Persistence
import Synchronization

/// The way through the response cache, once for each exchange: the request itself and each redirect.
extension RunCore {
    /// The first door of an exchange.
    ///
    /// - Parameter batch: of the thread that is here; nil for none.
    func enterCache(_ batch: DeliveryBatch? = nil) {
        // The rest of a file is no response that a cache knows.
        guard let cache = session.configuration.cache, drive.download?.asked == nil else { return goOnUncached() }
        // Its own fields, also where the cache has added to them and begins again.
        let request = CacheRequest(
            method: exchanges.method, url: exchanges.url.string, fields: exchanges.ownHeaders.fields, hasBody: exchanges.body != nil)
        let consumer: CacheInquiry.Consumer = hasStream ? .stream : template.destination != nil ? .file : .memory
        let entry = CacheInquiry.entry(
            request, template.options.cache, readsNothing: drive.authentication?.readsNothingStored == true, cache, for: consumer
        ) { strategy in exchanges.isFirst ? template.cacheKey { strategy.key(for: request) } : strategy.key(for: request) }
        switch entry {
        case .pass: goOnUncached()
        case .refuseStream:
            let message = "a stream is never read out of the cache, and the network is out of bounds"
            fail(NetworkError(.invalidOption, phase: .preparing, message: message, runID: id), batch: nil)
        case .askNothing(let inquiry): carryOut(inquiry.answered(CacheLookupResult(ticket: nil)), inquiry, nil)
        case .ask(let inquiry): ask(inquiry, batch)
        }
    }

    private func ask(_ inquiry: CacheInquiry, _ batch: DeliveryBatch?) {
        let (cache, key) = (inquiry.cache, inquiry.key)
        if let found = cache.cached(key) { return carryOut(inquiry.answered(found), inquiry, batch) }
        StepDoor.pass(.cacheAsked, id)
        waitForAnswer { [id] answered in
            cache.load(key) { found in
                StepDoor.pass(.cacheAnswered, id)
                answered(found)
            }
        } next: { run, found in
            guard let found else { return run.failForDisk() }
            run.carryOut(inquiry.answered(found), inquiry, nil)
        }
    }

    /// Does what may wait for a disk, in the batch at hand or at once.
    func block(_ batch: DeliveryBatch?, _ job: @escaping BlockingPool.Job) {
        let group =
            template.destination.map { BlockingPool.Group(folderOf: $0) } ?? .init(session.configuration.cache ?? session as AnyObject)
        if let batch { batch.block(group, job) } else { BlockingPool.shared.submit(group, job) }
    }

    /// Keys are made by the program's own function, and the first hash of a secret reads a file: neither is for the network's thread, nor for a
    /// timer's.
    func enterCacheBlocking(batch: DeliveryBatch?) {
        guard session.configuration.cache != nil else { return goToNetwork() }
        enter(.working)
        block(batch) { [self] in
            guard mayGoOn else { return abandonWork() }
            enter(.idle)
            enterCache()
        }
    }

    private func carryOut(_ step: CacheInquiry.Step, _ inquiry: CacheInquiry, _ batch: DeliveryBatch?) {
        switch step {
        case .serve(let answer, let use): serve(answer, use, isValidated: false, batch: batch)
        case .serveFirst(let answer, let use, let transaction):
            drive.cache = transaction
            serveFirst(answer, use)
        case .serveAndRefresh(let answer, let use, let transaction):
            refresh(transaction)
            serve(answer, use, isValidated: false, batch: nil)
        case .send(let transaction):
            if mayShare(inquiry), !lead(inquiry.cache, inquiry.key), follow(transaction) { return }
            drive.cache = transaction
            send(transaction.forward)
        case .unavailable(let head, let status):
            count(.miss, in: inquiry.cache)
            note(status)
            // The 504 that RFC 9111 section 5.2.1.7 wants made here is a response only for those who accept it as one.
            if template.options.validation.accepts(head.status) {
                return conclude(TransferResult(head: ResponseHead(head)), source: .cache, batch: nil)
            }
            failUnstored("nothing stored may be used")
        }
    }

    private func failUnstored(_ reason: String) {
        let message = "\(reason), and the server must not be asked"
        fail(NetworkError(.notInCache, phase: .preparing, message: message, runID: id, attempt: exchange.attempt), batch: nil)
    }

    /// Without a cache, or where it has no key for the request: nothing stored is there.
    private func goOnUncached() {
        if template.options.cache.read == .only { return failUnstored("the request goes through no cache") }
        goToNetwork()
    }

    /// A refresh begins here: its transaction is made already.
    func goToNetwork() {
        if template.options.waitsForConnectivity, !drive.hasBegun, waitForPath() { return }
        submitAttempt()
    }

    /// Sends the request as the rules want it sent.
    ///
    /// With `isRepeated` the server has seen it already, in another form: what may be used once is renewed.
    func send(_ forward: CacheForward, isRepeated: Bool = false) {
        let isRenewed = isRepeated && drive.authentication != nil
        guard forward.isChanged || exchanges.isConditional || isRenewed else { return goToNetwork() }
        do throws(NetworkError) {
            let headers = try session.headerBlock(forward.request.fields, method: exchange.method, body: exchange.body)
            exchanges.condition(isRenewed ? authorizedForRetry(headers) : headers)
        } catch { return fail(error, batch: nil) }
        goToNetwork()
    }

    func note(_ status: ResponseCache.Status) {
        drive.cacheStatus = status
        feed?.push(observed: .cacheDecided(status), from: self)
    }

    // MARK: Refreshing beside

    /// Not in this run: its owner has an answer and may go.
    private func refresh(_ transaction: CacheTransaction) {
        guard transaction.cache.beginRefresh(transaction.key, transaction.found) else { return }
        let (cache, key) = (transaction.cache, transaction.key)
        var handlers = RunHandlers()
        handlers.resolve = { _ in cache.endRefresh(key) }
        let run = RunCore(
            template: template, requestID: id, session: session, decoder: refreshDecoder, handlers: handlers, repeatKey: nil,
            origin: origin,
            preparationError: nil)
        // Of this hop, not of the one the request began with.
        run.exchanges = exchanges.refresh(runID: run.id)
        run.drive.isRefresh = true
        // How it came there decides about cookies.
        run.drive.hasJarCookies = drive.hasJarCookies
        run.drive.visits = drive.visits
        run.drive.cache = transaction
        _ = agent.add(run)
        run.begin()
    }

    /// *Cached then network*: the stored value is delivered while the server is asked.
    private func serveFirst(_ answer: CachedAnswer, _ use: CacheUse) {
        guard let transaction = drive.cache else { return }
        let count = use.range(of: answer)?.count ?? 0
        // A file has one content, and the server's is the one.
        guard let feed, template.destination == nil, count <= template.options.limits.bodyBytes else { return send(transaction.forward) }
        enter(.working)
        BlockingPool.shared.submit(.init(use.cache)) { [self] in
            guard mayGoOn else { return abandonWork() }
            let body = use.range(of: answer).map { use.found.entries[answer.candidate].bytes($0) } ?? Data()
            if let body, template.options.validation.accepts(answer.head.status) {
                drive.cacheStatus = answer.status
                drive.source = .cache
                let cached = makeCached(TransferResult(head: ResponseHead(answer.head), body: body))
                drive.source = .network
                if let cached { feed.push(.cached(cached), from: self) }
            }
            enter(.idle)
            send(transaction.forward)
        }
    }

    // MARK: The server's answer

    /// Network thread. Nil: nothing of the cache's concern.
    func cacheDestination(_ head: ResponseHead) -> BodyDestination? {
        guard let transaction = drive.cache else { return nil }
        if hasStream {
            let isAccepted = template.options.validation.accepts(head.status)
            drive.cacheStatus = transaction.receive(streamed: head, isAccepted: isAccepted)
            guard isAccepted else { return nil }
            drive.cache = nil
            if let status = drive.cacheStatus { note(status) }
            return nil
        }
        switch transaction.receive(head) {
        case .discard: return .memoryPrefix(limit: 0)
        case .join:
            drive.bodyIsValue = true
            return .memory(limit: template.options.limits.bodyBytes)
        case .pass:
            // Nobody else will find it in the cache.
            if !transaction.stores {
                endLeading()
                // Its owner has gone, and those it went on for are on their own way now.
                if isMuted { _ = cancel(reason) }
            }
            return nil
        }
    }

    /// An attempt has ended. Network thread.
    ///
    /// - Returns: false when the cache took over.
    func passThroughCache(_ transaction: CacheTransaction, _ result: TransferResult, batch: DeliveryBatch?) -> Bool {
        guard result.error == nil, let outcome = transaction.outcome else { return true }
        drive.cacheStatus = outcome.status
        let step = transaction.endStep
        if case .stand = step, !transaction.changesStored { return true }
        enter(.working)
        block(batch) { [self] in
            transaction.applyChanges()
            guard mayGoOn else { return abandonWork() }
            enter(.idle)
            carryOut(step, transaction, result)
        }
        return false
    }

    private func carryOut(_ step: CacheTransaction.EndStep, _ transaction: CacheTransaction, _ result: TransferResult) {
        switch step {
        case .stand: conclude(result, batch: nil)
        case .serve(let answer, let isValidated): serve(answer, CacheUse(transaction), isValidated: isValidated, batch: nil)
        case .again(let forward): again(forward, transaction)
        case .join(let head, let pieces):
            guard let body = transaction.joined(pieces, result.body) else {
                transaction.removeCompleted()
                return again(transaction.forward.unconditional, transaction)
            }
            var whole = result
            whole.head = ResponseHead(head)
            // What is stored is put together once more from the pieces, by the same rules.
            whole.body = body
            drive.joined = result.body
            conclude(whole, batch: nil)
        }
    }

    private func again(_ forward: CacheForward, _ transaction: CacheTransaction) {
        transaction.begin(forward)
        send(forward, isRepeated: true)
    }

    /// No response came, and nothing is tried again.
    ///
    /// - Returns: false when there is nothing to take its place.
    func serveInstead(of error: NetworkError?) -> Bool {
        guard let error, let transaction = drive.cache else { return false }
        switch transaction.failed(error) {
        case .fail: return false
        case .serve(let answer):
            serve(answer, CacheUse(transaction), isValidated: false, batch: nil)
            return true
        case .unavailable(let head, let status):
            drive.cache = nil
            note(status)
            // Else the reason why no response came says more than a 504 that no server has sent.
            guard template.options.validation.accepts(head.status) else { return false }
            conclude(TransferResult(head: ResponseHead(head)), source: .cache, batch: nil)
            return true
        }
    }

    /// As ``storeInCache(_:)``, and goes on: on the blocking pool where a file is read for it, else here.
    func storeInCache(_ result: TransferResult, batch: DeliveryBatch?, then goOn: @escaping @Sendable (RunCore, DeliveryBatch?) -> Void) {
        guard let batch, drive.cache?.readsStoredBodies == true else {
            storeInCache(result)
            return goOn(self, batch)
        }
        enter(.working)
        block(batch) { [self] in
            guard mayGoOn else { return abandonWork() }
            storeInCache(result)
            enter(.idle)
            goOn(self, nil)
        }
    }

    /// After the value was made, before it is delivered: whoever asks again from within the callback finds it.
    func storeInCache(_ result: TransferResult) {
        guard drive.cache != nil else { return }
        defer { endLeading() }
        guard let transaction = endTransaction(result), result.metrics.bodyBytesReceived == Int64((drive.joined ?? result.body).count)
        else { return }
        transaction.store(drive.joined ?? result.body, isComplete: result.error == nil, of: result.head)
    }

    /// Nothing more is asked of the cache.
    ///
    /// - Returns: nil where nothing is to be stored.
    func endTransaction(_ result: TransferResult) -> CacheTransaction? {
        guard let transaction = drive.cache else { return nil }
        drive.cache = nil
        note(drive.cacheStatus ?? ResponseCache.Status(forward: transaction.forward.reason))
        if !transaction.isRefresh, !hasStream, result.error == nil { count(.miss, in: transaction.cache) }
        return transaction.stores && mayStoreValue(result) ? transaction : nil
    }
}
