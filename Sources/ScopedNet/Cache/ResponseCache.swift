import FoundationEssentials
import Glibc
public import Persistence
import SystemSupport

/// A private HTTP cache (RFC 9111) on disk, with the memory in front of it. Sessions share one by being given the same.
///
/// ```swift
/// let reader = Session("https://api.example.com/v1/").with { $0.cache = ResponseCache(named: "com.example.reader") }
/// ```
///
/// Making one does no I/O and cannot fail: where the disk cannot be used, memory works alone, and no request ever fails because of the
/// cache. What each request wants of it says ``RequestOptions/cache``. All calls are safe from any thread.
public final class ResponseCache: Sendable {
    /// What is stored, and where; see the product `Persistence`.
    public let store: Store
    private let secret: CacheSecret
    let coalescer = RequestCoalescer<CacheKey, Never>()
    let copies = CacheCopies()
    private let refreshing = Lock<Set<CacheKey>>([])
    private let counters = Lock(ResponseCache.Statistics())
    private let terminationFlush: TerminationFlush?
    private let memoryPressure: MemoryPressureMonitor?
    package let clock: @Sendable () -> WallTime

    /// A cache in a folder of that name among the user's caches (``StoreConfiguration/cacheDirectory(_:)``). Where the user has none, as in a container
    /// without `HOME`, memory works alone, and ``Store/condition`` says so.
    ///
    /// - Parameters:
    ///   - name: of your program, such as `com.example.reader`; no other program should use it.
    ///   - limits: the sizes of memory and disk, and how long the disk may take.
    ///   - options: nothing by default.
    public convenience init(named name: String, limits: StoreLimits = StoreLimits(), options: Options = []) {
        self.init(StoreConfiguration.cache(name, limits: limits), options: options)
    }

    /// A cache in a folder of your own, shared between processes, or writing through.
    public convenience init(_ configuration: StoreConfiguration, options: Options = []) {
        self.init(configuration, options: options, clock: { .now })
    }

    /// What a cache does at moments that concern the whole process. Default: nothing, as a library should.
    public struct Options: OptionSet, Sendable, Hashable {
        /// The options as bits.
        public let rawValue: Int
        /// Makes a set of its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// At SIGTERM and SIGINT what is not on disk yet is written, and then the signal does what it would have done (``TerminationFlush``). For
        /// programs that handle these signals in no other way; there is one such cache in a process, the first.
        public static let flushesAtTermination = Options(rawValue: 1)
        /// When the system is short of memory (systemd's protocol, the control group, or the machine), what is not on disk yet is written, and then
        /// the memory is given back (``MemoryPressureMonitor``).
        public static let yieldsToMemoryPressure = Options(rawValue: 2)
    }

    /// Which of the options that were asked for are at work: the kernel may not tell of memory pressure, and somebody else may have the signals.
    public var activeOptions: Options {
        var options: Options = []
        if terminationFlush != nil { options.insert(.flushesAtTermination) }
        if memoryPressure != nil { options.insert(.yieldsToMemoryPressure) }
        return options
    }

    package init(_ configuration: StoreConfiguration, options: Options = [], clock: @escaping @Sendable () -> WallTime) {
        var configuration = configuration
        // Two kinds of content, and each with a form that may change.
        configuration.contentVersion = StoredResponse.codingVersion
        store = Store(configuration)
        secret = CacheSecret(directory: configuration.directory)
        terminationFlush = options.contains(.flushesAtTermination) ? try? TerminationFlush([store]) : nil
        memoryPressure = options.contains(.yieldsToMemoryPressure) ? try? MemoryPressureMonitor(relieving: [store]) : nil
        self.clock = clock
    }

    // MARK: For users

    /// What came of the requests so far.
    public var statistics: ResponseCache.Statistics { counters.withLock { $0 } }

    /// Removes every response. Nobody in this process sees them any more when this returns, and what is being fetched is not stored.
    public func removeAll() { store.removeAll() }

    /// Removes the responses of one partition (``CachePolicy/partition``): those of an account that has signed out, say.
    public func removeAll(in partition: String) { store.removeAll(in: partition) }

    /// Removes all that is stored for a URL.
    ///
    /// - Parameters:
    ///   - url: absolute, as requests have it: letters beyond ASCII may be percent-encoded or not.
    ///   - host: the `Host` field of the requests, where they have one of their own that is not the URL's.
    ///   - policy: as it was stored under: partition and custom key count.
    public func remove(_ url: some URLConvertible, host: String? = nil, policy: CachePolicy = .standard) {
        var request = CacheRequest(url: (try? RequestURL(url.urlReference))?.string ?? url.urlReference)
        if let host { request.fields[.hostField] = host }
        guard let key = strategy(policy).key(for: request) else { return }
        remove(key)
    }

    /// Waits until everything is on disk.
    ///
    /// - Throws: `unavailable` or `closed` when there is no disk.
    public func flush() async throws(StoreError) { try await store.flush() }

    // MARK: For runs

    func strategy(_ policy: CachePolicy) -> CacheStrategy { CacheStrategy(policy: policy, hashSecret: secret.hash) }

    /// Making the key may read a file, the first time.
    func needsFile(_ policy: CachePolicy, url: String) -> Bool {
        !secret.isKnown && (policy.sensitiveValue != nil || url.utf8.contains(UInt8(ascii: "@")))
    }

    func entryKey(_ key: CacheKey) -> EntryKey { EntryKey(key.text, partition: key.partition) }

    func remove(_ key: CacheKey) { store.remove(entryKey(key)) }

    /// What memory knows, at once; nil when only the disk can tell.
    func cached(_ key: CacheKey) -> CacheLookupResult? {
        guard let found = store.cached(entryKey(key)), found.isComplete else { return nil }
        return CacheLookupResult(found)
    }

    /// May block: not for a caller's thread, nor the network's.
    func load(_ key: CacheKey) -> CacheLookupResult { CacheLookupResult(store.lookupBlocking(entryKey(key))) }

    /// Reads what the disk has, on a thread of the store, where `then` is called.
    func load(_ key: CacheKey, then: @escaping @Sendable (CacheLookupResult) -> Void) {
        store.lookup(entryKey(key)) { then(CacheLookupResult($0)) }
    }

    /// One refresh of each key at a time, and none of what has been refreshed since it was found.
    func beginRefresh(_ key: CacheKey, _ found: CacheLookupResult) -> Bool {
        guard refreshing.withLock({ $0.insert(key).inserted }) else { return false }
        if let now = cached(key), !now.isSame(as: found) {
            endRefresh(key)
            return false
        }
        return true
    }
    func endRefresh(_ key: CacheKey) { _ = refreshing.withLock { $0.remove(key) } }

    func count(_ change: (inout ResponseCache.Statistics) -> Void) { counters.withLock { change(&$0) } }
}

extension ResponseCache {
    /// What came of the requests that asked a cache.
    public struct Statistics: Sendable, Hashable {
        /// Answered from the cache without a server's word: none was asked first, none could be, or its answer was an error.
        public internal(set) var hits = 0
        /// Answered from the cache after the server said that it is still right.
        public internal(set) var validated = 0
        /// Answered by the server.
        public internal(set) var misses = 0
        /// Body bytes that need not come over the network.
        public internal(set) var bytesSaved: Int64 = 0

        /// 0 to 1; nil before the first request.
        public var hitRate: Double? {
            let all = hits + validated + misses
            return all == 0 ? nil : Double(hits + validated) / Double(all)
        }
    }
}

/// What a store has under a key, as the rules see it. What cannot be read is not there.
struct CacheLookupResult: Sendable {
    let entries: [StoreEntry]
    let responses: [StoredResponse]
    let ticket: PutTicket?

    init(_ lookup: StoreLookup) {
        ticket = lookup.ticket
        var entries: [StoreEntry] = []
        var responses: [StoredResponse] = []
        for entry in lookup.entries {
            guard let response = entry.note.value({ StoredResponse(decoding: entry.metadata) }),
                response.content.length == Int64(entry.body.length)
            else {
                continue
            }
            entries.append(entry)
            responses.append(response)
        }
        self.entries = entries
        self.responses = responses
    }

    func isSame(as other: CacheLookupResult) -> Bool {
        entries.count == other.entries.count
            && zip(entries, other.entries).allSatisfy { $0.variant == $1.variant && $0.metadata == $1.metadata }
    }

    /// For methods whose requests find nothing.
    init(ticket: PutTicket?) {
        entries = []
        responses = []
        self.ticket = ticket
    }
}

extension WallTime {
    /// CLOCK_REALTIME.
    package static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(secondsSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
}
