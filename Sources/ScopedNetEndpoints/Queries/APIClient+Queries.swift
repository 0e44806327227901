public import ScopedNet

extension APIClient {
    var queries: QueryStore<Service> { parts.part(QueryStore<Service>.self) { QueryStore() } }

    /// Makes a look at a query.
    public func observe<E: QueryEndpoint>(_ endpoint: E) -> QueryObservation<Service, E> { QueryObservation(self, endpoint) }

    /// The value of a query that is there, with the edits that are under way; nil where there is none. Asks nobody.
    public func queryValue<E: QueryEndpoint>(of endpoint: E) -> E.Value? { queries.known(endpoint, session)?.value }

    /// Sets the value of a query, as if it had come from the server.
    public func setQueryValue<E: QueryEndpoint>(_ value: E.Value, of endpoint: E) {
        queries.with(endpoint, session) { $0.set(value, self) }
    }

    /// Has the query of an endpoint asked for again: at once where somebody looks at it, else when somebody does.
    public func invalidate<E: QueryEndpoint>(_ endpoint: E) { queries.known(endpoint, session)?.invalidate(self) }

    /// Has all queries with one of these tags asked for again, each once.
    public func invalidate(tags: Set<QueryTag>) { for entry in queries.tagged(tags) { entry.invalidate(self) } }

    /// Sends an endpoint that changes what queries show.
    ///
    /// ```swift
    /// try await client.mutate(Rename(id: 7, title: title), invalidating: ["stories"]) { edits in
    ///     edits.edit(GetStory(id: 7)) { story in story.title = title }
    /// }
    /// ```
    ///
    /// The edits show at once. When the call has succeeded they are part of the values, and the tags are invalidated; when it fails, or is cancelled, they are
    /// taken back, without what came meanwhile being lost.
    ///
    /// - Parameters:
    ///   - endpoint: the call.
    ///   - tags: invalidated after a success. Default: none.
    ///   - bag: ends it, too.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    ///   - edit: makes the edits; called once, before anything is sent. Default: none.
    /// - Returns: the value of the call.
    /// - Throws: the service's error.
    @discardableResult
    public func mutate<E: Endpoint>(
        _ endpoint: E, invalidating tags: Set<QueryTag> = [], in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line,
        optimistic edit: (inout QueryEdits<Service>) -> Void = { _ in }
    ) async throws(Service.Failure) -> E.Value {
        var edits = QueryEdits(client: self)
        edit(&edits)
        do throws(Service.Failure) {
            let value = try await send(endpoint, in: bag, fileID: fileID, line: line)
            for end in edits.ends { end(true) }
            invalidate(tags: tags)
            return value
        } catch {
            for end in edits.ends { end(false) }
            throw error
        }
    }
}

/// The edits of a mutation: values that are shown before the server has them.
public struct QueryEdits<Service: APIService> {
    let client: APIClient<Service>
    /// Keeps an edit, or takes it back.
    private(set) var ends: [@Sendable (Bool) -> Void] = []

    init(client: APIClient<Service>) { self.client = client }

    /// Changes the value of a query as it is shown, now and each time the server sends another one while the mutation is under way. A query without a value
    /// stays without one.
    public mutating func edit<E: QueryEndpoint>(_ endpoint: E, _ change: @escaping @Sendable (inout E.Value) -> Void) {
        let (id, client) = (client.queries.nextID(), client)
        var end: (@Sendable (Bool) -> Void)?
        client.queries.with(endpoint, client.session) { entry in
            end = { isKept in if isKept { entry.keep(id, client) } else { entry.drop(id, client) } }
            return entry.add(
                id,
                edit: { value in
                    var value = value
                    change(&value)
                    return value
                }, client)
        }
        if let end { ends.append(end) }
    }
}
