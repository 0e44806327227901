import FoundationEssentials
import ScopedNet
import SystemSupport

/// The run of one transfer, awaited, and stopped where nobody waits any more or nothing good can come.
final class ImageRun: Sendable {
    private struct State: Sendable {
        var run: Run?
        var result: Result<Response<Data>, any Error>?
        var isStopped = false
    }

    private let state = Lock(State())
    /// Asked when the last of those who wait has gone: true for one that is better finished.
    private let goesOn: @Sendable () -> Bool

    init(goesOn: @escaping @Sendable () -> Bool) { self.goesOn = goesOn }

    /// Starts the request, as urgent as `work`, and awaits its end.
    func response(to request: Request<Data>, for work: CoalescedWork, _ origin: ImageOrigin) async throws -> Response<Data> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let run = request.onResponse { [self] response in state.withLock { $0.result = .success(response) } }
                    .onFailure { [self] error in state.withLock { $0.result = .failure(error) } }
                    .onEnd { _ in continuation.resume() }
                    .start(fileID: origin.fileID, line: origin.line)
                work.carry(run)
                began(run)
            }
        } onCancel: {
            isLeft()
        }
        guard let result = state.withLock({ $0.result }) else { throw CancellationError() }
        return try result.get()
    }

    /// Ends the transfer.
    func stop() {
        let run = state.withLock { state in
            state.isStopped = true
            return state.run
        }
        run?.cancel()
    }

    private func began(_ run: Run) {
        let isStopped = state.withLock { state in
            state.run = run
            return state.isStopped
        }
        if isStopped { run.cancel() }
    }

    private func isLeft() {
        guard goesOn() else { return stop() }
        state.withLock { $0.run }?.setPriority(.low)
    }
}
