import OpenCombine
import ScopedNet

// MARK: Concurrency.md

extension Request {
    /// Each subscription starts the request, gets its value or its error, and takes the run along when it is cancelled.
    var publisher: some Publisher<Value, NetworkError> {
        Deferred {
            var run: Run?
            let future = Future<Value, NetworkError> { promise in
                // Safety: the promise of a `Future` may be kept from any thread, and is, once.
                nonisolated(unsafe) let promise = promise
                run = self.onResult { promise($0) }.start()
            }
            return future.handleEvents(receiveCancel: { [run] in run?.cancel() })
        }
    }
}
