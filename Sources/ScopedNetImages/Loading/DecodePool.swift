import Dispatch
import ScopedNet

/// The threads on which pictures are decoded: as many at a time as there are permits, none of them a thread of the program's tasks.
final class DecodePool: Sendable {
    private let permits: Permits
    private let queue = DispatchQueue(label: "ScopedNetImages.decoding", qos: .utility, attributes: .concurrent)

    init(limit: Int, order: ImageOrder) { permits = Permits(limit: limit, order: order) }

    var counts: (running: Int, waiting: Int) { permits.counts }

    /// Runs `body` when there is a permit. A cancel of the task ends the wait, or is told to `body`.
    func run<Value: Sendable>(_ number: UInt64, for work: CoalescedWork, _ body: @escaping @Sendable (DecodingCancellation) throws -> Value)
        async throws
        -> Value
    {
        try await permits.withPermit(number, for: work) { [self] in
            let cancellation = DecodingCancellation()
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    queue.async {
                        continuation.resume(
                            with: Result {
                                if cancellation.isCancelled { throw CancellationError() }
                                return try body(cancellation)
                            })
                    }
                }
            } onCancel: {
                cancellation.cancel()
            }
        }
    }
}
