extension Request {
    /// What is stored, at once, and then what the server says: one or two responses, of which ``Response/source`` tells where each is from.
    ///
    /// ```swift
    /// for try await response in session.get("posts", as: [Post].self).cachedThenFresh() {
    ///     show(response.value)
    /// }
    /// ```
    ///
    /// Sets ``CachePolicy/read`` of the request to ``CachePolicy/ReadMode/thenNetwork``. Each iteration starts a run of its own. Nothing stored,
    /// or nothing that may be used: the server's response is the only one. The loop is over after it. Leaving the loop early, and cancelling the
    /// task, cancel the run.
    ///
    /// The sequence throws what ``response(in:fileID:line:)`` throws, after the stored response as well as in place of it. The run ends
    /// with `bag`, too, if one is given.
    public func cachedThenFresh(
        in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) -> CachedThenFresh<Value> {
        _ = options { $0.cache.read = .thenNetwork }
        return CachedThenFresh(request: self, bag: bag, origin: CodeOrigin(fileID, line))
    }
}

/// One or two responses to a request; see ``Request/cachedThenFresh(in:fileID:line:)``.
public struct CachedThenFresh<Value: Sendable>: AsyncSequence, Sendable {
    fileprivate typealias Results = AsyncStream<Result<Response<Value>, NetworkError>>

    fileprivate let request: Request<Value>
    fileprivate let bag: DeallocBag?
    fileprivate let origin: CodeOrigin

    /// An iteration, which is one run. Dropping it early cancels the run.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let sequence: CachedThenFresh
        fileprivate var results: Results.Iterator?
        fileprivate var isOver = false

        /// Returns the next response; nil after the last one. Throws the run's ``NetworkError``, and nothing follows it.
        public mutating func next() async throws(NetworkError) -> Response<Value>? { try await next(isolation: nil) }

        /// Returns the next response on the caller's actor, as ``next()`` does.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NetworkError) -> Response<Value>? {
            guard !isOver else { return nil }
            if results == nil { results = sequence.start().makeAsyncIterator() }
            switch await results?.next(isolation: actor) {
            case .success(let response):
                return response
            case .failure(let error):
                isOver = true
                throw error
            case nil:
                isOver = true
                if Task.isCancelled { throw NetworkError.cancelled(TaskCancellation().reason, runID: 0, phase: .awaitingResponse) }
                return nil
            }
        }
    }

    /// Makes an iterator; the run starts with its first `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

    private func start() -> Results {
        let (results, continuation) = Results.makeStream()
        let canceller = TaskCanceller.ofThisTask()
        var handlers = RunHandlers()
        handlers.cached.append(CallbackHandler(lane: nil, origin: origin) { continuation.yield(.success(Response($0))) })
        handlers.resolve = { outcome in
            switch outcome {
            case .success(let response): continuation.yield(.success(Response(response)))
            case .failure(let error): continuation.yield(.failure(error))
            }
            continuation.finish()
        }
        // The loop was left, or its task cancelled. Nothing happens when the run is over.
        continuation.onTermination = { _ in canceller.cancel() }
        let scope = bag?.storage ?? TaskScope.bag
        let existing = request.start(in: scope, origin: origin, handlers: consume handlers, canceller: canceller)
        if existing.wasRefused {
            continuation.yield(.failure(existing.refusal))
            continuation.finish()
        }
        return results
    }
}
