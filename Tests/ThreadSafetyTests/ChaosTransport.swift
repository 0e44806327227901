import Dispatch
import FoundationEssentials
import HTTPTypes
import SystemSupport

@_spi(Transport) @testable import ScopedNet

/// A transport that ends transfers at random moments from its own threads; each transfer stays on one of them, as the contract asks.
final class ChaosTransport: Transport {
    private let queues = (0..<2).map { DispatchQueue(label: "chaos.\($0)") }
    private let live: [Live] = (0..<2).map { _ in Live() }
    private let random = Lock(SplitMix(seed: 42))

    /// Touched on its queue only.
    private final class Live: @unchecked Sendable {
        // Safety: each instance belongs to one serial queue.
        var transfers: [TransferID: any TransferSink] = [:]
    }

    private func lane(_ id: TransferID) -> Int { Int(id.number & 1) }

    func start(_ transfer: TransferRequest, sink: any TransferSink) {
        let lane = lane(transfer.id)
        let choice = random.withLock { $0.next() % 16 }
        queues[lane].async { [self] in
            live[lane].transfers[transfer.id] = sink
            let batch = DeliveryBatch()
            defer { batch.end() }
            if choice & 1 == 0 {
                _ = sink.transfer(transfer.id, didReceive: ResponseHead(status: 200), batch: batch)
                sink.transfer(transfer.id, didReceive: 1, of: 2, batch: batch)
            }
            switch choice {
            case 0..<8: finish(transfer.id, error: nil, batch)
            case 8..<11: finish(transfer.id, error: NetworkError(.connectionLost, phase: .receiving, message: "chaos"), batch)
            case 11..<14: queues[lane].async { self.later(transfer.id) }
            default:
                // Waits for a cancel, but not for ever.
                queues[lane].asyncAfter(deadline: .now() + .milliseconds(2)) { self.later(transfer.id) }
            }
        }
    }

    private func later(_ id: TransferID) {
        let batch = DeliveryBatch()
        finish(id, error: nil, batch)
        batch.end()
    }

    private func finish(_ id: TransferID, error: NetworkError?, _ batch: DeliveryBatch) {
        guard let sink = live[lane(id)].transfers.removeValue(forKey: id) else { return }
        var result = TransferResult(error: error)
        if error == nil {
            result.head = ResponseHead(status: 200)
            result.body = Data([1, 2])
        }
        sink.transfer(id, didFinishWith: result, batch: batch)
    }

    func cancel(_ id: TransferID) {
        queues[lane(id)].async { [self] in
            let batch = DeliveryBatch()
            finish(id, error: NetworkError(.cancelled, phase: .receiving, message: "cancelled"), batch)
            batch.end()
        }
    }

    /// Returns when every command given so far has been carried out.
    func settle() {
        for _ in 0..<2 { for queue in queues { queue.sync {} } }
    }

    func suspend(_ id: TransferID) {}
    func resume(_ id: TransferID) {}
    func shutdown() async {}
}

/// A small seeded generator (SplitMix64).
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
