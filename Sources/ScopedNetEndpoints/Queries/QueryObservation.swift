public import ScopedNet
import Synchronization

/// A look at a query, whose value is shared by all who look at it. Made by ``APIClient/observe(_:)``.
///
/// ```swift
/// client.observe(GetProfile(id: 7))
///     .onChange(for: self) { model, query in (model.profile, model.isLoading) = (query.value, query.isFetching) }
///     .start(in: bag)
/// ```
///
/// The first who looks has it asked for, unless there is a fresh value; all hear of each change: the value, an error, a request that begins and ends, edits.
/// It is asked for again when it is invalidated, and when the network is back and its value is not fresh. From its start it is a `ScopedOperation`, which its
/// bag ends; without one it goes on until it is cancelled. When the last one ends, a request that is under way is cancelled. It is started once.
public final class QueryObservation<Service: APIService, E: QueryEndpoint>: Sendable {
    /// The state that is told.
    public typealias State = QueryState<E.Value, Service.Failure>

    private let client: APIClient<Service>
    private let endpoint: E
    private let callback = Lock<Callback<State>?>(nil)
    private let isStarted = Atomic<Bool>(false)

    init(_ client: APIClient<Service>, _ endpoint: E) { (self.client, self.endpoint) = (client, endpoint) }

    /// The state as it is now, and each change. One closure: a later one takes its place.
    public var onChange: CallbackRegistration<QueryObservation, State> {
        CallbackRegistration(self) { [self] fresh in
            let old = callback.withLock { callback in
                defer { callback = fresh }
                return callback
            }
            // Let go outside the lock.
            _ = old
        }
    }

    /// Begins to look.
    ///
    /// - Parameters:
    ///   - bag: ends it; nil for one that goes on until it is cancelled.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the operation, to cancel it; nil for one that was started before, which goes on.
    @discardableResult
    public func start(in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line) -> ScopedOperation? {
        guard !isStarted.exchange(true, ordering: .relaxed) else { return nil }
        let callback = callback.withLock { callback in
            defer { callback = nil }
            return callback
        }
        return begin(in: bag, fileID: fileID, line: line) { operation, state in
            if let callback { operation.send(state, to: callback) }
        } onCancel: {
            callback?.discard()
        }
    }

    /// The state as it is now, and each change: the latest, where several came meanwhile. It ends with its bag, and looks no more when it is dropped.
    public func states(in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line) -> AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(1))
        let operation = begin(in: bag, fileID: fileID, line: line) { _, state in
            continuation.yield(state)
        } onCancel: {
            continuation.finish()
        }
        continuation.onTermination = { _ in operation.cancel() }
        return stream
    }

    private func begin(
        in bag: DeallocBag?, fileID: StaticString, line: Int, _ tell: @escaping @Sendable (ScopedOperation, State) -> Void,
        onCancel: @escaping @Sendable () -> Void
    ) -> ScopedOperation {
        let (id, known) = (client.queries.nextID(), EntryReference<Service, E>())
        let operation = ScopedOperation(in: bag, of: client.session, fileID: fileID, line: line) { [client] _ in
            known.entry?.remove(id, client)
            onCancel()
        }
        guard operation.isRunning else { return operation }
        client.queries.with(endpoint, client.session) { entry in
            known.entry = entry
            return entry.add(id, { [weak operation] state in if let operation { tell(operation, state) } }, client)
        }
        // It may have ended before the query knew of it.
        if !operation.isRunning { known.entry?.remove(id, client) }
        operation.steps.task { [client] in
            while await operation.sleep(for: nil, orUntilNetworkChanges: true) == .network { known.entry?.networkChanged(client) }
        }
        return operation
    }
}

/// The query that is looked at, as soon as it is known.
private final class EntryReference<Service: APIService, E: QueryEndpoint>: Sendable {
    private let state = Lock<QueryEntry<Service, E>?>(nil)

    var entry: QueryEntry<Service, E>? {
        get { state.withLock { $0 } }
        set {
            let old = state.withLock { entry in
                defer { entry = newValue }
                return entry
            }
            // Let go outside the lock.
            _ = old
        }
    }
}
