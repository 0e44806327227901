import SystemSupport

/// A run, as its feed of events sees it.
package protocol EventSource: ExecutorItem {
    /// The executor that they are told on.
    var lane: DeliveryLane { get }
    /// False once the run is cancelled and nothing of it goes on.
    var mayGoOn: Bool { get }
    /// True where a delegate, closure or observer is told of progress.
    var wantsProgress: Bool { get }
}

/// What an observed run has to say before its end, in order. Runs nobody listens to have none.
///
/// Progress is coalesced: at most one entry of each direction waits, and it reads the newest count when its turn comes.
package final class EventFeed: Sendable {
    package enum Entry: Sendable {
        case observed(RequestEvent)
        case start
        case head(ResponseHead)
        case sent(TransferProgress)
        case received(TransferProgress)
        case cached(AnyResponse)
        case ending
        case cancelled
    }

    private struct State {
        var entries: [Entry] = []
        var next = 0
        var isScheduled = false
        var sent: TransferProgress?
        var received: TransferProgress?
        /// The largest counts handed out: progress never goes back, also over retries.
        var sentReported = TransferProgress(completed: -1, total: nil)
        var receivedReported = TransferProgress(completed: -1, total: nil)
        var hasStarted = false
    }

    private let state = Lock(State())
    package let observers: [any RequestObserver]
    package let info: Run.Info
    private let hasHandlers: Bool

    /// Makes an empty feed; `hasHandlers` is true when a delegate or closures want head, start or progress.
    init(observers: [any RequestObserver], info: Run.Info, hasHandlers: Bool) {
        self.observers = observers
        self.info = info
        self.hasHandlers = hasHandlers
    }

    // MARK: Pushing (any thread, never the delivery executor's own calls)

    package func push(_ entry: Entry, from run: some EventSource, batch: DeliveryBatch = .direct) {
        schedule(run, batch) {
            $0.entries.append(entry); return true
        }
    }

    func push(observed kind: RequestEvent.Kind, from run: some EventSource, batch: DeliveryBatch = .direct) {
        guard !observers.isEmpty else { return }
        // Until the socket is closed things still arrive; of a cancelled run only the attempt's own end is told.
        if !run.mayGoOn {
            guard case .attemptFinished = kind else { return }
        }
        push(.observed(RequestEvent(run: info, moment: .now, kind: kind)), from: run, batch: batch)
    }

    func pushStart(from run: some EventSource) {
        guard hasHandlers else { return }
        schedule(run, .direct) { state in
            guard !state.hasStarted else { return false }
            state.hasStarted = true
            state.entries.append(.start)
            return true
        }
    }

    func pushHead(_ head: ResponseHead, from run: some EventSource, batch: DeliveryBatch) {
        if hasHandlers { push(.head(head), from: run, batch: batch) }
    }

    func pushSent(_ progress: TransferProgress, from run: some EventSource, batch: DeliveryBatch) {
        schedule(run, batch) { state in
            defer { state.sent = progress }
            guard state.sent == nil else { return false }
            state.entries.append(.sent(progress))
            return true
        }
    }

    /// Reports received bytes; with `restarts` another file begins, and the count goes back to it.
    func pushReceived(_ progress: TransferProgress, restarts: Bool = false, from run: some EventSource, batch: DeliveryBatch) {
        schedule(run, batch) { state in
            defer { state.received = progress }
            if restarts { state.receivedReported = TransferProgress(completed: -1, total: nil) }
            guard state.received == nil else { return false }
            state.entries.append(.received(progress))
            return true
        }
    }

    /// Reports the complete counts, always before the success. `offset` is where the body begins in the file it is the rest of.
    func pushFinalProgress(_ metrics: TransferMetrics, offset: Int64 = 0, hasBody: Bool, from run: some EventSource, batch: DeliveryBatch) {
        guard run.wantsProgress else { return }
        if hasBody { pushSent(TransferProgress(completed: metrics.bodyBytesSent, total: metrics.bodyBytesSent), from: run, batch: batch) }
        let received = offset + metrics.bodyBytesReceived
        pushReceived(TransferProgress(completed: received, total: received), from: run, batch: batch)
    }

    private func schedule(_ run: some EventSource, _ batch: DeliveryBatch, _ change: (inout State) -> Bool) {
        let mustSchedule = state.withLock { state -> Bool in
            guard change(&state), !state.isScheduled else { return false }
            state.isScheduled = true
            return true
        }
        guard mustSchedule else { return }
        batch.deliver(.run(run, .events), on: run.lane)
    }

    // MARK: Taking (delivery executor)

    /// The next entry; nil ends the round, and a later push schedules another.
    package func next() -> Entry? {
        state.withLock { state in
            while state.next < state.entries.count {
                let entry = state.entries[state.next]
                state.next += 1
                switch entry {
                case .sent:
                    guard let newest = state.sent else { continue }
                    state.sent = nil
                    guard state.sentReported.isFollowed(by: newest) else { continue }
                    state.sentReported = newest
                    return .sent(newest)
                case .received:
                    guard let newest = state.received else { continue }
                    state.received = nil
                    guard state.receivedReported.isFollowed(by: newest) else { continue }
                    state.receivedReported = newest
                    return .received(newest)
                case .observed, .start, .head, .cached, .ending, .cancelled: return entry
                }
            }
            state.entries.removeAll(keepingCapacity: true)
            state.next = 0
            state.isScheduled = false
            return nil
        }
    }

    func tellObservers(_ kind: RequestEvent.Kind) {
        guard !observers.isEmpty else { return }
        let event = RequestEvent(run: info, moment: .now, kind: kind)
        for observer in observers { observer.observe(event) }
    }
}

extension TransferProgress {
    /// Never back, and the same count again only when its total has become known or is another: the end is reported once.
    package func isFollowed(by next: TransferProgress) -> Bool {
        next.completed > completed || next.completed == completed && next.total != nil && next.total != total
    }
}
