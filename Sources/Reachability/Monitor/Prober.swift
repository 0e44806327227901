/// Runs a probe when the path has changed, again and again while its verdict is bad, and stops when the path goes.
final class Prober: Sendable {
    private struct State {
        var task: Task<Void, Never>?
    }

    private let probe: ReachabilityProbe
    private let state = Lock(State())

    init(_ probe: ReachabilityProbe) { self.probe = probe }

    func pathDidChange(_ path: NetworkPath, report: @escaping @Sendable (NetworkPath.Validation) -> Void) {
        // Its own verdict is a change too, and none that asks for a probe.
        if path.validation != .unknown { return }
        replace(with: path.isSatisfied ? Task { [probe] in await Self.run(probe, report) } : nil)
    }

    func stop() { replace(with: nil) }

    private func replace(with task: Task<Void, Never>?) {
        let old = state.withLock { state in
            defer { state.task = task }
            return state.task
        }
        old?.cancel()
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
