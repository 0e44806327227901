import CleanSlate
import Logging
import Reachability
import ScopedNet
import ScopedNetService
import ScopedNetTesting
import ServiceLifecycle
import Testing
import UnixSignals

private struct Health: Decodable, Sendable { let healthy: Bool }

/// As in README.md; `DocumentationTests` has its words.
private struct Watcher: Sendable {
    let session: Session

    func run(every pause: Duration, report: @Sendable (Bool) -> Void) async {
        await withRequestScope(label: "watcher") { scope in
            while !Task.isCancelled {
                do throws(NetworkError) {
                    report(try await session.get("health", as: Health.self).value(in: scope.bag).healthy)
                } catch {
                    if !error.isCancelled { report(false) }
                }
                try? await Task.sleep(for: pause)
            }
        }
        await session.shutdown()
    }
}

// MARK: README.md

extension Watcher: Service {
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await run(every: .seconds(30)) { print($0 ? "healthy" : "not healthy") }
        }
    }
}

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

extension ServiceSamples {
    // MARK: README.md

    fileprivate func serveBriefly(_ session: Session, _ monitor: ReachabilityMonitor, _ work: any Service, _ logger: Logger) async throws {
        let group = ServiceGroup(
            services: [SessionService(session, ending: .drain(atMost: .seconds(20))), ReachabilityService(monitor, logger: logger), work],
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
        let another = Session(configuration: .init(agent: RequestAgent()))
        await #expect(throws: ShortWork.Done.self) { try await ServiceSamples().serveBriefly(another, monitor, ShortWork(), logger) }
        #expect(!monitor.isStarted && session.agent.liveCount == 0)
    }

    @Test func theWatcherHearsOfAGracefulShutdown() async throws {
        let transport = MockTransport(unanswered: .wait)
        var configuration = Session.Configuration(customTransport: transport, agent: RequestAgent())
        configuration.baseURL = "http://h/"
        let session = Session(configuration: configuration)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(services: [SessionService(session), Watcher(session: session)], logger: logger)
        let running = Task { try await group.run() }
        await transport.waitForExchanges(1)
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(session.agent.liveCount == 0)
    }
}
