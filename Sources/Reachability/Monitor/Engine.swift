/// Starts and stops the thread that several monitors share: it is there while one of them is started.
final class Engine: Sendable {
    private struct State {
        var run: MonitorRun?
        /// The thread before, which may not have ended yet.
        var previous: MonitorRun?
    }

    let configuration: ReachabilityMonitor.Configuration
    private let state = Lock(State())

    init(_ configuration: ReachabilityMonitor.Configuration) { self.configuration = configuration }

    var run: MonitorRun? { state.withLock { $0.run } }

    /// The first answer is there when this returns. Nothing is called from within.
    func start(_ member: Member) throws(ReachabilityError) {
        let run = try state.withLock { state throws(ReachabilityError) -> MonitorRun? in
            let isStarting = member.state.withLock { member in
                defer { member.begin() }
                return !member.isStarted
            }
            guard isStarting else { return nil }
            do throws(SystemFailure) {
                let run: MonitorRun
                if let current = state.run { run = current } else { run = try open(after: state.previous) }
                state.run = run
                state.previous = nil
                member.state.withLock { $0.run = ObjectIdentifier(run) }
                run.insert(member)
                return run
            } catch {
                member.state.withLock { $0.isStarted = false }
                throw ReachabilityError(error)
            }
        }
        guard let run else { return }
        // The member hears of changes already, so a change during this look is not lost; of the two looks the later wins.
        if case .host = member.target.subject { run.resolve(member) }
        evaluate(member, run)
        run.wake([.deliver, .filter])
    }

    private func evaluate(_ member: Member, _ run: MonitorRun) {
        guard run.kernel is PollingKernel, configuration.namespace != .current else {
            run.evaluate(member)
            return
        }
        // connect(2) asks the namespace of its thread.
        _ = try? configuration.namespace.run { () throws(SystemFailure) in _ = run.evaluate(member) }
    }

    func stop(_ member: Member) {
        let ended = state.withLock { state -> MonitorRun? in
            let wasStarted = member.state.withLock { member in
                defer { member.isStarted = false }
                return member.isStarted
            }
            guard wasStarted, let run = state.run, run.remove(member) else { return nil }
            state.run = nil
            state.previous = run
            return run
        }
        guard let ended else { return }
        ended.resolver.stop()
        ended.wake(.stop)
    }

    private func open(after previous: MonitorRun?) throws(SystemFailure) -> MonitorRun {
        let configuration = configuration
        return try configuration.namespace.run { () throws(SystemFailure) in
            let run: MonitorRun
            let loop: MonitorLoop
            do throws(SystemFailure) {
                (run, loop) = try Self.openNetlink(configuration, previous)
            } catch {
                guard error.meansRefused else { throw error }
                (run, loop) = try Self.openPolling(configuration, previous)
            }
            // The thread lives in the namespace of the one that makes it.
            try SystemThread.spawn(isDetached: true) { loop.main() }
            return run
        }
    }

    private static func openNetlink(
        _ configuration: ReachabilityMonitor.Configuration, _ previous: MonitorRun?
    ) throws(SystemFailure) -> (MonitorRun, MonitorLoop) {
        let kernel = try NetlinkKernel(classifier: InterfaceClassifier(usesSysfs: configuration.namespace == .current))
        let events = try NetlinkEvents(receiveBuffer: configuration.receiveBuffer)
        let run = try MonitorRun(configuration: configuration, kernel: kernel, backend: .netlink)
        let loop = try MonitorLoop(run: run, events: events, previous: previous)
        try loop.prepare()
        return (run, loop)
    }

    private static func openPolling(
        _ configuration: ReachabilityMonitor.Configuration, _ previous: MonitorRun?
    ) throws(SystemFailure) -> (MonitorRun, MonitorLoop) {
        let kernel = try PollingKernel(classifier: InterfaceClassifier(usesSysfs: configuration.namespace == .current))
        let backend = ReachabilityMonitor.Backend.polling(interval: configuration.pollingInterval)
        let run = try MonitorRun(configuration: configuration, kernel: kernel, backend: backend)
        let loop = try MonitorLoop(run: run, events: nil, previous: previous)
        try loop.prepare()
        return (run, loop)
    }
}

extension Member.State {
    mutating func begin() {
        guard !isStarted else { return }
        isStarted = true
        // What a probe found out was about the network of that time.
        if var path = current, path.validation != .unknown {
            path.validation = .unknown
            publish(path)
        }
        isFresh = true
        ticket = 0
        resolution.reset()
    }
}
