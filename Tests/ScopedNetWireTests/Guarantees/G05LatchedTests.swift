import CleanSlate
import Foundation
import Persistence
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// G5: a cancel at any stage is never lost; no further stage begins. One fault point for each stage there is.
@Suite(.leavesNothing, .serialized) struct G05LatchedTests {
    /// Cancels the run at one step, from inside the thread that takes it.
    private func cancelAt(_ step: Step, _ scenario: (Session, String, DeallocBag, Trace) -> Void) async throws -> (Trace, Int, Int) {
        let trace = Trace()
        let server = LoopbackServer()
        try await server.start()
        server.on("/redirect", .redirect(to: "/json", status: 302))
        server.on("/fail", .status(503))
        server.on("/json", .json("{\"a\": 1}"))
        server.on("/held", ScriptedResponse.ok("1").stalling(.beforeHead))
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.limits.perHost = 1
        let session = Session(configuration: configuration)
        let bag = DeallocBag()
        let hits = Counter()
        let requestsAtCancel = Counter()
        let mine = Lock<Set<UInt64>>([])
        StepDoor.install { taken, run in
            guard taken == step, session.agent.liveRuns().contains(where: { $0.id == run }) else { return }
            guard mine.withLock({ $0.insert(run).inserted }) else { return }
            hits.add()
            requestsAtCancel.set(server.requests.count)
            bag.cancelAll()
            session.agent.cancelAll()
        }
        scenario(session, server.url, bag, trace)
        await session.agent.waitUntilIdle()
        StepDoor.install(nil)
        let seen = server.requests.count
        await session.shutdown()
        await server.stop()
        return (trace, hits.value, seen - requestsAtCancel.value)
    }

    struct Thing: Decodable, Sendable { let a: Int }

    // THR-3, defect 21
    @Test(arguments: [
        (Step.afterLink, 0), (.beforeQueue, 0), (.beforeTransfer, 0), (.transferStarted, 1), (.headReceived, 0), (.redirectDecided, 0),
        (.beforeDecode, 0), (.decoded, 0), (.beforeDelivery, 0), (.beforeAdmission, 0),
    ])
    func noStageFollowsACancel(step: Step, allowedRequests: Int) async throws {
        let (trace, hits, later) = try await cancelAt(step) { session, url, bag, trace in
            session.get(url + "/redirect", as: Thing.self)
                .onSuccess { _ in trace.add("success") }
                .onFailure { trace.add("failure \($0)") }
                .onEnd { trace.add("end \($0.isCancelled)") }
                .start(in: bag)
        }
        #expect(hits >= 1, "the run never met \(step)")
        #expect(trace.lines == ["end true"])
        #expect(later <= allowedRequests, "a request was sent after the cancel")
    }

    // Defect 21
    @Test(arguments: [Step.retryDecided, .retryWaiting])
    func noRetryFollowsACancel(step: Step) async throws {
        let (trace, hits, later) = try await cancelAt(step) { session, url, bag, trace in
            session.request(url + "/fail").options { $0.retry = .standard }
                .onFailure { trace.add("failure \($0)") }
                .onEnd { trace.add("end \($0.isCancelled)") }
                .start(in: bag)
        }
        #expect(hits >= 1)
        #expect(trace.lines == ["end true"])
        #expect(later == 0)
    }

    // Defect 21
    @Test func aCancelInTheQueueIsNotForgotten() async throws {
        let (trace, hits, later) = try await cancelAt(.queued) { session, url, bag, trace in
            // The first is not answered: it has the host's only slot when the second comes.
            for index in 0..<2 {
                session.request(url + "/held").onSuccess { _ in trace.add("success \(index)") }.onEnd { _ in trace.add("end") }.start(
                    in: bag)
            }
        }
        #expect(hits == 1)
        #expect(later <= 1)
        #expect(trace.count("end") == 2)
        #expect(trace.lines.filter { $0.hasPrefix("success") }.isEmpty)
    }

    // THR-3
    @Test func aCancelBeforeTheStartSendsNothing() async throws {
        try await withHouse { house in
            let bag = DeallocBag()
            bag.end()
            let trace = Trace()
            house.session.request(house.url("/x")).onSuccess { _ in trace.add("success") }.onEnd { trace.add("end \($0.isCancelled)") }
                .start(in: bag)
            await house.agent.waitUntilIdle()
            #expect(trace.lines == ["end true"])
            #expect(house.server.connectionsAccepted == 0)
        }
    }

    // THR-4
    @Test func aCancelWhileSuspendedEnds() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let run = session.request("http://h/").onEnd { trace.add("end \($0.isCancelled)") }.start()
            await stage.waitForStarts(1)
            #expect(run.suspend())
            #expect(run.suspend() == false)
            #expect(run.status.stage == .suspended)
            #expect(run.cancel() == .cancelled)
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["end true"])
        }
    }

    /// The task was cancelled before there was a run to cancel.
    @Test func aCancelBeforeTheAwaitIsNotLost() async throws {
        try await withHouse { house in
            house.server.on("/x", .ok("x"))
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                do throws(NetworkError) {
                    _ = try await house.session.request(house.url("/x")).value()
                    return "delivered"
                } catch { return "\(error.code) \(error.cancelReason?.description ?? "-")" }
            }
            let outcome = await task.value
            #expect(outcome == "cancelled task cancelled")
        }
    }

    /// One form of awaiting a request each.
    private static func send(_ form: Int, _ session: Session, _ cached: Session, _ url: String) async throws {
        switch form {
        case 0: _ = try await session.request(url).value()
        case 1: _ = try await session.request(url).response()
        case 2:
            let bag = DeallocBag()
            defer { withExtendedLifetime(bag) {} }
            _ = try await session.request(url).value(in: bag)
        case 3: _ = try await session.stream(url)
        case 4: _ = try await session.upload(url, from: Data([1])).value()
        case 5: for try await _ in cached.request(url).cachedThenFresh() {}
        default: _ = try await cached.request(url).value()
        }
    }

    /// THR-3: where the slot that is free at once was taken before the run heard of the cancellation, a request was sent now and then.
    @Test(arguments: 0..<7) func aTaskThatIsCancelledAlreadySendsNothing(form: Int) async throws {
        let folder = TemporaryFolder()
        let cache = ResponseCache(StoreConfiguration(directory: folder.path + "/cache"))
        try await withHouse { house in
            let cached = house.session.with { $0.cache = cache }
            for _ in 0..<30 {
                let task = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    do {
                        try await Self.send(form, house.session, cached, house.url("/x"))
                        return "delivered"
                    } catch { return (error as? NetworkError)?.cancelReason?.description ?? "\(error)" }
                }
                let outcome = await task.value
                #expect(outcome == "task cancelled")
            }
            await house.agent.waitUntilIdle()
            #expect(house.server.connectionsAccepted == 0)
        }
        await cache.store.close()
    }
}
