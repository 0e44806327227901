import CleanSlate
import Logging
import Reachability
import ScopedNet
import ScopedNetService
import ServiceLifecycle
import Testing
import UnixSignals

/// The samples about services, word for word, as `DocumentationTests` wants them.
private struct ServiceSamples: Sendable {
    // MARK: README.md, ScopedNetService.md

    func serve(_ session: Session, _ monitor: ReachabilityMonitor, _ work: any Service, _ logger: Logger) async throws {
        let group = ServiceGroup(
            services: [
                SessionService(session, ending: .drain(atMost: .seconds(20))),
                ReachabilityService(monitor, logger: logger),
                work,
                SystemdService(try .fromEnvironment(), status: monitor, logger: logger),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }
}

/// Ends at once, and the group with it.
private struct ShortWork: Service {
    struct Done: Error {}
    func run() async throws { throw Done() }
}

@Suite(.leavesNothing) struct ServiceSampleTests {
    @Test func theGroupRunsAndLeavesNothing() async throws {
        let session = Session(configuration: .init(agent: RequestAgent()))
        let monitor = ReachabilityMonitor(target: .host("127.0.0.1"))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        await #expect(throws: ShortWork.Done.self) { try await ServiceSamples().serve(session, monitor, ShortWork(), logger) }
        #expect(!monitor.isStarted && session.agent.liveCount == 0)
    }
}
