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
        var policy = template.options.cache
        if drive.authentication?.readsNothingStored == true { policy.read = .none }
        // Its own fields, also where the cache has added to them and begins again.
        let request = CacheRequest(
            method: exchanges.method, url: exchanges.url.string, fields: exchanges.ownHeaders.fields, hasBody: exchanges.body != nil)
        if hasStream { return enterCache(withStream: request, cache) }
        let strategy = cache.strategy(policy)
        guard let key = exchanges.isFirst ? template.cacheKey({ strategy.key(for: request) }) : strategy.key(for: request) else {
            return goOnUncached()
        }
        // What other methods send is never found, only thrown away.
        let isSearched = request.method == .get || request.method == .head || policy.keeps(request.method)
        guard isSearched, policy != .off else {
            return decide(strategy, request, key, cache, CacheLookupResult(ticket: nil))
        }
        if let found = cache.cached(key) { return decide(strategy, request, key, cache, found, batch) }
        StepDoor.pass(.cacheAsked, id)
        waitForAnswer { [id] answered in
            cache.load(key) { found in
                StepDoor.pass(.cacheAnswered, id)
                answered(found)
            }
        } next: { run, found in
            guard let found else { return run.failForDisk() }
            run.decide(strategy, request, key, cache, found)
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

    private func decide(
        _ strategy: CacheStrategy, _ request: CacheRequest, _ key: CacheKey, _ cache: ResponseCache, _ found: CacheLookupResult,
        _ batch: DeliveryBatch? = nil
    ) {
        switch strategy.decide(request, candidates: found.responses, now: cache.clock()) {
        case .serve(let answer):
            serve(answer, CacheUse(cache, key, found), isValidated: false, batch: batch)
        case .serveAndForward(let answer, let forward):
            if forward.strategy.policy.read == .thenNetwork {
                drive.cache = CacheVisit(cache, key, found, forward)
                serveFirst(answer, CacheUse(cache, key, found))
            } else if template.destination != nil {
                // A file is written for its caller, once: nobody could refresh it beside, so the server is asked first.
                drive.cache = CacheVisit(cache, key, found, forward.asked)
                send(forward.asked)
            } else {
                refresh(CacheVisit(cache, key, found, forward, isRefresh: true))
                serve(answer, CacheUse(cache, key, found), isValidated: false, batch: nil)
            }
        case .forward(var forward):
            // A file has room for a body that memory has not, and is written by the transfer alone: no beginning is joined to it.
            if template.destination != nil, forward.completing != nil { forward = forward.unconditional }
            let visit = CacheVisit(cache, key, found, forward)
            if mayShare(request), !lead(cache, key), follow(visit) { return }
            drive.cache = visit
            send(forward)
        case .unavailable(let head, let status):
            count(.miss, in: cache)
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

    /// A refresh begins here: its visit is made already.
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
    private func refresh(_ visit: CacheVisit) {
        guard visit.cache.beginRefresh(visit.key, visit.found) else { return }
        let (cache, key) = (visit.cache, visit.key)
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
        run.drive.cache = visit
        _ = agent.add(run)
        run.begin()
    }

    /// A stream reads nothing of what is stored and stores nothing, and what it changes on a server is wrong in the cache all the same.
    private func enterCache(withStream request: CacheRequest, _ cache: ResponseCache) {
        var policy = template.options.cache
        if policy.read == .only || CacheControl(request: request.fields).onlyIfCached {
            let message = "a stream is never read out of the cache, and the network is out of bounds"
            return fail(NetworkError(.invalidOption, phase: .preparing, message: message, runID: id), batch: nil)
        }
        guard !request.method.isKnownSafe, !policy.keeps(request.method) else { return goToNetwork() }
        policy.read = .none
        policy.write = .none
        let strategy = cache.strategy(policy)
        guard let key = strategy.key(for: request) else { return goToNetwork() }
        decide(strategy, request, key, cache, CacheLookupResult(ticket: nil))
    }

    /// *Cached then network*: the stored value is delivered while the server is asked.
    private func serveFirst(_ answer: CachedAnswer, _ use: CacheUse) {
        guard let visit = drive.cache else { return }
        let count = use.range(of: answer)?.count ?? 0
        // A file has one content, and the server's is the one.
        guard let feed, template.destination == nil, count <= template.options.limits.bodyBytes else { return send(visit.forward) }
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
            send(visit.forward)
        }
    }

    // MARK: The server's answer

    /// Network thread. Nil: nothing of the cache's concern.
    func cacheDestination(_ head: ResponseHead) -> BodyDestination? {
        guard let visit = drive.cache else { return nil }
        let outcome = visit.received(head)
        // Now: the body may break off, and its owner may go. Whoever has the head finds nothing any more of what it says is wrong.
        visit.invalidate()
        if hasStream {
            visit.applyChanges()
            guard template.options.validation.accepts(head.status) else {
                // Nobody has this one. Another attempt may follow, whose head says something new; this one's changes are made.
                visit.outcome = nil
                drive.cacheStatus = outcome.status
                return nil
            }
            drive.cache = nil
            note(outcome.status)
            return nil
        }
        switch outcome.answer {
        case .stored, .again: return .memoryPrefix(limit: 0)
        case .joined:
            drive.bodyIsValue = true
            return .memory(limit: template.options.limits.bodyBytes)
        case .received:
            // Nobody else will find it in the cache.
            if !visit.stores {
                endFlight()
                // Its owner has gone, and those it went on for are on their own way now.
                if isMuted { _ = cancel(reason) }
            }
            return nil
        }
    }

    /// An attempt has ended. Network thread.
    ///
    /// - Returns: false when the cache took over.
    func passThroughCache(_ visit: CacheVisit, _ result: TransferResult, batch: DeliveryBatch?) -> Bool {
        guard result.error == nil, let outcome = visit.outcome else { return true }
        drive.cacheStatus = outcome.status
        if case .received = outcome.answer, !visit.changesStored { return true }
        enter(.working)
        block(batch) { [self] in
            visit.applyChanges()
            guard mayGoOn else { return abandonWork() }
            enter(.idle)
            answer(outcome, visit, result)
        }
        return false
    }

    private func answer(_ outcome: CacheOutcome, _ visit: CacheVisit, _ result: TransferResult) {
        switch outcome.answer {
        case .received: conclude(result, batch: nil)
        case .stored(let answer):
            // An error that a stale response takes the place of says nothing about it.
            serve(answer, CacheUse(visit), isValidated: outcome.storage.reason != .staleIsBetter, batch: nil)
        case .again(let forward): again(forward, visit)
        case .joined(let head, let pieces):
            guard let body = visit.joined(pieces, result.body) else {
                visit.removeCompleted()
                return again(visit.forward.unconditional, visit)
            }
            var whole = result
            whole.head = ResponseHead(head)
            // What is stored is put together once more from the pieces, by the same rules.
            whole.body = body
            drive.joined = result.body
            conclude(whole, batch: nil)
        }
    }

    private func again(_ forward: CacheForward, _ visit: CacheVisit) {
        visit.begin(forward)
        send(forward, isRepeated: true)
    }

    /// No response came, and nothing is tried again.
    ///
    /// - Returns: false when there is nothing to take its place.
    func serveInstead(of error: NetworkError) -> Bool {
        guard let visit = drive.cache, visit.outcome == nil, !visit.isRefresh, error.leavesRoomForTheCache else { return false }
        switch visit.forward.failed(now: visit.cache.clock()) {
        case .fail: return false
        case .stored(let answer):
            serve(answer, CacheUse(visit), isValidated: false, batch: nil)
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
        defer { endFlight() }
        guard let visit = endVisit(result), result.metrics.bodyBytesReceived == Int64((drive.joined ?? result.body).count) else { return }
        visit.store(drive.joined ?? result.body, isComplete: result.error == nil, of: result.head)
    }

    /// Nothing more is asked of the cache.
    ///
    /// - Returns: nil where nothing is to be stored.
    func endVisit(_ result: TransferResult) -> CacheVisit? {
        guard let visit = drive.cache else { return nil }
        drive.cache = nil
        note(drive.cacheStatus ?? ResponseCache.Status(forward: visit.forward.reason))
        if !visit.isRefresh, !hasStream, result.error == nil { count(.miss, in: visit.cache) }
        return visit.stores && mayStoreValue(result) ? visit : nil
    }
}

/// What is needed to serve from what was found.
struct CacheUse: Sendable {
    let cache: ResponseCache
    let key: CacheKey
    let found: CacheLookupResult

    init(_ cache: ResponseCache, _ key: CacheKey, _ found: CacheLookupResult) {
        self.cache = cache
        self.key = key
        self.found = found
    }

    init(_ visit: CacheVisit) { self.init(visit.cache, visit.key, visit.found) }

    /// The bytes that are served; nil when there are none.
    func range(of answer: CachedAnswer) -> Range<Int64>? {
        switch answer.body {
        case .none: nil
        case .whole: 0..<Int64(found.entries[answer.candidate].body.length)
        case .slice(let range): range
        }
    }
}

extension NetworkError {
    /// No server could be reached, or it broke off before it said anything. A server that is not who it should be is no reason to go on
    /// with what it once said.
    fileprivate var leavesRoomForTheCache: Bool {
        switch code {
        case .connectivityTimeout, .nameNotResolved, .proxyNotResolved, .connectionRefused, .connectionFailed, .connectionLost,
            .proxyFailed,
            .connectTimeout, .firstByteTimeout, .idleTimeout, .queueTimeout, .totalTimeout:
            response == nil
        default: false
        }
    }
}
