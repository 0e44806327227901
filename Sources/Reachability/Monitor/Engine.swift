import Glibc
import SystemSupport

/// Starts and stops the thread that several monitors share: it is there while one of them is started.
final class Engine: Sendable {
    private struct State {
        var run: MonitorRun?
        /// The end of the thread before, which may not have come yet. No more of that one is kept.
        var previous: CountdownLatch?
    }

    /// The name of every thread of this module.
    static let threadName = "reachability"

    let configuration: ReachabilityMonitor.Configuration
    private let state = Lock(State())

    init(_ configuration: ReachabilityMonitor.Configuration) { self.configuration = configuration }

    var run: MonitorRun? { state.withLock { $0.run } }

    /// The first answer is there when this returns. Nothing is called from within.
    ///
    /// - Returns: the count of the life this began; nil where the member was started already.
    func start(_ member: Member) throws(ReachabilityError) -> UInt64? {
        guard let (run, life) = try enter(member) else { return nil }
        // The member hears of changes already, so a change during this look is not lost; of the two looks the later wins.
        if case .host = member.target.subject { run.resolve(member) }
        do throws(SystemFailure) {
            try evaluate(member, run)
        } catch {
            _ = stop(member, life: life)
            throw ReachabilityError(error)
        }
        run.wake([.deliver, .filter])
        return life
    }

    private func enter(_ member: Member) throws(ReachabilityError) -> (MonitorRun, life: UInt64)? {
        try state.withLock { state throws(ReachabilityError) in
            guard let life = member.state.withLock({ $0.begin() }) else { return nil }
            do throws(SystemFailure) {
                let run: MonitorRun
                if let current = state.run { run = current } else { run = try open(after: state.previous) }
                state.run = run
                state.previous = nil
                member.state.withLock { $0.run = ObjectIdentifier(run) }
                run.insert(member)
                return (run, life)
            } catch {
                member.state.withLock { _ = $0.end() }
                throw ReachabilityError(error)
            }
        }
    }

    private func evaluate(_ member: Member, _ run: MonitorRun) throws(SystemFailure) {
        let commit: Member.Commit
        if run.kernel is PollingKernel {
            // connect(2) asks the namespace of its thread.
            commit = try run.namespace.run { () throws(SystemFailure) in
                run.kernel.readInterfaces()
                return run.evaluate(member)
            }
        } else {
            commit = run.evaluate(member)
        }
        if case .unanswered(let failure) = commit { throw failure }
    }

    /// Stops a member. Returns the count of the silence this began; nil where there was nothing to stop.
    ///
    /// With `life` only that one is ended.
    func stop(_ member: Member, life: UInt64? = nil) -> UInt64? {
        let (silence, ended) = state.withLock { state -> (UInt64?, MonitorRun?) in
            let silence = member.state.withLock { $0.end(life) }
            guard silence != nil, let run = state.run, run.remove(member) else { return (silence, nil) }
            state.run = nil
            state.previous = run.ended
            return (silence, run)
        }
        if let ended {
            ended.resolver.stop()
            ended.wake(.stop)
        }
        return silence
    }

    private func open(after previous: CountdownLatch?) throws(SystemFailure) -> MonitorRun {
        let configuration = configuration
        let namespace = try HeldNamespace(configuration.namespace)
        return try namespace.run { () throws(SystemFailure) in
            let run: MonitorRun
            let loop: MonitorLoop
            do throws(SystemFailure) {
                (run, loop) = try Self.openNetlink(configuration, namespace, previous)
            } catch {
                // A netlink that takes requests and answers none is as good as refused.
                guard error.meansRefused || error.code == ETIMEDOUT else { throw error }
                (run, loop) = try Self.openPolling(configuration, namespace, previous)
            }
            // The thread lives in the namespace of the one that makes it.
            try SystemThread.start(name: Self.threadName) { loop.main() }
            return run
        }
    }

    private static func openNetlink(
        _ configuration: ReachabilityMonitor.Configuration, _ namespace: HeldNamespace, _ previous: CountdownLatch?
    ) throws(SystemFailure) -> (MonitorRun, MonitorLoop) {
        let kernel = try NetlinkKernel(classifier: InterfaceClassifier(usesSysfs: configuration.namespace == .current))
        let events = try NetlinkEvents(receiveBuffer: configuration.receiveBuffer)
        let run = try MonitorRun(configuration: configuration, kernel: kernel, backend: .netlink, namespace: namespace)
        let loop = try MonitorLoop(run: run, events: events, previous: previous)
        try loop.prepare()
        return (run, loop)
    }

    private static func openPolling(
        _ configuration: ReachabilityMonitor.Configuration, _ namespace: HeldNamespace, _ previous: CountdownLatch?
    ) throws(SystemFailure) -> (MonitorRun, MonitorLoop) {
        let kernel = try PollingKernel(classifier: InterfaceClassifier(usesSysfs: configuration.namespace == .current))
        let backend = ReachabilityMonitor.Backend.polling(interval: configuration.pollingInterval)
        let run = try MonitorRun(configuration: configuration, kernel: kernel, backend: backend, namespace: namespace)
        let loop = try MonitorLoop(run: run, events: nil, previous: previous)
        try loop.prepare()
        return (run, loop)
    }
}
