import ScopedNet
import SystemSupport

/// A picture that a task waits for, which may be cancelled before its load has begun.
final class AwaitedImage: Sendable {
    private struct State: Sendable {
        var operation: ScopedOperation?
        var isCancelled = false
        var result = Result<ImageResponse, ImageLoadError>.failure(.cancelled)
    }

    private let state = Lock(State())

    /// `cancelled` until there is another one.
    var result: Result<ImageResponse, ImageLoadError> { state.withLock { $0.result } }

    func set(_ result: Result<ImageResponse, ImageLoadError>) { state.withLock { $0.result = result } }

    func began(_ operation: ScopedOperation) {
        let isCancelled = state.withLock { state in
            state.operation = operation
            return state.isCancelled
        }
        if isCancelled { operation.cancel() }
    }

    func cancel() {
        let operation = state.withLock { state in
            state.isCancelled = true
            return state.operation
        }
        operation?.cancel()
    }
}
