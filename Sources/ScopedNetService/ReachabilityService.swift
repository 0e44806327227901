#if ServiceLifecycle
public import Logging
public import Reachability
public import ServiceLifecycle

/// A ``ReachabilityMonitor`` as a service: started when the service runs, stopped at shutdown, and its changes handed on meanwhile.
///
/// The monitor belongs to the service while it runs; others may observe it as they like. Changes come one after the other, newest only: while
/// `onChange` is busy, paths in between are skipped.
public struct ReachabilityService: Service {
    /// The monitor, which the service starts and stops.
    public let monitor: ReachabilityMonitor
    private let logger: Logger?
    private let onChange: @Sendable (NetworkPath, NetworkPath.Delta) async -> Void

    /// - Parameters:
    ///   - monitor: not started yet, or started by somebody who does not mind that it is stopped at shutdown.
    ///   - logger: gets one line for each change, at `info`.
    ///   - onChange: called with the first path and with each newer one, in the service's own task. A shutdown waits for the call it meets.
    public init(
        _ monitor: ReachabilityMonitor, logger: Logger? = nil,
        onChange: @escaping @Sendable (NetworkPath, NetworkPath.Delta) async -> Void = { _, _ in }
    ) {
        self.monitor = monitor
        self.logger = logger
        self.onChange = onChange
    }

    /// Returns at graceful shutdown or when the task is cancelled; the monitor is stopped then.
    ///
    /// - Throws: `ReachabilityError` when the monitor cannot start.
    public func run() async throws {
        try monitor.start()
        defer { monitor.stop() }
        var last: NetworkPath?
        for await path in monitor.paths.cancelOnGracefulShutdown() {
            let delta = path.delta(from: last)
            last = path
            logger?.info("network path", metadata: ["path": "\(path)", "generation": "\(path.generation)"])
            await onChange(path, delta)
        }
    }
}
#endif
