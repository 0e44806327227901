import ScopedNet
import Synchronization

/// The queries of a client, by their endpoints.
///
/// Endpoints are hashed and compared outside the lock: they are their author's.
final class QueryStore<Service: APIService>: Sendable {
    private typealias Entry = any AnyQueryEntry<Service>

    private struct Table: Sendable {
        var entries: [Int: [Entry]] = [:]
        /// Counts additions: a look at it may be old by the time something is added.
        var additions = 0
    }

    private let table = Lock(Table())
    private let ids = Atomic<UInt64>(0)

    func nextID() -> UInt64 { ids.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Uses the query of an endpoint, made where there is none, until `use` says that it is not gone.
    func with<E: QueryEndpoint>(_ endpoint: E, _ session: Session, _ use: (QueryEntry<Service, E>) -> Bool) {
        let now = ScopedOperation.now(of: session)
        sweep(now)
        // One that somebody lets go of in between is not used: the next one is.
        while !use(entry(endpoint, now)) { retire(now, in: endpoint.hashValue) }
    }

    func known<E: QueryEndpoint>(_ endpoint: E, _ session: Session) -> QueryEntry<Service, E>? {
        let hash = endpoint.hashValue
        retire(ScopedOperation.now(of: session), in: hash)
        let candidates = table.withLock { $0.entries[hash] ?? [] }
        return find(endpoint, in: candidates)
    }

    func tagged(_ tags: Set<QueryTag>) -> [any AnyQueryEntry<Service>] {
        let all = table.withLock { $0.entries.values.flatMap { $0 } }
        return all.filter { !tags.isDisjoint(with: $0.tags) }
    }

    var count: Int { table.withLock { $0.entries.values.reduce(0) { $0 + $1.count } } }

    private func find<E: QueryEndpoint>(_ endpoint: E, in candidates: [Entry]) -> QueryEntry<Service, E>? {
        candidates.lazy.compactMap { $0 as? QueryEntry<Service, E> }.first { $0.isOf(endpoint) }
    }

    private func entry<E: QueryEndpoint>(_ endpoint: E, _ now: Duration) -> QueryEntry<Service, E> {
        let hash = endpoint.hashValue
        while true {
            let (candidates, additions) = table.withLock { ($0.entries[hash] ?? [], $0.additions) }
            if let known = find(endpoint, in: candidates) { return known }
            let fresh = QueryEntry<Service, E>(endpoint, now)
            let isAdded = table.withLock { table in
                guard table.additions == additions else { return false }
                table.entries[hash, default: []].append(fresh)
                table.additions += 1
                return true
            }
            if isAdded { return fresh }
        }
    }

    /// Lets go of what nobody has looked at for too long.
    private func sweep(_ now: Duration) {
        let hashes = table.withLock { table in Array(table.entries.keys) }
        for hash in hashes { retire(now, in: hash) }
    }

    private func retire(_ now: Duration, in hash: Int) {
        let gone = table.withLock { $0.entries[hash] ?? [] }.filter { $0.retire(now) }
        if gone.isEmpty { return }
        let old = table.withLock { table in
            defer {
                let left = table.entries[hash]?.filter { entry in !gone.contains { $0 === entry } } ?? []
                table.entries[hash] = left.isEmpty ? nil : left
            }
            return table.entries[hash]
        }
        // Let go outside the lock.
        _ = old
    }
}
