/// One clock for all waits with a limit, instead of a sleeping task for each.
///
/// It holds no thread, and no owner of a wait beyond the end of that wait.
package final class DeadlineClock: Sendable {
    private struct State {
        var pending = PendingDeadlines<@Sendable () -> Void>()
        var task: Task<Void, Never>?
        /// Tells the newest task from those that it has replaced.
        var generation = 0
        var hasEnded = false

        /// - Returns: the task to cancel, where nothing is pending. The next wait makes another.
        mutating func stopIfIdle() -> Task<Void, Never>? {
            guard pending.isEmpty else { return nil }
            pending.alarmStopped()
            generation += 1
            defer { task = nil }
            return task
        }
    }

    private let state = Lock(State())

    package init() {}

    deinit { state.withLock { $0.task }?.cancel() }

    /// Calls `expire` once, on any thread, unless `end(of:)` comes before the limit.
    package func begin(limit: Duration, _ expire: @escaping @Sendable () -> Void) -> UInt64 {
        let deadline = Monotonic.now() + limit
        let (id, former) = state.withLock { state -> (UInt64, Task<Void, Never>?) in
            let (id, setsAlarm) = state.pending.insert(expire, deadline: deadline)
            guard setsAlarm else { return (id, nil) }
            let former = state.task
            state.generation += 1
            state.task = task(state.generation, until: deadline)
            return (id, former)
        }
        former?.cancel()
        return id
    }

    /// The wait is over.
    package func end(of id: UInt64) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.pending.remove(id)
            return state.hasEnded ? state.stopIfIdle() : nil
        }
        task?.cancel()
    }

    /// The owner needs no clock any more. Pending waits keep their limits, and one that was on its way gets its own.
    package func end() {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.hasEnded = true
            return state.stopIfIdle()
        }
        task?.cancel()
    }

    private func task(_ generation: Int, until first: Duration) -> Task<Void, Never> {
        Task { [weak self] in
            var alarm = first
            while true {
                guard (try? await Task.sleep(for: max(.zero, alarm - Monotonic.now()))) != nil else { return }
                guard let next = self?.ring(generation) else { return }
                alarm = next
            }
        }
    }

    /// - Returns: when to ring next; nil when nothing is pending, or another task rings.
    private func ring(_ generation: Int) -> Duration? {
        let now = Monotonic.now()
        let (due, alarm) = state.withLock { state -> ([@Sendable () -> Void], Duration?) in
            guard state.generation == generation else { return ([], nil) }
            let due = state.pending.expire(now: now)
            if state.pending.alarm == nil { state.task = nil }
            return (due, state.pending.alarm)
        }
        for expire in due { expire() }
        return alarm
    }
}
