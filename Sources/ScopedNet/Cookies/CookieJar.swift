internal import FoundationEssentials
public import Persistence
import SystemSupport

/// Cookies between requests (RFC 6265bis). Sessions share one by being given the same.
///
/// ```swift
/// var configuration = Session.Configuration()
/// configuration.cookies = CookieJar()                                      // until the program ends
/// configuration.cookies = await CookieJar(named: "com.example.reader")     // and beyond
/// ```
///
/// What a server sets is kept and goes along with later requests and redirects to where it belongs. `Secure`, `SameSite` and the name prefixes
/// count, cookies for public suffixes are refused, and a `Cookie` field of a request's own is sent as it stands, alone. A request that wants
/// none of it sets ``RequestOptions/handlesCookies`` to false.
///
/// All calls are safe from any thread and none waits for the disk; what changes is written at once, in the background. Cookies without an
/// expiry end with the jar. A store keeps them in a folder of 0700, and sealed where its configuration says so; where it cannot be used, the
/// memory works alone. Jars of one folder in one process share its store; a second process with the same folder works in memory.
///
/// Which domains are public suffixes libpsl says where it is installed (it comes with libcurl on most systems), else rules of thumb:
/// ``knowsPublicSuffixes``.
public final class CookieJar: Sendable {
    private struct State {
        var table: CookieTable
        var ledger = RecordLedger<Cookie.Key>()

        mutating func note(_ keys: some Sequence<Cookie.Key>) {
            ledger.note(keys)
            ledger.note(table.takeEvicted())
        }
    }

    /// As libcurl: of one response no more are taken.
    private static let mostInResponse = 50

    private let state: Lock<State>
    let store: Store?
    let namespace: String
    private let now: @Sendable () -> Double

    /// Whether the list of public suffixes is there. Without it cookies may be set for domains such as `github.io`.
    public static var knowsPublicSuffixes: Bool { PublicSuffixes.isComplete }

    /// In memory alone.
    public convenience init() { self.init(store: nil, partition: "", now: { Date.now.timeIntervalSince1970 }) }

    /// A jar that outlives the program, in a folder of that name (``StoreConfiguration/stateDirectory(_:)``). Returns when what was kept is
    /// there. Where the user has no such folder, memory works alone, and ``flush()`` throws an error that says so.
    ///
    /// - Parameters:
    ///   - name: of your program, such as `com.example.reader`.
    ///   - partition: jars of one folder that must not see each other, such as those of several accounts.
    public convenience init(named name: String, partition: String = "") async {
        await self.init(StoreConfiguration.state(name), partition: partition)
    }

    /// A jar that outlives the program, in a folder of your own, or sealed.
    public convenience init(_ configuration: StoreConfiguration, partition: String = "") async {
        await self.init(Self.store(configuration), partition: partition)
    }

    /// One of several jars in a store.
    public convenience init(_ store: Store, partition: String = "") async {
        self.init(store: store, partition: partition, now: { Date.now.timeIntervalSince1970 })
        await load()
        try? await store.removeExpiredRecords()
    }

    private struct WeakStore {
        weak var store: Store?
    }

    private static let stores = Lock<[ExactString: WeakStore]>([:])

    /// A store has its folder for itself, so the jars of a folder share it, and so do credentials that are kept beside them. Where one is sealed
    /// and the other is not they do not: the second then has no disk, and nothing is written in the clear that was to be sealed.
    static func store(_ configuration: StoreConfiguration) -> Store {
        let folder = URL(filePath: configuration.directory).standardized.path
        let place = ExactString(folder + (configuration.sealing == nil ? "" : "\0sealed"))
        // Under the lock: of two that were made at once, the one nobody wants could have the folder. It only begins to open.
        return stores.withLock { stores in
            if let store = stores[place]?.store { return store }
            let made = Store(configuration)
            stores = stores.filter { $0.value.store != nil }
            stores[place] = WeakStore(store: made)
            return made
        }
    }

    package init(store: Store?, partition: String, now: @escaping @Sendable () -> Double) {
        // The list is opened here, not under a lock.
        _ = PublicSuffixes.isComplete
        state = Lock(State(table: CookieTable(isPublicSuffix: { PublicSuffixes.contains($0) })))
        self.store = store
        namespace = "cookies/\(partition)"
        self.now = now
    }

    // MARK: For users

    /// All that have not expired, by domain, path and name.
    public var cookies: [Cookie] {
        let now = now()
        return state.withLock { $0.table.all.filter { !$0.isExpired(at: now) } }
    }

    /// What a request to a URL would send, in that order; empty for what is no URL.
    public func cookies(for url: some URLConvertible) -> [Cookie] {
        guard let url = try? RequestURL(url.urlReference) else { return [] }
        let now = now()
        return state.withLock { $0.table.cookies(for: CookieOrigin(url), now: now) }
    }

    /// Takes a cookie as if a response from `url` had set it: `set("session=31d4; Path=/; Secure", for: "https://example.com")`.
    ///
    /// - Returns: false when it was refused: malformed, for a domain that is not the URL's, or against the rules of its attributes.
    /// - Throws: ``NetworkError`` when `url` is none.
    @discardableResult
    public func set(_ field: String, for url: some URLConvertible) throws(NetworkError) -> Bool {
        let url = try RequestURL(url.urlReference)
        return receive([field], from: url).contains { if case .refused = $0 { false } else { true } }
    }

    /// Nothing of this partition is left, on disk either once that is written.
    public func removeAll() {
        state.withLock { state in
            state.table.removeAll()
            state.ledger.isLoaded = true
            state.ledger.noteEverything()
        }
        save()
    }

    /// Removes all that answer to the description, such as those of one domain. One that a response replaces meanwhile stays.
    public func remove(where isUnwanted: (Cookie) -> Bool) {
        let unwanted = state.withLock { $0.table.all }.filter(isUnwanted)
        state.withLock { state in
            let keys = unwanted.filter { state.table[$0.key]?.value.hasSameBytes(as: $0.value) ?? false }.map(\.key)
            let gone = Set(keys)
            state.table.removeAll { gone.contains($0.key) }
            state.note(keys)
        }
        save()
    }

    /// Waits until everything is on disk; returns at once without a store.
    ///
    /// - Throws: why it is not; it is tried again with the next change or flush.
    public func flush() async throws(StoreError) { try await waitUntilSaved() }

    // MARK: For requests

    /// The value of `Cookie`. Any thread; takes no longer than the cookies of a few domains are many.
    func field(for url: RequestURL, cameBy visits: [String], isSafeMethod: Bool) -> String? {
        let now = now()
        let origin = CookieOrigin(url)
        let origins = visits.compactMap { try? RequestURL($0) }.map { CookieOrigin($0) }
        return state.withLock { state in
            let isSameSite = origins.allSatisfy { state.table.isSameSite($0, origin) }
            return state.table.field(for: origin, isSameSite: isSameSite, isSafeMethod: isSafeMethod, now: now)
        }
    }

    /// A response has come from there.
    @discardableResult
    func receive(_ fields: [String], from url: RequestURL) -> [CookieTable.Decision] {
        guard !fields.isEmpty else { return [] }
        let now = now()
        let origin = CookieOrigin(url)
        let decisions = state.withLock { state in
            let decisions = fields.prefix(Self.mostInResponse).map { state.table.receive($0, from: origin, now: now) }
            state.note(
                decisions.compactMap { decision in
                    switch decision {
                    case .stored(let key), .removed(let key): key
                    case .refused: nil
                    }
                })
            return decisions
        }
        save()
        return decisions
    }
}

extension CookieJar: RecordKeeper {
    func withLedger<Result>(_ body: (inout RecordLedger<Cookie.Key>) -> Result) -> Result { state.withLock { body(&$0.ledger) } }

    func restore(_ records: [StoreRecord]) {
        let cookies = records.compactMap { try? JSONDecoder().decode(Cookie.self, from: $0.data) }
        let now = now()
        state.withLock { state in
            guard !state.ledger.isLoaded else { return }
            state.ledger.isLoaded = true
            // What was removed meanwhile stays so.
            for cookie in cookies where !state.ledger.contains(cookie.key) { state.table.restore(cookie, now: now) }
            state.note([])
        }
    }

    func records(for due: RecordLedger<Cookie.Key>.Due) -> (kept: [StoreRecord], gone: [String]) {
        let found = state.withLock { state in
            switch due {
            case .everything: state.table.all.map { ($0.key, Optional($0)) }
            case .entries(let keys): keys.map { ($0, state.table[$0]) }
            }
        }
        // One that ends with the jar replaces one that did not.
        let kept = found.compactMap(\.1).filter { $0.expires != nil }.compactMap(\.record)
        return (kept, found.filter { $0.1?.expires == nil }.map(\.0.recordName))
    }
}

extension Cookie.Key {
    /// None of the parts may hold a control character.
    fileprivate var recordName: String { "\(isHostOnly ? "" : ".")\(domain)\u{1}\(path)\u{1}\(name)" }
}

extension Cookie {
    fileprivate var record: StoreRecord? {
        guard let data = try? JSONEncoder().encode(self) else { return nil }
        return StoreRecord(name: key.recordName, data: data, expires: expiryDate)
    }
}
