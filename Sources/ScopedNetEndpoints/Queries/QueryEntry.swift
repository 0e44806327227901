import ScopedNet

/// One query of a client: its value, and those who look at it.
///
/// Steps are done one at a time and in their order (``StepLine``): whoever looks at it hears last what is true last. Edits and observers are called there,
/// under no lock.
final class QueryEntry<Service: APIService, E: QueryEndpoint>: Sendable {
    typealias Snapshot = QueryState<E.Value, Service.Failure>
    typealias Edit = @Sendable (E.Value) -> E.Value
    typealias Observer = @Sendable (Snapshot) -> Void

    private enum Step: Sendable {
        case machine(QueryMachine.Step, Result<E.Value, Service.Failure>?)
        /// The observer hears what is published from here on, and nothing of what was true before it came.
        case join(UInt64)
        case add(UInt64, Edit)
        /// The edit is true from now on.
        case keep(UInt64)
        case drop(UInt64)
        case set(E.Value)
        case publish
    }

    private struct State: Sendable {
        var machine = QueryMachine()
        /// Without the edits that are under way.
        var value: E.Value?
        var error: Service.Failure?
        /// In the order in which they were made. One that succeeded before an earlier one has ended stays in its place until then.
        var edits: [(id: UInt64, apply: Edit, isKept: Bool)] = []
        var pendingEdits = 0
        var updated: Duration?
        /// Since when nobody looks at it.
        var left: Duration
        /// It was let go of: another one takes its place.
        var isGone = false
        var observers: [UInt64: Observer] = [:]
        /// Those whose turn in the line has not come.
        var joining: [UInt64: Observer] = [:]
        var fetch: DeallocBag?

        func isFresh(_ time: Duration, _ now: Duration) -> Bool { updated.map { now - $0 < time } ?? false }
    }

    let endpoint: E
    let tags: Set<QueryTag>
    private let staleTime: Duration
    private let cacheTime: Duration
    private let state: Lock<State>
    private let line = StepLine<Step>()

    init(_ endpoint: E, _ now: Duration) {
        self.endpoint = endpoint
        (tags, staleTime, cacheTime) = (endpoint.tags, endpoint.staleTime, endpoint.cacheTime)
        state = Lock(State(left: now))
    }

    // MARK: Looking at it

    /// - Returns: false where it is gone: ask for another one.
    func add(_ id: UInt64, _ observer: @escaping Observer, _ client: APIClient<Service>) -> Bool {
        let now = ScopedOperation.now(of: client.session)
        return take(client) { state in
            state.joining[id] = observer
            return [.join(id)] + Self.steps(state.machine.observe(isFresh: state.isFresh(self.staleTime, now))) + [.publish]
        }
    }

    func remove(_ id: UInt64, _ client: APIClient<Service>) {
        let now = ScopedOperation.now(of: client.session)
        var old: Observer?
        _ = take(client) { state in
            old = state.observers.removeValue(forKey: id) ?? state.joining.removeValue(forKey: id)
            guard old != nil else { return [] }
            if state.observers.isEmpty, state.joining.isEmpty { state.left = now }
            return Self.steps(state.machine.leave())
        }
        // Let go outside the lock.
        _ = old
    }

    /// The value with its edits.
    var value: E.Value? { snapshot().snapshot.value }

    // MARK: Changing it

    func invalidate(_ client: APIClient<Service>) {
        _ = take(client) { state in Self.steps(state.machine.invalidate()) + [.publish] }
    }

    func networkChanged(_ client: APIClient<Service>) {
        let now = ScopedOperation.now(of: client.session)
        _ = take(client) { state in Self.steps(state.machine.refresh(isFresh: state.isFresh(self.staleTime, now))) + [.publish] }
    }

    /// - Returns: false where it is gone: ask for another one.
    func set(_ value: E.Value, _ client: APIClient<Service>) -> Bool {
        take(client) { state in
            state.machine.set()
            return [.set(value), .publish]
        }
    }

    /// - Returns: false where it is gone: ask for another one.
    func add(_ id: UInt64, edit: @escaping Edit, _ client: APIClient<Service>) -> Bool {
        take(client) { state in
            // Counted at once, or it might go before the edit is there.
            state.pendingEdits += 1
            return [.add(id, edit), .publish]
        }
    }

    func keep(_ id: UInt64, _ client: APIClient<Service>) {
        _ = take(client) { state in
            state.machine.changed()
            return [.keep(id), .publish]
        }
    }

    func drop(_ id: UInt64, _ client: APIClient<Service>) { _ = take(client) { _ in [.drop(id), .publish] } }

    /// Lets go of it where nobody has looked at it for its time.
    ///
    /// - Returns: true where it is gone.
    func retire(_ now: Duration) -> Bool {
        state.withLock { state in
            let isUsed = !state.observers.isEmpty || !state.joining.isEmpty || state.pendingEdits > 0
            if !isUsed, now - state.left >= cacheTime { state.isGone = true }
            return state.isGone
        }
    }

    // MARK: Steps

    /// - Returns: false where it is gone.
    private func take(_ client: APIClient<Service>, _ decide: (inout State) -> [Step]) -> Bool {
        var isGone = false
        line.take {
            state.withLock { state in
                isGone = state.isGone
                return isGone ? [] : decide(&state)
            }
        } act: {
            act($0, client)
        }
        return !isGone
    }

    private func act(_ step: Step, _ client: APIClient<Service>) {
        switch step {
        case .machine(.fetch(let number), _): fetch(number, client)
        case .machine(.abandon, _): replaceFetch(nil)?.end(.explicit)
        case .machine(.accept, let result):
            _ = replaceFetch(nil)
            if let result { accept(result, ScopedOperation.now(of: client.session)) }
        case .machine(.ignore, _): _ = replaceFetch(nil)
        case .join(let id): state.withLock { $0.observers[id] = $0.joining.removeValue(forKey: id) }
        case .set(let value): accept(.success(value), ScopedOperation.now(of: client.session))
        case .add(let id, let edit): state.withLock { $0.edits.append((id, edit, false)) }
        case .keep(let id): keep(id)
        case .drop(let id): drop(id)
        case .publish: publish()
        }
    }

    private func accept(_ result: Result<E.Value, Service.Failure>, _ now: Duration) {
        // Old values are let go outside the lock.
        let old = state.withLock { state in
            let old = (state.value, state.error, state.edits)
            switch result {
            case .success(let value):
                (state.value, state.error, state.updated) = (value, nil, now)
                // The server has known of them: an answer from before them does not count.
                state.edits.removeAll(where: \.isKept)
            case .failure(let error): state.error = error
            }
            return old
        }
        _ = old
    }

    private func keep(_ id: UInt64) {
        state.withLock { state in
            guard let index = state.edits.firstIndex(where: { $0.id == id }) else { return }
            state.edits[index].isKept = true
            state.pendingEdits -= 1
        }
        fold()
    }

    private func drop(_ id: UInt64) {
        let old = state.withLock { state in
            let old = state.edits
            if old.contains(where: { $0.id == id && !$0.isKept }) { state.pendingEdits -= 1 }
            state.edits.removeAll { $0.id == id }
            return old
        }
        // Let go outside the lock.
        _ = old
        fold()
    }

    /// Makes the edits that are kept, and have no other before them, part of the value.
    private func fold() {
        let (before, kept) = state.withLock { state in (state.value, state.edits.prefix(while: \.isKept)) }
        if kept.isEmpty { return }
        // The value and the edits are changed by steps alone, of which this is the only one.
        let edited = before.map { value in kept.reduce(value) { $1.apply($0) } }
        let old = state.withLock { state in
            let old = (state.value, state.edits)
            if let edited { state.value = edited }
            state.edits.removeFirst(kept.count)
            return old
        }
        _ = old
    }

    private func snapshot() -> (snapshot: Snapshot, observers: [Observer]) {
        let (value, error, edits, isFetching, observers) = state.withLock { state in
            (state.value, state.error, state.edits, state.machine.isFetching, Array(state.observers.values))
        }
        let edited = value.map { value in edits.reduce(value) { $1.apply($0) } }
        return (Snapshot(value: edited, error: error, isFetching: isFetching, isEdited: edits.contains { !$0.isKept }), observers)
    }

    private func publish() {
        let (snapshot, observers) = snapshot()
        for observer in observers { observer(snapshot) }
    }

    private func fetch(_ number: Int, _ client: APIClient<Service>) {
        let bag = DeallocBag(label: "query \(E.self)")
        _ = replaceFetch(bag)
        bag.task { [self] in
            let (result, ending) = await answer(client)
            _ = take(client) { state in Self.steps(state.machine.fetched(number, ending), result) + [.publish] }
        }
    }

    private func answer(_ client: APIClient<Service>) async -> (Result<E.Value, Service.Failure>?, QueryMachine.Ending) {
        do throws(CallFailure<Service.Failure>) { return (.success(try await client.reply(to: endpoint, in: nil).value), .succeeded) } catch
        {
            return error.isCancelled ? (nil, .cancelled) : (.failure(error.error), .failed)
        }
    }

    /// - Returns: the old one, for the caller to let go outside the lock.
    private func replaceFetch(_ fetch: DeallocBag?) -> DeallocBag? {
        state.withLock { state in
            defer { state.fetch = fetch }
            return state.fetch
        }
    }

    private static func steps(_ steps: [QueryMachine.Step], _ result: Result<E.Value, Service.Failure>? = nil) -> [Step] {
        steps.map { .machine($0, result) }
    }
}

/// A query of any type.
protocol AnyQueryEntry<Service>: AnyObject, Sendable {
    associatedtype Service: APIService
    var tags: Set<QueryTag> { get }
    func invalidate(_ client: APIClient<Service>)
    func retire(_ now: Duration) -> Bool
    func isOf<E: QueryEndpoint>(_ endpoint: E) -> Bool
}

extension QueryEntry: AnyQueryEntry {
    func isOf<Other: QueryEndpoint>(_ endpoint: Other) -> Bool { (endpoint as? E) == self.endpoint }
}
