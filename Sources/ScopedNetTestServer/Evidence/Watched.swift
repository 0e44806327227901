#if TestServer
internal import Synchronization

/// A value under a lock, whose changes can be awaited: how tests wait by event and never by sleep.
final class Watched<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextWatcher = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) {
        self.state = Mutex(State(value: value))
    }

    /// Reads the value.
    func read<Result: Sendable>(_ body: (Value) -> Result) -> Result {
        state.withLock { body($0.value) }
    }

    /// Changes the value, then wakes those who wait.
    @discardableResult
    func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        let (result, watchers) = state.withLock { state in
            (change(&state.value), state.watchers.isEmpty ? [] : Array(state.watchers.values))
        }
        for watcher in watchers { watcher.yield() }
        return result
    }

    /// Tries `take`, under the lock, now and after each change, until it returns something.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func wait<Result: Sendable>(until take: (inout Value) -> Result?) async throws -> Result {
        try await retryAfterEachChange { state.withLock { take(&$0.value) } }
    }

    /// Asks someone else's condition, outside the lock, now and after each change.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func wait(where isWanted: (Value) -> Bool) async throws {
        try await retryAfterEachChange { isWanted(read { $0 }) ? () : nil }
    }

    private func retryAfterEachChange<Result>(_ attempt: () -> Result?) async throws -> Result {
        // The newest wake-up is kept, so one that comes between a try and the next wait is not lost.
        let (wakeUps, watcher) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = watcher
            return state.nextWatcher
        }
        defer { state.withLock { $0.watchers[id] = nil } }
        watcher.yield()
        for await _ in wakeUps {
            if let result = attempt() { return result }
        }
        throw CancellationError()
    }
}
#endif
