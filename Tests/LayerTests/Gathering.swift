import ScopedNet
import Synchronization

/// A layer as somebody outside of the package would write it: several requests for one owner, and one answer.
final class Gathering<Value: Sendable>: Sendable {
    let operation: ScopedOperation

    /// The values in the order of the requests, once all are there; the first error otherwise.
    init(
        _ requests: [Request<Value>], of session: Session, in bag: DeallocBag? = nil, tag: String? = nil,
        progress: Callback<Int>? = nil, onEnd: Callback<ScopedOperation.Outcome>? = nil,
        success: Callback<[Value]>, failure: Callback<any Error>
    ) {
        let state = Mutex([Value?](repeating: nil, count: requests.count))
        let box = Box(state)
        operation = ScopedOperation(in: bag, of: session, tag: tag, onEnd: onEnd) { _ in
            success.discard()
            failure.discard()
            progress?.discard()
        }
        for (index, request) in requests.enumerated() {
            request
                .onSuccess { [operation] (value: Value) in
                    let (done, all) = box.fill(index, value)
                    if let progress { operation.send(done, to: progress) }
                    if let all {
                        operation.finish(with: all, to: success)
                        failure.discard()
                        progress?.discard()
                    }
                }
                .onFailure { [operation] error in
                    operation.finish(throwing: error, to: failure)
                    success.discard()
                    progress?.discard()
                }
                .start(in: operation.steps)
        }
    }

    private final class Box: Sendable {
        private let values: Mutex<[Value?]>

        init(_ values: consuming sending Mutex<[Value?]>) { self.values = values }

        func fill(_ index: Int, _ value: Value) -> (done: Int, all: [Value]?) {
            values.withLock { values in
                values[index] = value
                let known = values.compactMap { $0 }
                return (known.count, known.count == values.count ? known : nil)
            }
        }
    }
}
