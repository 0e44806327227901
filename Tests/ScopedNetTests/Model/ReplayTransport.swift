import Foundation
import HTTPTypes
import SystemSupport

@_spi(Transport) @testable import ScopedNet

/// A transport that only notes; the trace decides what comes when.
final class ReplayTransport: Transport {
    private struct Transfer: Sendable {
        let request: TransferRequest
        let sink: any TransferSink
        var isCancelled = false
        var isPaused = false
        var isOver = false
    }

    private struct State {
        var transfers: [Transfer] = []
        var other: Transfer?
        var progress: Int64 = 0
    }

    private let state = Lock(State())

    func start(_ transfer: TransferRequest, sink: any TransferSink) {
        state.withLock { $0.transfers.append(Transfer(request: transfer, sink: sink)) }
    }

    func cancel(_ id: TransferID) { change(id) { $0.isCancelled = true } }
    func suspend(_ id: TransferID) { change(id) { $0.isPaused = true } }
    func resume(_ id: TransferID) { change(id) { $0.isPaused = false } }
    func shutdown() async {}

    private func change(_ id: TransferID, _ body: (inout Transfer) -> Void) {
        state.withLock { state in
            guard let index = state.transfers.firstIndex(where: { $0.request.id == id }), !state.transfers[index].isOver else { return }
            body(&state.transfers[index])
        }
    }

    var picture: [String] {
        state.withLock { state in
            state.transfers.map { $0.isOver ? "over" : "\($0.isCancelled ? "cancelled " : "")\($0.isPaused ? "paused" : "running")" }
        }
    }

    /// What was started first is the request that has the slot.
    func keepOther() { state.withLock { $0.other = $0.transfers.removeFirst() } }

    func forget() {
        let old = state.withLock { state in
            defer { state = State() }
            return state
        }
        _ = old
    }

    private func end(_ transfer: Transfer?, _ result: TransferResult) {
        guard let transfer else { return }
        let batch = DeliveryBatch()
        transfer.sink.transfer(transfer.request.id, didFinishWith: result, batch: batch)
        batch.end()
    }

    private func take(_ index: Int) -> Transfer? {
        state.withLock { state in
            guard index < state.transfers.count else { return nil }
            state.transfers[index].isOver = true
            return state.transfers[index]
        }
    }

    func succeedOther() { end(state.withLock { $0.other }, TransferResult(head: ResponseHead(status: 200))) }

    func progress(_ index: Int) {
        let (transfer, count) = state.withLock { state in
            state.progress += 1
            return (state.transfers[index], state.progress)
        }
        let batch = DeliveryBatch()
        transfer.sink.transfer(transfer.request.id, didSend: count, of: 100, batch: batch)
        batch.end()
    }

    func finishCancelled(_ index: Int) {
        end(take(index), TransferResult(error: NetworkError(.cancelled, phase: .receiving, message: "cancelled")))
    }

    func finish(_ index: Int, _ response: Setup.Response) {
        var result = TransferResult(head: ResponseHead(status: 200))
        switch response {
        case .ok: break
        case .okDecoded: result.body = Data("[1]".utf8)
        case .failure: result = TransferResult(error: NetworkError(.bodyTooLarge, phase: .receiving, message: "scripted"))
        case .redirect: result = TransferResult(head: ResponseHead(status: 302, headers: [.location: "http://h/\(index)"]))
        case .retryNow:
            result = TransferResult(error: NetworkError(.connectionLost, phase: .receiving, message: "scripted"))
            result.metrics.isConnectionReused = true
        case .retryLater: result = TransferResult(head: ResponseHead(status: 503))
        // Those of scenarios that are not replayed.
        case .challenge, .refused, .otherType, .stale, .notModified, .useless, .misfit, .intercepted: break
        }
        end(take(index), result)
    }
}
