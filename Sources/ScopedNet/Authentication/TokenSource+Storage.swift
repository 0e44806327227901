import FoundationEssentials
public import Persistence

extension TokenSource {
    /// A place that outlives the program, for a token and its refresh token.
    ///
    /// `load` is called once, before the first renewal, where the source was made without a token; what has expired is given to the closure that
    /// renews. `save` is called with each token that is fetched or set, before any request gets it, and with nil when somebody signs out; calls
    /// never overlap, and the last one has the newest. What `load` throws fails the requests that wait; a token that cannot be saved is used all
    /// the same.
    public struct Storage: Sendable {
        let load: @Sendable () async throws -> Token?
        let save: @Sendable (Token?) async throws -> Void

        /// Creates a storage of closures, each called on a task of its own.
        public init(
            load: @escaping @Sendable () async throws -> Token?, save: @escaping @Sendable (Token?) async throws -> Void
        ) {
            self.load = load
            self.save = save
        }

        /// Creates a storage in a folder of that name (``StoreConfiguration/stateDirectory(_:)``), which it may share with a ``CookieJar`` and a
        /// ``CredentialStore``. **It is not encrypted**: it lies in a folder of 0700, in files of 0600.
        ///
        /// - Parameters:
        ///   - name: of your program, such as `com.example.reader`.
        ///   - account: tells several tokens apart.
        public init(named name: String, account: String = "") {
            self.init(CookieJar.store(StoreConfiguration.state(name)), account: account)
        }

        /// Creates a storage in a store of your own, sealed where that is.
        public init(_ store: Store, account: String = "") {
            let namespace = "tokens"
            self.init {
                guard let record = try await store.record(account, in: namespace) else { return nil }
                return try? JSONDecoder().decode(Token.self, from: record.data)
            } save: { token in
                guard let token else { return try await store.removeRecords([account], in: namespace) }
                try await store.setRecords([StoreRecord(name: account, data: try JSONEncoder().encode(token))], in: namespace)
            }
        }
    }
}
