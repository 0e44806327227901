internal import FoundationEssentials
public import Persistence
import SystemSupport

/// Credentials by where they are good. Sessions share one by being given the same.
///
/// ```swift
/// let store = CredentialStore()                                        // until the program ends
/// let store = await CredentialStore(named: "com.example.reader")       // and beyond
/// let store = try CredentialStore.netrc()                              // ~/.netrc
/// store.set(.basic(user: "ann", password: password), for: try ProtectionSpace("https://example.com"))
/// configuration.credentials = store
/// ```
///
/// Requests whose ``RequestOptions/authentication`` leaves it to the session answer challenges of servers (401) and proxies (407) out of it. Once an
/// answer was good it goes along unasked with requests for what the same space covers: with Basic the paths beside and below (RFC 7617 section
/// 2.2), with Digest what the server says, or all of it (RFC 7616 section 3.3). A credential never goes to another origin than its own.
///
/// All calls are safe from any thread and none waits for the disk; what changes is written in the background. **What is kept on disk is not
/// encrypted**: it lies in a folder of 0700, files of 0600, and sealed only where the store's configuration says so.
public final class CredentialStore: Sendable {
    private struct State {
        var table: [ProtectionSpace: Credential] = [:]
        var ledger = RecordLedger<ProtectionSpace>()
    }

    private let state = Lock(State())
    let store: Store?
    let namespace: String
    private let netrc: (file: Netrc, usesDefault: Bool)?
    /// Where what is in here was good.
    let memory = SpaceMemory()

    private init(keepingIn store: Store?, partition: String, netrc: (file: Netrc, usesDefault: Bool)? = nil) {
        self.store = store
        namespace = "credentials/\(partition)"
        self.netrc = netrc
    }

    /// In memory alone.
    public convenience init() { self.init(keepingIn: nil, partition: "") }

    /// A store that outlives the program, in a folder of that name (``StoreConfiguration/stateDirectory(_:)``), which it may share with a
    /// ``CookieJar``. Returns when what was kept is there. Where the user has no such folder, memory works alone, and ``flush()`` throws an error that
    /// says so.
    ///
    /// - Parameters:
    ///   - name: of your program, such as `com.example.reader`.
    ///   - partition: credentials that must not be seen together, such as those of several accounts.
    public convenience init(named name: String, partition: String = "") async {
        await self.init(StoreConfiguration.state(name), partition: partition)
    }

    /// A store that outlives the program, in a folder of your own, or sealed.
    public convenience init(_ configuration: StoreConfiguration, partition: String = "") async {
        await self.init(CookieJar.store(configuration), partition: partition)
    }

    /// One of several in a store.
    public convenience init(_ store: Store, partition: String = "") async {
        self.init(keepingIn: store, partition: partition)
        await load()
    }

    /// What a netrc(5) file says, read once, now: name and password of each `machine`, whatever the scheme and the port. What is set later goes
    /// before it, and is not written there.
    ///
    /// - Parameters:
    ///   - file: nil for what `NETRC` names in the environment, else `~/.netrc`.
    ///   - usesDefault: whether the entry `default` answers any machine that asks. Default: false, as any server could then have that
    ///     password.
    /// - Returns: a store that keeps nothing on disk.
    /// - Throws: ``NetworkError``: `fileUnreadable` where it cannot be read, belongs to somebody else, or others may read or write it;
    ///   `invalidOption` where it is malformed, with the line.
    public static func netrc(file: String? = nil, usesDefault: Bool = false) throws(NetworkError) -> CredentialStore {
        CredentialStore(keepingIn: nil, partition: "", netrc: (try NetrcFile.read(file), usesDefault))
    }

    // MARK: For users

    /// The spaces that have a credential, in no order. Those of a netrc file are not among them.
    public var spaces: [ProtectionSpace] { state.withLock { Array($0.table.keys) } }

    /// The credential for a space: its own, else that of all realms of the origin, else, for a server, the netrc file's.
    public func credential(for space: ProtectionSpace) -> Credential? {
        let known = state.withLock { state in
            state.table[space] ?? state.table[ProtectionSpace(origin: space.origin, realm: nil, isProxy: space.isProxy)]
        }
        if let known { return known }
        guard let netrc, !space.isProxy else { return nil }
        return netrc.file.credential(for: space.origin.host, usesDefault: netrc.usesDefault)
    }

    /// Keeps a credential in place of the one that was there.
    public func set(_ credential: Credential, for space: ProtectionSpace) { change(space, to: credential) }

    /// The credential is gone, on disk once that is written; requests on their way may still carry it.
    public func remove(_ space: ProtectionSpace) { change(space, to: nil) }

    private func change(_ space: ProtectionSpace, to credential: Credential?) {
        state.withLock { state in
            state.table[space] = credential
            state.ledger.note([space])
        }
        memory.change { $0.forget(coveredBy: space) }
        save()
    }

    /// Nothing of this partition is left, on disk either once that is written.
    public func removeAll() {
        state.withLock { state in
            state.table = [:]
            state.ledger.isLoaded = true
            state.ledger.noteEverything()
        }
        memory.change { $0.forgetAll() }
        save()
    }

    /// Waits until everything is on disk; returns at once without a store.
    ///
    /// - Throws: why it is not; it is tried again with the next change or flush.
    public func flush() async throws(StoreError) { try await waitUntilSaved() }
}

extension CredentialStore: RecordKeeper {
    func withLedger<Result>(_ body: (inout RecordLedger<ProtectionSpace>) -> Result) -> Result { state.withLock { body(&$0.ledger) } }

    func restore(_ records: [StoreRecord]) {
        let kept = records.compactMap { try? JSONDecoder().decode(KeptCredential.self, from: $0.data) }
        state.withLock { state in
            guard !state.ledger.isLoaded else { return }
            state.ledger.isLoaded = true
            for kept in kept where !state.ledger.contains(kept.space) { state.table[kept.space] = kept.credential }
        }
    }

    func records(for due: RecordLedger<ProtectionSpace>.Due) -> (kept: [StoreRecord], gone: [String]) {
        let table = state.withLock { $0.table }
        let spaces =
            switch due {
            case .everything: Set(table.keys)
            case .entries(let spaces): spaces
            }
        let kept = spaces.compactMap { space in table[space].flatMap { KeptCredential(space, $0).record } }
        return (kept, spaces.filter { table[$0] == nil }.map { KeptCredential.name(of: $0) })
    }
}
