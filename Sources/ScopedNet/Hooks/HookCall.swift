import SystemSupport

/// One call of an async hook: begun or taken back, never both.
final class HookCall: Cancellable {
    private enum State {
        case pending
        case running(Task<Void, Never>?)
        case cancelled
    }
    private let state = Lock(State.pending)
    private let dropped: @Sendable () -> Void

    /// - Parameter dropped: called at each cancel: lets go of what was not begun.
    init(_ dropped: @escaping @Sendable () -> Void = {}) { self.dropped = dropped }

    func run(_ body: @escaping @Sendable () async -> Void) {
        let mayRun = state.withLock { state -> Bool in
            guard case .pending = state else { return false }
            state = .running(nil)
            return true
        }
        guard mayRun else { return }
        let task = Task { await RunningRequest.$isServed.withValue(true) { await body() } }
        let isCancelled = state.withLock { state -> Bool in
            guard case .running = state else { return true }
            state = .running(task)
            return false
        }
        if isCancelled { task.cancel() }
    }

    func cancel() {
        let task = state.withLock { state -> Task<Void, Never>? in
            defer { state = .cancelled }
            guard case .running(let task) = state else { return nil }
            return task
        }
        task?.cancel()
        dropped()
    }
}
