import CleanSlate
import Foundation
@_spi(Transport) import ScopedNetTesting
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// Orders of events that the model of a run found, or that reading for the model did; each was a defect once.
@Suite(.leavesNothing) struct RunRaceTests {
    /// Does something at one step of one run, once, on the thread that takes the step.
    private final class Ambush: Sendable {
        private let driver: RaceDriver

        init(_ step: RaceStep, of session: Session, _ action: @escaping @Sendable (UInt64) -> Void) {
            driver = RaceDriver(session)
            driver.at(step) { action($0.id) }
        }
    }

    private func detached(_ session: Session, _ trace: Trace) -> Request<Data> {
        session.request("http://h/").options { $0.release = .detached }
            .onSuccess { _ in trace.add("success") }.onEnd { trace.add("end \($0)") }
    }

    // MARK: The agent

    @Test func replacingARunThatIsJustBeingStartedKeepsTheAgentWhole() async throws {
        try await withStage { session, _ in
            let request = session.request("http://h/").options { $0.repeats = .replaceRunning }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { for _ in 0..<2_000 { request.start() } }
                }
            }
            #expect(session.agent.liveCount >= 1)
            session.agent.cancelAll()
        }
    }

    // MARK: Detached runs

    @Test func aDetachedRunStartedInAnEndedBagLeavesTheAgent() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let bag = DeallocBag()
            bag.end()
            detached(session, trace).start(in: bag)
            await trace.wait(for: 1)
            session.lane.enqueue(.work { trace.add("through") })
            await trace.wait(for: 2)
            #expect(session.agent.liveCount == 0)
            #expect(stage.started.isEmpty)
            // Else this test would never end.
            if session.agent.liveCount != 0 { for run in session.agent.liveRuns() { run.retire() } }
        }
    }

    @Test func aDetachedRunStaysInTheAgentUntilItsLastWordIsSaid() async throws {
        let queue = DispatchQueue(label: "held")
        let stage = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: stage, agent: RequestAgent(), deliveryQueue: queue))
        let trace = Trace()
        let bag = DeallocBag()
        let agent = session.agent
        session.request("http://h/").options { $0.release = .detached }
            .onEnd { _ in trace.add("end, \(agent.liveCount) alive") }.start(in: bag)
        await stage.waitForStarts(1)
        queue.suspend()
        stage.succeed(stage.started[0])
        bag.end()
        queue.resume()
        await trace.wait(for: 1)
        #expect(trace.lines == ["end, 1 alive"])
        await agent.waitUntilIdle()
    }

    @Test(arguments: [RaceStep.beforeQueue, .beforeTransfer, .transferStarted])
    func anExplicitCancelOfADetachedRunIsNotLostBetweenStages(step: RaceStep) async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let bag = DeallocBag()
            let ambush = Ambush(step, of: session) { run in
                bag.end()
                for core in session.agent.liveRuns() where core.id == run { _ = core.cancel(.explicit) }
            }
            detached(session, trace).start(in: bag)
            await trace.wait(for: 1)
            for started in stage.started {
                #expect(stage.cancelled.contains(started.transfer.id), "the transfer goes on")
                stage.succeed(started)
            }
            _ = ambush
        }
    }

    @Test func theAgentsCancelStopsDetachedTransfersToo() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            detached(session, Trace()).start(in: bag)
            await stage.waitForStarts(1)
            bag.end()
            #expect(stage.cancelled.isEmpty)
            session.agent.cancelAll()
            #expect(stage.cancelled.count == 1)
            for started in stage.started { stage.succeed(started) }
        }
    }

    @Test func aDetachedRunThatWasSuspendedCanBeResumed() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            let ambush = Ambush(.beforeTransfer, of: session) { run in
                for core in session.agent.liveRuns() where core.id == run { _ = core.setSuspended(true) }
            }
            let run = detached(session, Trace()).start(in: bag)
            #expect(stage.started.isEmpty)
            bag.end()
            #expect(run.resume())
            #expect(stage.started.count == 1)
            for started in stage.started { stage.succeed(started) }
            if stage.started.isEmpty { run.core.retire() }
            _ = ambush
        }
    }

    // MARK: Waits

    private func waiting(_ timing: ManualClock, queue: Duration? = nil, retries: Bool = false) -> (inout Session.Configuration) -> Void {
        { configuration in
            configuration.timing = timing
            configuration.limits.perHost = 1
            configuration.options.timeouts.queue = queue
            if retries { configuration.options.retry = .standard }
            configuration.random = { 0.5 }
        }
    }

    @Test func aQueueTimerThatComesAfterTheCancelIsTakenBack() async throws {
        let timing = ManualClock()
        try await withStage(waiting(timing, queue: .seconds(5))) { session, stage in
            session.request("http://h/").start()
            let ambush = Ambush(.queued, of: session) { run in
                for core in session.agent.liveRuns() where core.id == run { _ = core.cancel(.explicit) }
            }
            session.request("http://h/").start()
            #expect(timing.armedCount == 0)
            for started in stage.started { stage.succeed(started) }
            _ = ambush
        }
        #expect(timing.armedCount == 0)
    }

    @Test(arguments: [RaceStep.queued, .queueTimed])
    func aLateQueueTimerDoesNotTakeAwayTheRetry(step: RaceStep) async throws {
        let timing = ManualClock()
        try await withStage(waiting(timing, queue: .seconds(500), retries: true)) { session, stage in
            let trace = Trace()
            session.request("http://h/").start()
            let ambush = Ambush(step, of: session) { _ in
                // All this while the starting thread stands still.
                stage.succeed(stage.started[0])
                stage.succeed(stage.started[1], status: 503)
            }
            session.request("http://h/").onSuccess { _ in trace.add("success") }.start()
            #expect(timing.armedCount == 1)
            timing.fireNext()
            #expect(stage.started.count == 3)
            if stage.started.count == 3 { stage.succeed(stage.started[2]) } else { session.agent.cancelAll() }
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["success"])
            _ = ambush
        }
    }

    @Test func aCancelIsNotLostWhenARetryTimerFiresAtOnce() async throws {
        let timing = ManualClock()
        try await withStage(waiting(timing, retries: true)) { session, stage in
            let run = session.request("http://h/").start()
            let isShut = DispatchSemaphore(value: 0)
            let mayGoOn = DispatchSemaphore(value: 0)
            let isThrough = DispatchSemaphore(value: 0)
            let second = Ambush(.gateShut, of: session) { _ in
                isShut.signal()
                mayGoOn.wait()
            }
            let first = Ambush(.retryWaiting, of: session) { _ in
                timing.fireNext()
                Thread.detachNewThread {
                    run.cancel()
                    isThrough.signal()
                }
                isShut.wait()
            }
            stage.succeed(stage.started[0], status: 503)
            mayGoOn.signal()
            isThrough.wait()
            #expect(stage.started.count == 2)
            #expect(stage.cancelled.contains(stage.started[1].transfer.id))
            for started in stage.started { stage.succeed(started) }
            _ = (first, second)
        }
    }

    // MARK: Suspending

    /// A transport that lets a resume overtake the suspension.
    @Test func aResumeThatOvertakesTheSuspensionIsNotLost() async throws {
        try await withStage { session, stage in
            let ambush = Ambush(.transferStarted, of: session) { run in
                guard let core = session.agent.liveRuns().first(where: { $0.id == run }) else { return }
                stage.onSuspend.withLock { $0 = { _ = core.setSuspended(false) } }
                _ = core.setSuspended(true)
            }
            session.request("http://h/").start()
            #expect(stage.suspended.isEmpty)
            for started in stage.started { stage.succeed(started) }
            _ = ambush
        }
    }

    // MARK: The ending

    @Test func aRunThatEndedCanBePutInABagWithoutLeaking() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            weak var core: RunDriver?
            do {
                let run = session.request("http://h/").start()
                stage.succeed(stage.started[0])
                await session.agent.waitUntilIdle()
                #expect(bag.insert(run) == false)
                core = run.core
            }
            #expect(core == nil)
            #expect(bag.count == 0)
        }
    }

    @Test func aTransferThatEndsWithNothingIsAFailure() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            session.request("http://h/").onFailure { trace.add("failure \($0.code)") }.start()
            stage.finish(stage.started[0], TransferResult())
            session.lane.enqueue(.work { trace.add("through") })
            await trace.wait(for: 1)
            #expect(trace.lines.first == "failure \(NetworkError.Code.badResponse)")
            if trace.lines.first == "through" { session.agent.cancelAll() }
        }
    }

    @Test func closuresAreGoneBeforeTheAgentLetsGo() async throws {
        try await withStage { session, stage in
            weak var probe: Canary?
            let wasAlive = Lock<[Bool]>([])
            let weakProbe: @Sendable () -> Bool
            let request = session.request("http://h/")
            do {
                let canary = Canary()
                probe = canary
                let reference = WeakReference(canary)
                weakProbe = { reference.object != nil }
                _ = request.onSuccess { _ in _ = canary }.onEnd { _ in _ = canary }
            }
            let ambush = Ambush(.beforeEnd, of: session) { _ in wasAlive.withLock { $0.append(weakProbe()) } }
            request.start()
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(wasAlive.withLock { $0 } == [false])
            _ = (probe, ambush)
        }
    }

    // MARK: Cancelling while a call runs

    @Test func aCancelInsideAProgressCallStopsTheTransferAtOnce() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let request = session.request("http://h/")
            _ = request.onDownloadProgress { _ in
                #expect(request.cancel() == .callbackRunning)
                trace.add("cancelled \(stage.cancelled.count)")
            }
            request.start()
            stage.received(stage.started[0], 1, of: 2)
            await trace.wait(for: 1)
            #expect(trace.lines == ["cancelled 1"])
        }
    }

    // MARK: Large bags

    @Test func aRunInALargeBagThatEndedGoesNoFurther() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            // The background that would shut the single gates has other things to do.
            let release = DispatchSemaphore(value: 0)
            let isBusy = DispatchSemaphore(value: 0)
            let workers = 64
            for _ in 0..<300 { bag.insert(AnyCancellable {}) }
            let ambush = Ambush(.beforeStart, of: session) { _ in
                WorkPool.shared.submit(
                    (0..<workers).map { _ in
                        {
                            isBusy.signal(); release.wait()
                        }
                    })
                isBusy.wait()
                isBusy.wait()
                bag.end()
            }
            session.request("http://h/").start(in: bag)
            #expect(stage.started.isEmpty)
            for _ in 0..<workers { release.signal() }
            _ = ambush
        }
    }
}
