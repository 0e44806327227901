import CleanSlate
import Foundation
import Logging
import Reachability
import ScopedNet
import ScopedNetService
import ScopedNetTestServer
import ServiceLifecycle
import Testing

/// The services in a `ServiceGroup`, shut down gracefully and cancelled.
@Suite(.leavesNothing) struct ServiceTests {
    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func session(_ server: LoopbackServer) -> Session {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.baseURL = server.url + "/"
        return Session(configuration: configuration)
    }

    private static func group(_ services: any Service...) -> ServiceGroup {
        ServiceGroup(configuration: .init(services: services, logger: silent))
    }

    /// Runs a group around a request that stands still at the server, and gives how the request ended.
    private func ending(
        _ ending: SessionService.Ending,
        _ act: @escaping @Sendable (ServiceGroup, Task<Void, any Error>, LoopbackServer) async throws -> Void
    ) async throws -> (result: Result<Response<Data>, NetworkError>, later: NetworkError.Code?, left: Int) {
        let server = LoopbackServer()
        try await server.start()
        server.on("/slow", ScriptedResponse.ok("whole").stalling(.beforeHead))
        let session = Self.session(server)
        let group = Self.group(SessionService(session, ending: ending))
        let running = Task { try await group.run() }
        let request = Task { () async -> Result<Response<Data>, NetworkError> in
            do throws(NetworkError) { return .success(try await session.send("slow")) } catch { return .failure(error) }
        }
        try await server.waitForStalls()
        try await act(group, running, server)
        try? await running.value
        let result = await request.value
        var later: NetworkError.Code?
        do throws(NetworkError) { _ = try await session.send("slow") } catch { later = error.code }
        let left = session.agent.liveCount
        await server.stop()
        return (result, later, left)
    }

    @Test func byDefaultAShutdownCancelsWhatRuns() async throws {
        let (result, later, left) = try await ending(.cancel) { group, _, _ in await group.triggerGracefulShutdown() }
        #expect(result.failure?.cancelReason == .shutdown && later == .shutdown && left == 0)
    }

    @Test func drainingLetsARequestFinish() async throws {
        let (result, later, left) = try await ending(.drain(atMost: nil)) { group, _, server in
            await group.triggerGracefulShutdown()
            server.releaseStalls()
        }
        let value = try result.get().value
        #expect(value == Data("whole".utf8))
        #expect(later == .shutdown && left == 0)
    }

    @Test func drainingEndsAtItsLimit() async throws {
        let (result, later, left) = try await ending(.drain(atMost: .milliseconds(50))) { group, _, _ in
            await group.triggerGracefulShutdown()
        }
        #expect(result.failure?.cancelReason == .shutdown && later == .shutdown && left == 0)
    }

    @Test(arguments: [SessionService.Ending.cancel, .drain(atMost: nil)])
    func aCancellationCancels(_ kind: SessionService.Ending) async throws {
        let (result, later, left) = try await ending(kind) { _, running, _ in running.cancel() }
        #expect(result.failure?.cancelReason == .shutdown && later == .shutdown && left == 0)
    }

    @Test func aCancellationEndsDrainingToo() async throws {
        let (result, later, left) = try await ending(.drain(atMost: nil)) { group, running, _ in
            await group.triggerGracefulShutdown()
            running.cancel()
        }
        #expect(result.failure?.cancelReason == .shutdown && later == .shutdown && left == 0)
    }

    /// Awaits a request, and does not hear of the shutdown itself.
    private struct Asker: Service {
        let session: Session
        let answer: @Sendable (Result<Response<Data>, NetworkError>) -> Void

        func run() async throws {
            do throws(NetworkError) { answer(.success(try await session.send("slow"))) } catch { answer(.failure(error)) }
            // A service that ends before it is told to is an error of the group.
            try? await gracefulShutdown()
        }
    }

    /// How a request ends that another service awaits when the group is shut down.
    private func asking(
        _ ending: SessionService.Ending, sessionFirst: Bool, _ act: (LoopbackServer) -> Void = { _ in }
    ) async throws -> Result<Response<Data>, NetworkError>? {
        let server = LoopbackServer()
        try await server.start()
        server.on("/slow", ScriptedResponse.ok("whole").stalling(.beforeHead))
        let session = Self.session(server)
        let (answers, continuation) = AsyncStream.makeStream(of: Result<Response<Data>, NetworkError>.self)
        let asker = Asker(session: session) { continuation.yield($0) }
        let service = SessionService(session, ending: ending)
        let services: [any Service] = sessionFirst ? [service, asker] : [asker, service]
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0, successTerminationBehavior: .ignore) },
                logger: Self.silent))
        let running = Task { try await group.run() }
        try await server.waitForStalls()
        await group.triggerGracefulShutdown()
        act(server)
        var iterator = answers.makeAsyncIterator()
        let answer = await iterator.next()
        try await running.value
        #expect(session.agent.liveCount == 0)
        await server.stop()
        return answer
    }

    @Test(arguments: [true, false])
    func drainingEndsAtItsLimitWhereverTheSessionStands(_ sessionFirst: Bool) async throws {
        let answer = try await asking(.drain(atMost: .milliseconds(50)), sessionFirst: sessionFirst)
        #expect(answer?.failure?.cancelReason == .shutdown)
    }

    @Test(arguments: [true, false])
    func aShutdownCancelsWhatAnotherServiceAwaits(_ sessionFirst: Bool) async throws {
        let answer = try await asking(.cancel, sessionFirst: sessionFirst)
        #expect(answer?.failure?.cancelReason == .shutdown)
    }

    @Test(arguments: [true, false])
    func drainingLetsTheRequestOfAnotherServiceFinish(_ sessionFirst: Bool) async throws {
        let answer = try await asking(.drain(atMost: .seconds(60)), sessionFirst: sessionFirst) { $0.releaseStalls() }
        #expect(try answer?.get().value == Data("whole".utf8))
    }

    @Test func theMonitorRunsAsLongAsItsService() async throws {
        let monitor = ReachabilityMonitor(target: .host("127.0.0.1"))
        let (paths, continuation) = AsyncStream.makeStream(of: (NetworkPath, NetworkPath.Delta).self)
        let group = Self.group(ReachabilityService(monitor) { path, delta in continuation.yield((path, delta)) })
        let running = Task { try await group.run() }
        var iterator = paths.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first?.0.isSatisfied == true && first?.1 == .first)
        #expect(monitor.isStarted)
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(!monitor.isStarted)
    }

    @Test func aMonitorThatCannotStartEndsTheGroup() async throws {
        var configuration = ReachabilityMonitor.Configuration()
        configuration.namespace = .path("/nonexistent/namespace")
        let group = Self.group(ReachabilityService(ReachabilityMonitor(configuration: configuration)))
        let error = await #expect(throws: ReachabilityError.self) { try await group.run() }
        #expect(error?.code == .namespaceUnavailable)
    }

    @Test func systemdHearsOfStartPathAndEnd() async throws {
        let listener = try NotifyListener("@scopednet-test-\(UUID().uuidString)")
        let monitor = ReachabilityMonitor(target: .host("127.0.0.1"))
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let notifier = try SystemdNotifier(socket: listener.name)
        let group = Self.group(
            ReachabilityService(monitor), SystemdService(notifier, status: monitor) { for await _ in gate { return } })
        let running = Task { try await group.run() }
        opener.yield()
        let start = [await listener.next(), await listener.next()]
        #expect(start == ["READY=1", "STATUS=\(monitor.currentPath?.description ?? "")"])
        await group.triggerGracefulShutdown()
        let end = await listener.nextState()
        #expect(end == "STOPPING=1")
        try await running.value
    }

    @Test func withoutSystemdItsServiceOnlyWaits() async throws {
        let group = Self.group(SystemdService(nil))
        let running = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        try await running.value
    }

    @Test func aManagerThatIsNotThereIsNoReasonToEnd() async throws {
        let notifier = try SystemdNotifier(socket: "@scopednet-test-\(UUID().uuidString)")
        let group = Self.group(SystemdService(notifier, logger: Self.silent))
        let running = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        try await running.value
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
