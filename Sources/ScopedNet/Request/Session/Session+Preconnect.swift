import SystemSupport

extension Session {
    /// Makes a connection (name lookup, TCP, proxy, TLS) that the next request to the same scheme, host and port uses, and sends no request on it.
    ///
    /// ```swift
    /// bag.task { try await session.preconnect(to: "https://api.example.com/") }    // while the user still types
    /// ```
    ///
    /// Returns when the connection stands, at once where one is idle already. It is kept like any idle connection
    /// (``ConnectionLimits/idleLifetime``), and many servers close one that nothing is sent on after some seconds or a minute. Only one more is made
    /// for each call, and none waits for a connection slot: call it once for each host that will be asked. Path, query and fragment do not matter.
    ///
    /// The rules of the session count as for a request: relative URLs, ``RequestOptions/access``, pins, the address filter, ``HSTSStore``,
    /// ``Timeouts/connect`` and ``Timeouts/total``. Settings that every plain GET would fail with, such as a rate limit or a header field that is none,
    /// fail this, too. Cancelling the task, or the bag it is in, ends it. Observers are not told. A custom transport does nothing.
    ///
    /// - Throws: ``NetworkError`` with the codes of a request that gets no connection; `cancelled` when the task is.
    public func preconnect(to url: some URLConvertible) async throws(NetworkError) {
        var target = RequestURL.placeholder(url.urlReference)
        do throws(NetworkError) {
            target = try self.url(url.urlReference)
            target = try upgraded(target) ?? target
            try await connect(to: target)
        } catch { throw error.asked(nil, target) }
    }

    /// The template of a plain GET: what is wrong with the settings is said before there is a connection.
    func plainTemplate(_ target: RequestURL) throws(NetworkError) -> RequestTemplate {
        let description = factory.description(.get, target.string, [:], [:], nil, accepting: nil, destination: nil, failure: nil)
        let template = try factory.template(description)
        guard link.users.acceptsRun else { throw NetworkError(.shutdown, phase: .preparing, message: "the session was shut down") }
        return template
    }

    private func connect(to target: RequestURL) async throws(NetworkError) {
        let template = try plainTemplate(target)
        let deadline = template.options.timeouts.total.map { configuration.timing.now() &+ $0.nanoseconds }
        let transfer = ExchangeBuilder.connect(to: target, template.transferOptions, deadline: deadline)
        let waiting = PreconnectWait()
        let cancellation = TaskCancellation()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiting.begin(continuation)
                transport.preconnect(transfer, sink: waiting)
                // A cancel that came before the start found nothing.
                if Task.isCancelled { transport.cancel(transfer.id) }
            }
        } onCancel: {
            transport.cancel(transfer.id)
        }
        link.noteConnection(to: result.metrics.remoteAddress)
        guard let error = result.error else { return }
        if error.code == .cancelled { throw .cancelled(cancellation.reason, runID: 0, phase: error.phase) }
        throw error
    }
}

/// The task that waits for a connection.
private final class PreconnectWait: TransferSink {
    private let continuation = Lock<CheckedContinuation<TransferResult, Never>?>(nil)

    func begin(_ continuation: CheckedContinuation<TransferResult, Never>) { self.continuation.withLock { $0 = continuation } }

    func transfer(_ id: TransferID, didReach milestone: TransferMilestone, batch: DeliveryBatch) {}
    func transfer(_ id: TransferID, didReceive head: ResponseHead, batch: DeliveryBatch) -> BodyDestination { .memoryPrefix(limit: 0) }
    func transfer(_ id: TransferID, didSend count: Int64, of total: Int64?, batch: DeliveryBatch) {}
    func transfer(_ id: TransferID, didReceive count: Int64, of total: Int64?, batch: DeliveryBatch) {}

    func transfer(_ id: TransferID, didFinishWith result: TransferResult, batch: DeliveryBatch) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        guard let waiting else { return }
        batch.deliver(.work { waiting.resume(returning: result) }, on: .resumption)
    }
}
