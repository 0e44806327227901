import FoundationEssentials
import Testing

@testable import ScopedNet

/// A transport whose every step the test takes by hand.
final class StagedTransport: Transport {
    struct Started: Sendable {
        let transfer: TransferRequest
        let sink: any TransferSink
    }

    private struct State {
        var started: [Started] = []
        var cancelled: [TransferID] = []
        var suspended: Set<UInt64> = []
        var ended: Set<UInt64> = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Lock(State())
    /// Ends a cancelled transfer at once, as a real one does within a turn.
    let endsCancelled: Bool

    init(endsCancelled: Bool = true) { self.endsCancelled = endsCancelled }

    var started: [Started] { state.withLock { $0.started } }
    var cancelled: [TransferID] { state.withLock { $0.cancelled } }
    var suspended: Set<UInt64> { state.withLock { $0.suspended } }

    func start(_ transfer: TransferRequest, sink: any TransferSink) {
        let ready = state.withLock { state in
            state.started.append(Started(transfer: transfer, sink: sink))
            let ready = state.waiters.filter { $0.count <= state.started.count }
            state.waiters.removeAll { $0.count <= state.started.count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func cancel(_ id: TransferID) {
        let started = state.withLock { state in
            state.cancelled.append(id)
            return state.started.first { $0.transfer.id == id }
        }
        guard endsCancelled, let started else { return }
        WorkPool.shared.submit([{ [self] in
            finish(started, TransferResult(error: NetworkError(.cancelled, phase: .receiving, message: "cancelled")))
        }])
    }

    /// Called before the next suspension takes effect.
    let onSuspend = Lock<(@Sendable () -> Void)?>(nil)

    func suspend(_ id: TransferID) {
        let first = onSuspend.withLock { action in
            defer { action = nil }
            return action
        }
        first?()
        state.withLock { _ = $0.suspended.insert(id.number) }
    }

    func resume(_ id: TransferID) { state.withLock { _ = $0.suspended.remove(id.number) } }
    func shutdown() async {}

    func waitForStarts(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state -> Bool in
                if state.started.count >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Lets go of all sinks.
    func forget() { state.withLock { $0.started = [] } }

    // MARK: Steps

    func head(_ started: Started, status: Int = 200, turn: TransportTurn = TransportTurn()) {
        _ = started.sink.transfer(started.transfer.id, didReceive: ResponseHead(status: status), turn: turn)
        turn.end()
    }

    func received(_ started: Started, _ count: Int64, of total: Int64?) {
        let turn = TransportTurn()
        started.sink.transfer(started.transfer.id, didReceive: count, of: total, turn: turn)
        turn.end()
    }

    /// Ends a transfer, once.
    func finish(_ started: Started, _ result: TransferResult) {
        guard state.withLock({ $0.ended.insert(started.transfer.id.number).inserted }) else { return }
        let turn = TransportTurn()
        started.sink.transfer(started.transfer.id, didFinishWith: result, turn: turn)
        turn.end()
    }

    func succeed(_ started: Started, body: String = "ok", status: Int = 200) {
        head(started, status: status)
        finish(started, TransferResult(head: ResponseHead(status: status), body: Data(body.utf8)))
    }

    func fail(_ started: Started, _ code: NetworkError.Code = .connectionLost) {
        finish(started, TransferResult(error: NetworkError(code, phase: .receiving, message: "scripted")))
    }
}

func withStage(
    endsCancelled: Bool = true, _ change: (inout Session.Configuration) -> Void = { _ in },
    _ body: (Session, StagedTransport) async throws -> Void
) async throws {
    let transport = StagedTransport(endsCancelled: endsCancelled)
    var configuration = Session.Configuration(transport: transport, agent: RequestAgent())
    change(&configuration)
    let session = Session(configuration: configuration)
    try await body(session, transport)
    await session.agent.idle()
    #expect(session.agent.liveCount == 0)
}
