import HTTPTypes
import Persistence

/// The question that an exchange puts to the response cache before it asks the server, and what follows from the answer. It knows no run.
struct CacheInquiry {
    /// The destination of a body, as far as a cache has to know.
    enum Consumer {
        case memory
        /// One file, written once: nobody could refresh it beside, and no stored beginning is joined to it.
        case file
        /// A reader that has the body while it arrives: nothing stored is read for it, and nothing is stored.
        case stream
    }

    enum Entry {
        /// The exchange does not go through a cache.
        case pass
        /// A stream that must not ask the server.
        case refuseStream
        /// To be put to the memory, and to the disk where memory cannot tell.
        case ask(CacheInquiry)
        /// Nothing is ever found for it, and its response may change what is stored.
        case askNothing(CacheInquiry)
    }

    enum Step {
        /// The stored response is the answer.
        case serve(CachedAnswer, CacheUse)
        /// It is told first, and then the server is asked.
        case serveFirst(CachedAnswer, CacheUse, CacheTransaction)
        /// It is the answer, and a transaction of its own refreshes it.
        case serveAndRefresh(CachedAnswer, CacheUse, CacheTransaction)
        case send(CacheTransaction)
        /// Nothing stored may be used, and the server must not be asked.
        case unavailable(CacheHead, ResponseCache.Status)
    }

    let cache: ResponseCache
    let request: CacheRequest
    let key: CacheKey
    /// As the caller wants it.
    private let policy: CachePolicy
    private let strategy: CacheStrategy
    private let consumer: Consumer

    /// With `readsNothing` no stored response would do, whatever the policy says; `key` gives the key that the strategy makes, where it is kept
    /// already.
    static func entry(
        _ request: CacheRequest, _ callersPolicy: CachePolicy, readsNothing: Bool, _ cache: ResponseCache, for consumer: Consumer,
        key: (CacheStrategy) -> CacheKey?
    ) -> Entry {
        var policy = callersPolicy
        if readsNothing { policy.read = .none }
        if case .stream = consumer {
            if callersPolicy.read == .only || CacheControl(request: request.fields).onlyIfCached {
                return .refuseStream
            }
            guard !request.method.isKnownSafe, !policy.keeps(request.method) else { return .pass }
            policy.read = .none
            policy.write = .none
        }
        let strategy = cache.strategy(policy)
        guard let key = key(strategy) else { return .pass }
        let inquiry = CacheInquiry(
            cache: cache, request: request, key: key, policy: callersPolicy, strategy: strategy, consumer: consumer)
        // The answers to other methods are never found, only thrown away.
        let isSearched = request.method == .get || request.method == .head || policy.keeps(request.method)
        return isSearched && policy != .off && !inquiry.isStream ? .ask(inquiry) : .askNothing(inquiry)
    }

    private var isStream: Bool { if case .stream = consumer { true } else { false } }
    private var isFile: Bool { if case .file = consumer { true } else { false } }

    /// Decides with what was found, at this moment of the cache's clock.
    func answered(_ found: CacheLookupResult) -> Step {
        let use = CacheUse(cache, key, found)
        switch strategy.decide(request, candidates: found.responses, now: cache.clock()) {
        case .serve(let answer): return .serve(answer, use)
        case .serveAndForward(let answer, let forward):
            if forward.strategy.policy.read == .thenNetwork { return .serveFirst(answer, use, transaction(found, forward)) }
            if isFile { return .send(transaction(found, forward.asked)) }
            return .serveAndRefresh(answer, use, CacheTransaction(cache, key, found, forward, isRefresh: true))
        case .forward(let forward):
            // A file may be larger than memory, and is written by the transfer alone.
            return .send(transaction(found, isFile && forward.completing != nil ? forward.unconditional : forward))
        case .unavailable(let head, let status): return .unavailable(head, status)
        }
    }

    private func transaction(_ found: CacheLookupResult, _ forward: CacheForward) -> CacheTransaction {
        CacheTransaction(cache, key, found, forward)
    }

    /// True where a run may go to the server for others, or wait for another's answer, as far as the request says.
    var mayBeShared: Bool {
        policy.coalescesRequests && !policy.write.isEmpty && policy.read != .none && request.method == .get && !request.hasBody
            && !request.hasCondition && request.fields[.range] == nil && !isFile && !isStream
    }
}

/// The cache, the key and the entries that a stored response is served from.
struct CacheUse: Sendable {
    let cache: ResponseCache
    let key: CacheKey
    let found: CacheLookupResult

    init(_ cache: ResponseCache, _ key: CacheKey, _ found: CacheLookupResult) {
        self.cache = cache
        self.key = key
        self.found = found
    }

    init(_ transaction: CacheTransaction) { self.init(transaction.cache, transaction.key, transaction.found) }

    /// The bytes that are served; nil when there are none.
    func range(of answer: CachedAnswer) -> Range<Int64>? {
        switch answer.body {
        case .none: nil
        case .whole: 0..<Int64(found.entries[answer.candidate].body.length)
        case .slice(let range): range
        }
    }
}
