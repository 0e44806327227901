import SystemSupport

/// Runs a probe when the path has changed, again and again while its verdict is bad, and stops when the path goes.
final class Prober: Sendable {
    private struct State {
        var schedule = ProbeSchedule()
        var task: Task<Void, Never>?
    }

    private let probe: ReachabilityProbe
    private let state = Lock(State())

    init(_ probe: ReachabilityProbe) { self.probe = probe }

    /// Follows every start and stop of the monitor, which `life` counts: what was under way is cancelled, and a stopped one begins nothing.
    func follow(life: UInt64, isStarted: Bool) {
        decide({ $0.follow(life: life, isStarted: isStarted) }, report: { _ in })
    }

    func pathDidChange(_ path: NetworkPath, report: @escaping @Sendable (NetworkPath.Validation) -> Void) {
        decide({ $0.pathDidChange(path) }, report: report)
    }

    private func decide(
        _ event: (inout ProbeSchedule) -> ProbeSchedule.Action, report: @escaping @Sendable (NetworkPath.Validation) -> Void
    ) {
        // In one step: the next decision's task is never the one that this decision cancels.
        let (action, old) = state.withLock { state -> (ProbeSchedule.Action, Task<Void, Never>?) in
            let action = event(&state.schedule)
            guard action != .none else { return (action, nil) }
            defer { state.task = nil }
            return (action, state.task)
        }
        old?.cancel()
        guard case .probe(let turn) = action else { return }
        let task = Task { [probe] in await Self.run(probe, report) }
        // A stop, or a newer path, may have come in the meantime: then this task is the one to end.
        let isWanted = state.withLock { state in
            guard state.schedule.isCurrent(turn: turn) else { return false }
            state.task = task
            return true
        }
        if !isWanted { task.cancel() }
    }

    private static func run(_ probe: ReachabilityProbe, _ report: @Sendable (NetworkPath.Validation) -> Void) async {
        var pauses = probe.retryPauses[...]
        while !Task.isCancelled {
            let verdict = await probe.run()
            guard !Task.isCancelled else { return }
            report(verdict)
            guard verdict != .validated, let pause = pauses.first else { return }
            if pauses.count > 1 { pauses = pauses.dropFirst() }
            do { try await Task.sleep(for: pause) } catch { return }
        }
    }
}
