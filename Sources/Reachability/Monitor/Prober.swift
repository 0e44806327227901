/// Runs a probe when the path has changed, again and again while its verdict is bad, and stops when the path goes.
final class Prober: Sendable {
    private struct State {
        var schedule = ProbeSchedule()
        var task: Task<Void, Never>?
    }

    private let probe: ReachabilityProbe
    private let state = Lock(State())

    init(_ probe: ReachabilityProbe) { self.probe = probe }

    func start() { state.withLock { $0.schedule.start() } }

    /// The probe is cancelled, and none is begun until the next start.
    func stop() { perform(state.withLock { $0.schedule.stop() }, nil) }

    func pathDidChange(_ path: NetworkPath, report: @escaping @Sendable (NetworkPath.Validation) -> Void) {
        perform(state.withLock { $0.schedule.pathDidChange(path) }, report)
    }

    private func perform(_ action: ProbeSchedule.Action, _ report: (@Sendable (NetworkPath.Validation) -> Void)?) {
        switch action {
        case .none: break
        case .cancel:
            let old = state.withLock { state in
                defer { state.task = nil }
                return state.task
            }
            old?.cancel()
        case .probe(let turn):
            guard let report else { return }
            let task = Task { [probe] in await Self.run(probe, report) }
            // A stop, or a newer path, may have come in the meantime: then this task is the one to end.
            let unwanted = state.withLock { state -> Task<Void, Never>? in
                guard state.schedule.isCurrent(turn: turn) else { return task }
                defer { state.task = task }
                return state.task
            }
            unwanted?.cancel()
        }
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
