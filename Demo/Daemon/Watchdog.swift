#if ServiceLifecycle
import Logging
import Reachability
import ScopedNet
import ServiceLifecycle

/// Asks a URL at its pace; when that fails and there is no network, waits for the network in place of asking again.
struct Watchdog: Service {
    let session: Session
    let monitor: ReachabilityMonitor
    let options: DaemonOptions
    let logger: Logger

    func run() async throws {
        await withRequestScope(label: "watchdog") { scope in
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                await ask(in: scope.bag)
                await pause()
            }
        }
    }

    private func ask(in bag: DeallocBag) async {
        let request = session.get(options.url).timeout(options.timeout)
        do throws(NetworkError) {
            let response = try await request.response(in: bag)
            logger.info("healthy", metadata: ["status": "\(response.status)", "took": "\(response.duration)"])
        } catch {
            guard !error.isCancelled else { return }
            // The network explains a failure; it is never asked beforehand whether a request may be made.
            let path = monitor.currentPath.map { "\($0)" } ?? "unknown"
            logger.warning("not healthy", metadata: ["error": "\(error)", "path": "\(path)"])
        }
    }

    /// Until it is time, the network is back after a loss, or the shutdown begins.
    private func pause() async {
        let wasLost = monitor.currentPath?.isSatisfied == false
        let monitor = monitor
        let interval = options.interval
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await Task.sleep(for: interval) }
                if wasLost { group.addTask { _ = try? await monitor.waitUntilSatisfied() } }
                await group.next()
                group.cancelAll()
            }
        }
    }
}
#endif
