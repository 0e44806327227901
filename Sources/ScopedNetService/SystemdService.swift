#if ServiceLifecycle
public import Logging
public import Reachability
public import ServiceLifecycle

/// Reports a daemon's life to systemd: `READY=1` when it runs, `STOPPING=1` when its shutdown begins, and the network path as `STATUS=`.
///
/// Put it last in its `ServiceGroup`: services are shut down in reverse order, so it speaks before the others stop. Outside systemd, where there
/// is no notifier, it only waits. A manager that does not answer is logged and otherwise ignored.
public struct SystemdService: Service {
    private let notifier: SystemdNotifier?
    private let monitor: ReachabilityMonitor?
    private let logger: Logger?
    private let readiness: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - notifier: nil does nothing: pass `try .fromEnvironment()`.
    ///   - monitor: whose path becomes the status, at each change. Somebody else starts it; see ``ReachabilityService``.
    ///   - logger: hears of notifications that failed, at `warning`.
    ///   - readiness: awaited before `READY=1`. A group starts all its services at once; by default that counts as ready.
    public init(
        _ notifier: SystemdNotifier?, status monitor: ReachabilityMonitor? = nil, logger: Logger? = nil,
        readiness: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.notifier = notifier
        self.monitor = monitor
        self.logger = logger
        self.readiness = readiness
    }

    /// Returns at graceful shutdown or when the task is cancelled, after `STOPPING=1`.
    ///
    /// - Throws: what `readiness` throws; nothing is said then, and the group ends.
    public func run() async throws {
        let readiness = readiness
        do { try await cancelWhenGracefulShutdown { try await readiness() } } catch {
            // A shutdown does not wait until a program that is just starting is ready.
            guard Task.isShuttingDownGracefully else { throw error }
            return tell(.stopping)
        }
        tell(.ready)
        if notifier != nil, let monitor {
            for await path in monitor.paths.cancelOnGracefulShutdown() { tell(.status("\(path)")) }
        } else {
            try? await gracefulShutdown()
        }
        tell(.stopping)
    }

    private func tell(_ message: SystemdMessage) {
        guard let notifier else { return }
        do throws(SystemdError) { try notifier.notify(message) } catch {
            logger?.warning("systemd was not notified", metadata: ["message": "\(message)", "error": "\(error)"])
        }
    }
}
#endif
