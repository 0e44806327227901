import FoundationEssentials
import SystemSupport

/// The connection of a channel, from its wait for a slot to its end.
///
/// An operation of its session: bag, agent and shutdown end it as they end any other. A cancel comes from any thread, and so may the slot, the connection and
/// its end meanwhile: each takes the present stage and leaves the next in one step, and whoever finds `ended` does nothing.
final class ChannelConnection: AdmissionWaiter {
    private typealias Opening = CheckedContinuation<Result<TransferMetrics, NetworkError>, Never>

    private enum Stage {
        case idle
        case queued(Opening)
        case connecting(Opening)
        case open
        case ended
    }

    let pipe: ChannelPipe
    let operation: ScopedOperation
    let priority = Priority.normal
    let admissionKey: AdmissionKey
    private let session: Session
    private let scope: BagStorage?
    private let transfer: TransferRequest
    private let stage = Lock(Stage.idle)
    private let place = Lock<Int32>(-1)
    private let queueTimer = Lock<(any Cancellable)?>(nil)
    private let report = Lock<SecurityPolicy.TrustFailure?>(nil)

    var exchangeID: TransferID { transfer.id }
    /// Of the connection that stands.
    var trustReport: SecurityPolicy.TrustFailure? { report.withLock { $0 } }
    private var slots: AdmissionQueue { session.link.liveAdmission }

    var queuePlace: Int32 {
        get { place.withLock { $0 } }
        set { place.withLock { $0 = newValue } }
    }

    init(_ session: Session, _ transfer: TransferRequest, _ pipe: ChannelPipe, in scope: BagStorage?, _ origin: CodeOrigin) {
        self.session = session
        self.scope = scope
        self.transfer = transfer
        self.pipe = pipe
        admissionKey = AdmissionKey(origin: transfer.url.originID, sharesConnection: false)
        let box = Lock<WeakReference<ChannelConnection>?>(nil)
        operation = ScopedOperation(in: scope, of: session, origin) { reason in
            // First: reader and senders are told the reason, and not what becomes of the transfer.
            pipe.cancel(reason)
            box.withLock { $0 }?.object?.stop(reason)
        }
        box.withLock { $0 = WeakReference(self) }
        // A reader whose task is cancelled ends the channel.
        pipe.input.whenAbandoned { [core = operation.core] in _ = core.cancel($0) }
    }

    /// The last reference of the user is gone. What was taken before a close still goes out; the transport has this until then.
    func drop() { if pipe.output.isClosing { pipe.input.discard() } else { _ = operation.core.cancel(.requestReleased) } }

    /// Also of one that has ended, and has bytes that are not read.
    func cancel() -> CancelOutcome {
        let outcome = operation.core.cancel(.explicit)
        if outcome == .alreadyEnded { pipe.cancel(.explicit) }
        return outcome
    }

    /// The next piece, unless its owner has gone since it came.
    func next() async throws(NetworkError) -> Data? {
        do throws(NetworkError) {
            let piece = try await pipe.input.next()
            if let scope, scope.isClosed { throw .cancelled(scope.endReason ?? .ownerReleased, runID: 0, phase: .receiving) }
            return piece
        } catch { throw named(error) }
    }

    func named(_ error: NetworkError) -> NetworkError { error.asked(nil, transfer.url) }

    // MARK: Opening

    /// Waits for a slot and for the connection.
    func open() async throws(NetworkError) -> TransferMetrics {
        let cancellation = TaskCancellation()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (opening: Opening) in
                let begins = stage.withLock { stage -> Bool in
                    guard case .idle = stage else { return false }
                    stage = .queued(opening)
                    return true
                }
                let ended = NetworkError.cancelled(operation.core.reason, runID: 0, phase: .preparing)
                guard begins else { return resolve(opening, .failure(ended)) }
                // Its bag may have ended before there was anything to stop. Whoever takes the stage out has the continuation: that end, or this thread.
                guard operation.isRunning else {
                    if case .queued = takeStage() { resolve(opening, .failure(ended)) }
                    return
                }
                wait()
                if Task.isCancelled { _ = operation.core.cancel(cancellation.reason) }
            }
        } onCancel: {
            _ = operation.core.cancel(cancellation.reason)
        }
        let metrics: TransferMetrics
        do throws(NetworkError) { metrics = try result.get() } catch { throw named(error) }
        // Cancelled on the way here.
        guard !operation.core.isCancelled else { throw named(.cancelled(operation.core.reason, runID: 0, phase: .connecting)) }
        return metrics
    }

    private func wait() {
        switch slots.submit(self) {
        case .start: slots.grant(self)
        case .queued:
            if let limit = transfer.options.timeouts.queue { endWait(after: limit) }
            // Cancelled before it was among those who wait.
            if queuedExchange == nil { _ = slots.remove(self, exchange: exchangeID) }
        case .refusedFull:
            end(
                NetworkError(.queueFull, phase: .queued, message: "\(session.configuration.connection.limits.queued) requests wait already")
            )
        }
    }

    private func endWait(after limit: Duration) {
        let timer = session.timing.schedule(after: limit) { [weak self] in
            guard let self, queuedExchange != nil, slots.remove(self, exchange: exchangeID) else { return }
            end(NetworkError(.queueTimeout, phase: .queued, message: "no place for a channel within \(limit)"))
        }
        queueTimer.withLock { $0 = timer }
        if queuedExchange == nil { endQueueTimer() }
    }

    private func endQueueTimer() {
        let timer = queueTimer.withLock { timer in
            defer { timer = nil }
            return timer
        }
        timer?.cancel()
    }

    // MARK: The queue's side

    var queuedExchange: TransferID? { stage.withLock { if case .queued = $0 { exchangeID } else { nil } } }

    func beginTransfer() -> Bool {
        let begins = stage.withLock { stage -> Bool in
            guard case .queued(let opening) = stage else { return false }
            stage = .connecting(opening)
            return true
        }
        endQueueTimer()
        guard begins else { return false }
        session.transport.open(transfer, sink: self)
        // A cancel that came before found no transfer.
        if stage.withLock({ if case .ended = $0 { true } else { false } }) { session.transport.cancel(exchangeID) }
        return true
    }

    func didLeaveQueue() {}

    // MARK: Ending

    private func takeStage() -> Stage {
        stage.withLock { stage in
            defer { stage = .ended }
            return stage
        }
    }

    private func stop(_ reason: CancelReason) {
        endQueueTimer()
        let error = NetworkError.cancelled(reason, runID: 0, phase: .connecting)
        switch takeStage() {
        case .idle, .ended: break
        case .queued(let opening):
            _ = slots.remove(self, exchange: exchangeID)
            resolve(opening, .failure(error))
        case .connecting(let opening):
            session.transport.cancel(exchangeID)
            resolve(opening, .failure(error))
        case .open: session.transport.cancel(exchangeID)
        }
    }

    private func end(_ error: NetworkError?) {
        let old = takeStage()
        if case .ended = old { return }
        // A cancelled one has been told the reason.
        if error?.code != .cancelled { pipe.finish(error.map { named($0) }) }
        if let error { operation.finish(throwing: named(error)) } else { operation.finish() }
        switch old {
        case .queued(let opening), .connecting(let opening):
            resolve(
                opening, .failure(error ?? NetworkError(.connectionLost, phase: .connecting, message: "the connection was closed at once")))
        case .idle, .open, .ended: break
        }
    }

    /// Resuming a task may run its executor's `enqueue`: not here, where the network thread may be calling.
    private func resolve(_ opening: Opening, _ result: Result<TransferMetrics, NetworkError>) {
        DeliveryLane.resumption.enqueue(.work { opening.resume(returning: result) })
    }
}

extension ChannelConnection: TransferSink {
    func transfer(_ id: TransferID, didReach milestone: TransferMilestone, batch: DeliveryBatch) {
        if case .trustReported(let failure) = milestone { report.withLock { $0 = failure } }
        guard case .opened(let metrics) = milestone else { return }
        let opening = stage.withLock { stage -> Opening? in
            guard case .connecting(let opening) = stage else { return nil }
            stage = .open
            return opening
        }
        if let opening { resolve(opening, .success(metrics)) }
    }

    func transfer(_ id: TransferID, didReceive head: ResponseHead, batch: DeliveryBatch) -> BodyDestination { .memoryPrefix(limit: 0) }
    func transfer(_ id: TransferID, didSend count: Int64, of total: Int64?, batch: DeliveryBatch) {}
    func transfer(_ id: TransferID, didReceive count: Int64, of total: Int64?, batch: DeliveryBatch) {}

    func transfer(_ id: TransferID, didFinishWith result: consuming TransferResult, batch: DeliveryBatch) {
        slots.release(admissionKey)
        session.link.noteConnection(to: result.metrics.remoteAddress)
        end(result.error)
    }
}
