import Foundation
import Logging
import Reachability
import ScopedNet
import ScopedNetService

#if ServiceLifecycle
import ServiceLifecycle
import UnixSignals

/// A daemon that looks after a server: asks it again and again, knows why it cannot, tells systemd, and leaves in order.
@main
struct DemoDaemon {
    static func main() async {
        let options: DaemonOptions
        do throws(DaemonOptions.UsageError) { options = try DaemonOptions(Array(CommandLine.arguments.dropFirst())) } catch {
            fail("DemoDaemon: \(error)\n\n\(DaemonOptions.help)", status: 64)
        }
        if options.wantsHelp { return print(DaemonOptions.help) }
        var logger = Logger(label: "demo-daemon") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .info
        do { try await serve(options, logger) } catch {
            logger.critical("ended", metadata: ["error": "\(error)"])
            exit(70)
        }
    }

    private static func fail(_ text: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
        exit(status)
    }

    private static func serve(_ options: DaemonOptions, _ logger: Logger) async throws {
        let notifier = try SystemdNotifier.fromEnvironment()
        let monitor = ReachabilityMonitor(target: NetworkPath.Target(options.url) ?? .defaultPath)
        let session = Session(configuration: .init(agent: RequestAgent()))
        let watchdog = Watchdog(session: session, monitor: monitor, options: options, logger: logger)
        // Shut down in reverse order: systemd hears of it, no new question is asked, then the session drains.
        let group = ServiceGroup(
            services: [
                SessionService(session, ending: .drain(atMost: options.timeout)),
                ReachabilityService(monitor, logger: logger),
                watchdog,
                SystemdService(notifier, status: monitor, logger: logger),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
        logger.info("gone", metadata: ["left": "\(session.agent.liveCount) requests"])
    }
}
#else
@main
struct DemoDaemon {
    static func main() {
        FileHandle.standardError.write(Data("DemoDaemon: built without the trait ServiceLifecycle, this program does nothing\n".utf8))
        exit(70)
    }
}
#endif
