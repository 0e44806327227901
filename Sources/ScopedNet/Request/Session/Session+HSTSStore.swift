public import FoundationEssentials
public import Persistence
import SystemSupport

extension Session {
    /// The hosts that want to be asked over https only (HTTP Strict Transport Security, RFC 6797). Sessions share one by being given the same.
    ///
    /// ```swift
    /// configuration.hsts = Session.HSTSStore()                                     // until the program ends
    /// configuration.hsts = await Session.HSTSStore(named: "com.example.reader")    // and beyond
    /// ```
    ///
    /// A response over https with `Strict-Transport-Security` is noted, and from then on requests and redirects to that host over `http` go to
    /// `https` instead, before anything is sent or looked up in a cache: port 80 becomes 443, other ports stay. Observers receive
    /// ``RequestEvent/Kind/upgraded(from:to:)``. Only the first such field of a response counts, only where the certificate was verified (a session
    /// that accepts any is not believed), and never for an IP address. `max-age=0` ends it.
    ///
    /// All calls are safe from any thread and none waits for the disk; what changes is written at once, in the background, into the same kind of
    /// store that a ``CookieJar`` has, and may be the same.
    public final class HSTSStore: Sendable {
        /// A host in the store.
        public struct Entry: Sendable, Hashable {
            /// In lower case, without a dot at its end.
            public var host: String
            /// The names below it are meant, too.
            public var includesSubdomains: Bool
            /// The end of it; nil for a host that was preloaded.
            public var expiryDate: Date?

            /// Makes an entry; without a date it has no end.
            public init(_ host: String, includesSubdomains: Bool = false, expiryDate: Date? = nil) {
                self.host = host
                self.includesSubdomains = includesSubdomains
                self.expiryDate = expiryDate
            }
        }

        struct State {
            var table = HSTSTable()
            var ledger = RecordLedger<String>()
        }

        let state = Lock(State())
        let store: Store?
        let namespace: String
        let now: @Sendable () -> Double

        /// In memory alone.
        public convenience init() { self.init(store: nil, partition: "", now: { Date.now.timeIntervalSince1970 }) }

        /// A store that outlives the program, in a folder of that name (``StoreConfiguration/stateDirectory(_:)``). Returns when what was kept is
        /// there. Where the user has no such folder, memory works alone, and ``flush()`` throws an error that says so.
        ///
        /// - Parameters:
        ///   - name: the name of the folder.
        ///   - partition: keeps stores of one folder apart, such as those of several accounts.
        public convenience init(named name: String, partition: String = "") async {
            await self.init(StoreConfiguration.state(name), partition: partition)
        }

        /// A store that outlives the program, in a folder of your own.
        public convenience init(_ configuration: StoreConfiguration, partition: String = "") async {
            await self.init(CookieJar.store(configuration), partition: partition)
        }

        /// One of several in a store.
        public convenience init(_ store: Store, partition: String = "") async {
            self.init(store: store, partition: partition, now: { Date.now.timeIntervalSince1970 })
            await load()
        }

        package init(store: Store?, partition: String, now: @escaping @Sendable () -> Double) {
            self.store = store
            namespace = "hsts/\(partition)"
            self.now = now
        }

        /// All that have not ended, the preloaded ones among them, by host.
        public var entries: [Entry] {
            let now = now()
            return state.withLock { state in
                let noted = state.table.names.compactMap { name -> Entry? in
                    guard let entry = state.table[name], entry.expires > now else { return nil }
                    return Entry(name, includesSubdomains: entry.includesSubdomains, expiryDate: Date(timeIntervalSince1970: entry.expires))
                }
                let listed = state.table.preloadedHosts.map { Entry($0.key, includesSubdomains: $0.value) }
                return (noted + listed).sorted { ($0.host, $1.expiryDate == nil ? 1 : 0) < ($1.host, $0.expiryDate == nil ? 1 : 0) }
            }
        }

        /// Adds hosts. One without an expiry is preloaded: it is not written to disk, and no response removes it.
        ///
        /// - Throws: ``NetworkError`` with the code `invalidOption` for what is no host name, and then adds none.
        public func add(_ entries: [Entry]) throws(NetworkError) {
            var added: [(name: String, entry: Entry)] = []
            for entry in entries {
                guard let name = HSTSTable.name(of: entry.host), HSTSTable.isHostName(name) else {
                    throw NetworkError(
                        .invalidOption, phase: .preparing, message: "'\(entry.host.prefix(120))' is no host name in ASCII")
                }
                added.append((name, entry))
            }
            state.withLock { state in
                for (name, entry) in added {
                    if let expires = entry.expiryDate {
                        state.table.restore(
                            name, HSTSTable.Entry(includesSubdomains: entry.includesSubdomains, expires: expires.timeIntervalSince1970))
                        state.ledger.note([name])
                    } else {
                        state.table.preload(name, includesSubdomains: entry.includesSubdomains)
                    }
                }
            }
            save()
        }

        /// True if a request to that host over `http` goes to `https` instead.
        public func isSecure(_ host: String) -> Bool {
            let now = now()
            return state.withLock { $0.table.isSecure(host, now: now) }
        }

        /// Removes a host that a response, or ``add(_:)`` with an expiry, has put there.
        public func remove(_ host: String) {
            guard let name = HSTSTable.name(of: host) else { return }
            state.withLock { state in if state.table.remove(name) { state.ledger.note([name]) } }
            save()
        }

        /// Nothing but the preloaded hosts is left, on disk either once that is written.
        public func removeAll() {
            state.withLock { state in
                state.table.removeAll()
                state.ledger.isLoaded = true
                state.ledger.noteEverything()
            }
            save()
        }

        /// Waits until everything is on disk; returns at once without a store.
        ///
        /// - Throws: the reason why it is not; it is tried again with the next change or flush.
        public func flush() async throws(StoreError) { try await waitUntilSaved() }

        /// A response has come over verified TLS.
        func receive(_ value: String, from host: String) {
            let now = now()
            let isChanged = state.withLock { state in
                switch state.table.receive(value, from: host, now: now) {
                case .ignored: return false
                case .noted(let name), .removed(let name): state.ledger.note([name] + state.table.dropExcess(now: now))
                }
                return true
            }
            if isChanged { save() }
        }
    }
}

extension Session.HSTSStore: RecordKeeper {
    private struct Record: Codable {
        let includesSubdomains: Bool
        let expires: Double
    }

    func withLedger<Result>(_ body: (inout RecordLedger<String>) -> Result) -> Result { state.withLock { body(&$0.ledger) } }

    func restore(_ records: [StoreRecord]) {
        let kept = records.compactMap { record in (try? JSONDecoder().decode(Record.self, from: record.data)).map { (record.name, $0) } }
        state.withLock { state in
            guard !state.ledger.isLoaded else { return }
            state.ledger.isLoaded = true
            // Changes of the meantime are newer.
            for (name, record) in kept where !state.ledger.contains(name) {
                state.table.restore(name, HSTSTable.Entry(includesSubdomains: record.includesSubdomains, expires: record.expires))
            }
        }
    }

    func records(for due: RecordLedger<String>.Due) -> (kept: [StoreRecord], gone: [String]) {
        let found = state.withLock { state in
            switch due {
            case .everything: state.table.names.map { ($0, state.table[$0]) }
            case .entries(let names): names.map { ($0, state.table[$0]) }
            }
        }
        let kept = found.compactMap { name, entry -> StoreRecord? in
            guard let entry else { return nil }
            let record = Record(includesSubdomains: entry.includesSubdomains, expires: entry.expires)
            guard let data = try? JSONEncoder().encode(record) else { return nil }
            return StoreRecord(name: name, data: data, expires: Date(timeIntervalSince1970: entry.expires))
        }
        return (kept, found.filter { $0.1 == nil }.map(\.0))
    }
}
