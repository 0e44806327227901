internal import FoundationEssentials
public import Persistence

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
/// memory works alone.
public final class CookieJar: Sendable {
    private struct State {
        var table: CookieTable
        /// Changed, and not on disk.
        var unsaved: Set<Cookie.Key> = []
        var saving: Task<StoreError?, Never>?
    }

    private let state: Lock<State>
    private let store: Store?
    private let namespace: String
    private let now: @Sendable () -> Double

    /// In memory alone.
    public convenience init() { self.init(store: nil, partition: "", now: { Date.now.timeIntervalSince1970 }) }

    /// A jar that outlives the program, in a folder of that name (``StoreConfiguration/stateDirectory(_:)``). Returns when what was kept is
    /// there.
    ///
    /// - Parameters:
    ///   - name: of your program, such as `com.example.reader`.
    ///   - partition: jars of one folder that must not see each other, such as those of several accounts.
    public convenience init(named name: String, partition: String = "") async {
        await self.init(StoreConfiguration(directory: StoreConfiguration.stateDirectory(name)), partition: partition)
    }

    /// A jar that outlives the program, in a folder of your own, or sealed.
    public convenience init(_ configuration: StoreConfiguration, partition: String = "") async {
        await self.init(Store(configuration), partition: partition)
    }

    /// One of several jars in a store.
    public convenience init(_ store: Store, partition: String = "") async {
        self.init(store: store, partition: partition, now: { Date.now.timeIntervalSince1970 })
        await load()
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
    public func cookies(for url: String) -> [Cookie] {
        guard let url = try? RequestURL(url) else { return [] }
        let now = now()
        return state.withLock { $0.table.cookies(for: CookieOrigin(url), now: now) }
    }

    /// Takes a cookie as if a response from `url` had set it: `set("session=31d4; Path=/; Secure", for: "https://example.com")`.
    ///
    /// - Returns: false when it was refused: malformed, for a domain that is not the URL's, or against the rules of its attributes.
    /// - Throws: ``NetworkError`` when `url` is none.
    @discardableResult
    public func set(_ field: String, for url: String) throws(NetworkError) -> Bool {
        let url = try RequestURL(url)
        return receive([field], from: url).contains { if case .refused = $0 { false } else { true } }
    }

    public func removeAll() { remove { _ in true } }

    /// Removes all that answer to the description, such as those of one domain.
    public func remove(where isUnwanted: (Cookie) -> Bool) {
        let unwanted = state.withLock { $0.table.all }.filter(isUnwanted).map(\.key)
        state.withLock { state in
            let unwanted = Set(unwanted)
            state.table.removeAll { unwanted.contains($0.key) }
            state.unsaved.formUnion(unwanted)
        }
        save()
    }

    /// Waits until everything is on disk; returns at once without a store.
    ///
    /// - Throws: why it is not; it is tried again with the next change or flush.
    public func flush() async throws(StoreError) {
        save()
        while let saving = state.withLock({ $0.saving }) {
            if let error = await saving.value { throw error }
        }
    }

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
            fields.map { field in
                let decision = state.table.receive(field, from: origin, now: now)
                switch decision {
                case .stored(let key), .removed(let key): state.unsaved.insert(key)
                case .refused: break
                }
                return decision
            }
        }
        save()
        return decisions
    }

    // MARK: Keeping

    private func load() async {
        guard let records = try? await store?.records(in: namespace) else { return }
        let cookies = records.compactMap { try? JSONDecoder().decode(Cookie.self, from: $0.data) }
        let now = now()
        state.withLock { state in
            for cookie in cookies { state.table.restore(cookie, now: now) }
        }
    }

    /// One writer at a time; what changes meanwhile is its next piece of work.
    private func save() {
        guard let store else {
            state.withLock { $0.unsaved = [] }
            return
        }
        state.withLock { state in
            guard state.saving == nil, !state.unsaved.isEmpty else { return }
            state.saving = Task { await self.write(to: store) }
        }
    }

    private func write(to store: Store) async -> StoreError? {
        while true {
            let batch = state.withLock { state -> [(Cookie.Key, Cookie?)] in
                defer { state.unsaved = [] }
                if state.unsaved.isEmpty { state.saving = nil }
                return state.unsaved.map { ($0, state.table[$0]) }
            }
            guard !batch.isEmpty else { return nil }
            // One that ends with the jar replaces one that did not.
            let kept = batch.compactMap { $0.1 }.filter { $0.expires != nil }
            let gone = batch.filter { $0.1?.expires == nil }.map { $0.0.recordName }
            do throws(StoreError) {
                try await store.setRecords(kept.compactMap(\.record), in: namespace)
                if !gone.isEmpty { try await store.removeRecords(gone, in: namespace) }
            } catch {
                state.withLock { state in
                    state.unsaved.formUnion(batch.map { $0.0 })
                    state.saving = nil
                }
                return error
            }
        }
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
