import SystemSupport

/// Watches the way to the network, to an address or to a host.
///
/// Made, it does nothing yet. `start()` gives the first answer before it returns; from then on every change is told once, to whoever asked.
/// Use it to explain a failure and to time a retry, never as a gate before a request.
public final class ReachabilityMonitor: Sendable {
    /// The destination that is watched.
    public let target: NetworkPath.Target
    let engine: Engine
    let member: Member
    private let prober: Prober?

    /// Makes a monitor that has not started, and has no thread yet.
    ///
    /// - Parameters:
    ///   - target: the destination; the default path by default.
    ///   - configuration: the settings of this one and of those made by ``monitor(for:)``.
    public convenience init(target: NetworkPath.Target = .defaultPath, configuration: Configuration = Configuration()) {
        self.init(target, Engine(configuration), probe: configuration.probe)
    }

    private init(_ target: NetworkPath.Target, _ engine: Engine, probe: ReachabilityProbe?) {
        self.target = target
        self.engine = engine
        let settle = SettleRule(gain: engine.configuration.gainDelay, burst: engine.configuration.burstWindow)
        member = Member(target: target, settle: settle)
        prober = probe.map { Prober($0) }
        member.state.withLock { $0.monitor = self }
        if let prober {
            _ = member.insert { [weak member, weak engine] path, _ in Self.probe(path, prober, member, engine) }
        }
    }

    private static func probe(_ path: NetworkPath, _ prober: Prober, _ member: Member?, _ engine: Engine?) {
        guard let life = member?.life else { return }
        prober.pathDidChange(path) { [weak member, weak engine] validation in
            if member?.commit(validation, of: path, life: life) == true { engine?.run?.wake(.deliver) }
        }
    }

    deinit { stop() }

    /// A monitor for another target on the same thread, with the same configuration. It is started and stopped by itself, has its own probe
    /// where the configuration asks for one, and may outlive this one.
    public func monitor(for target: NetworkPath.Target) -> ReachabilityMonitor {
        ReachabilityMonitor(target, engine, probe: engine.configuration.probe)
    }

    /// As `monitor(for:)`, without a probe: for who asks for the status alone, which a probe never changes.
    package func plainMonitor(for target: NetworkPath.Target) -> ReachabilityMonitor { ReachabilityMonitor(target, engine, probe: nil) }

    /// Begins to watch. When this returns `currentPath` is right; nobody is called from within. Does nothing when started.
    ///
    /// - Throws: `namespaceUnavailable` where there is no such namespace or this thread may not go there, `resources` where descriptors,
    ///   threads or memory are lacking. The monitor is then not started, and can be.
    public func start() throws(ReachabilityError) {
        guard let life = try engine.start(member), let prober else { return }
        prober.follow(life: life, isStarted: true)
        // Those who listen hear of a path that is the same as before the stop no second time; it is to be probed again all the same.
        if let path = member.current { Self.probe(path, prober, member, engine) }
    }

    /// Nothing is told from now on; a call that was already admitted on the monitor's thread may still be running. `currentPath` stays.
    /// Never blocks; may be called in a callback, where nothing at all follows it.
    public func stop() {
        if let life = engine.stop(member) { prober?.follow(life: life, isStarted: false) }
    }

    /// True from ``start()`` to ``stop()``.
    public var isStarted: Bool { member.state.withLock { $0.isStarted } }

    /// The path as it was last told or is about to be; nil before the first start, and as it was at the stop after that.
    public var currentPath: NetworkPath? { member.current }

    /// Where this monitor's answers come from; nil unless it is started.
    public var backend: Backend? { isStarted ? engine.run?.backend : nil }

    /// What the thread behind this monitor has done since it began, for all the monitors that share it; zeros unless this one is started.
    public var statistics: Statistics { (isStarted ? engine.run?.statistics : nil) ?? Statistics() }

    /// Looks again at everything, names included, for all the monitors that share the thread. There is no need to. Does nothing unless started.
    public func refresh() { if isStarted { engine.run?.wake(.refresh) } }

    /// Told of changes on the monitor's thread, before closures and sequences. Held weakly.
    public var delegate: (any ReachabilityDelegate)? {
        get { member.state.withLock { $0.delegate } }
        set {
            let newValue = newValue
            member.state.withLock { state in
                state.delegate = newValue
                state.delegateLast = nil
            }
            engine.run?.wake(.deliver)
        }
    }

    /// Calls the closure with the current path, if there is one, and with every change, one after the other.
    ///
    /// - Parameters:
    ///   - hop: carries the call to where it is wanted, as in `{ queue.async(execute: $0) }`. Without it the closure runs on the
    ///     monitor's thread, and should be brief.
    ///   - handler: the path, and what differs from the one this closure was called with before.
    /// - Returns: what keeps the closure, and the monitor, alive. Drop it, and nothing is called any more.
    public func observe(
        through hop: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil,
        _ handler: @escaping @Sendable (NetworkPath, NetworkPath.Delta) -> Void
    ) -> Subscription {
        let subscription = Subscription(self, member)
        guard let hop else {
            subscription.begin(handler)
            engine.run?.wake(.deliver)
            return subscription
        }
        subscription.begin { [weak subscription] path, delta in
            hop { [weak subscription] in if subscription?.isAdmitted == true { handler(path, delta) } }
        }
        engine.run?.wake(.deliver)
        return subscription
    }

    /// The current path, and then every newer one that is there when it is asked for. For as many consumers as one likes; it keeps the
    /// monitor alive, and ends with its task.
    public var paths: NetworkPaths { NetworkPaths(monitor: self, member: member) }

    /// Returns with the first path that is satisfied.
    ///
    /// - Throws: `timedOut`, or `cancelled` when the task is.
    @discardableResult
    public func waitUntilSatisfied(timeout: Duration? = nil) async throws(ReachabilityError) -> NetworkPath {
        try await waitUntilSatisfied(timeout: timeout, clock: ContinuousClock())
    }
}

/// Hears of changes of the path. On the monitor's thread; be brief.
public protocol ReachabilityDelegate: AnyObject, Sendable {
    /// Receives a path and its differences from the one before. Called on the monitor's thread; be brief.
    func reachability(_ monitor: ReachabilityMonitor, didChangeTo path: NetworkPath, delta: NetworkPath.Delta)
}
