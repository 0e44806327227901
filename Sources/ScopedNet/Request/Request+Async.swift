import SystemSupport

extension Request {
    /// Starts a run and awaits its value.
    ///
    /// Cancelling the task cancels the run promptly: the wait ends on the next turn of the delivery executor, whatever the network does.
    ///
    /// The run ends with `bag`, too, if one is given. Throws a ``NetworkError``: a cancellation is its code `cancelled` with the reason, a
    /// refused start its code `duplicateRequest`.
    public func value(in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line) async throws(NetworkError) -> Value {
        try await response(in: bag, fileID: fileID, line: line).value
    }

    /// Starts a run and awaits its response.
    public func response(
        in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> Response<Value> {
        try await response(in: bag?.storage ?? TaskScope.bag, CodeOrigin(fileID, line)) { _ in }
    }

    /// `started` gets the run, which has begun.
    func response(
        in scope: BagStorage?, _ origin: CodeOrigin, started: @escaping @Sendable (Run) -> Void
    ) async throws(NetworkError) -> Response<Value> {
        let canceller = TaskCanceller()
        guard let listener = session.link.shutdownListener else {
            return Response(try await outcome(scope, origin, canceller, started).get())
        }
        let result: RunOutcome = await listener.listening {
            await outcome(scope, origin, canceller, started)
        } onExpiry: {
            canceller.cancel(.shutdown)
        }
        return Response(try result.get())
    }

    private func outcome(
        _ scope: BagStorage?, _ origin: CodeOrigin, _ canceller: TaskCanceller, _ started: @Sendable (Run) -> Void
    ) async -> RunOutcome {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                var handlers = RunHandlers()
                handlers.resolve = { continuation.resume(returning: $0) }
                // What the cache has at once needs no other thread: the task goes on here.
                let batch = session.configuration.cache == nil ? .direct : DeliveryBatch()
                let run = start(in: scope, origin: origin, handlers: consume handlers, batch: batch, canceller: canceller)
                if run.wasRefused {
                    continuation.resume(returning: .failure(run.refusal))
                } else {
                    started(run)
                }
                batch.endResuming()
            }
        } onCancel: {
            canceller.cancel()
        }
    }
}

/// Brings a task's cancellation to its run, whichever is there first. Armed before the run begins, so that a task that is cancelled already
/// sends nothing.
package final class TaskCanceller: Sendable {
    private enum State { case waiting, armed(RunDriver), cancelled(CancelReason) }
    private let state = Lock(State.waiting)
    private let cancellation = TaskCancellation()

    init() {}

    /// In the task that awaits the run, which may be cancelled already.
    static func ofThisTask() -> TaskCanceller {
        let canceller = TaskCanceller()
        if Task.isCancelled { canceller.cancel() }
        return canceller
    }

    func arm(_ run: RunDriver) {
        let earlier = state.withLock { state -> CancelReason? in
            if case .cancelled(let reason) = state { return reason }
            state = .armed(run)
            return nil
        }
        if let earlier { _ = run.cancel(earlier) }
    }

    /// The task was cancelled.
    func cancel() { cancel(cancellation.reason) }

    func cancel(_ reason: CancelReason) {
        let before = state.withLock { state in
            defer { state = .cancelled(reason) }
            return state
        }
        if case .armed(let run) = before { _ = run.cancel(reason) }
    }
}
