import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// What holds for all deciding hooks: cancels, owners, places, and what is left of them (SES-11).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct HookLifetimeTests {
    /// A server that redirects `/old` to `/new`, and answers there.
    private func withRedirect(
        _ configure: (inout Session.Configuration) throws -> Void = { _ in }, _ test: (Wire) async throws -> Void
    ) async throws {
        try await withWire(configure: configure) { wire in
            wire.server.on("/old", .redirect(to: "/new"))
            wire.server.on("/new", .ok("there"))
            try await test(wire)
        }
    }

    // Defect 23
    @Test(arguments: FrontDoor.allCases)
    func aCancelDoesNotWaitForAHook(door: FrontDoor) async throws {
        try await withRedirect { wire in
            let (asked, never) = (Latch(), Latch())
            let wasCancelled = Latch()
            let request = wire.get("/old").decideRedirect { _ in
                asked.open()
                // Deaf to the cancellation of its task, of which it hears all the same.
                await withTaskCancellationHandler {
                    await never.wait()
                } onCancel: {
                    wasCancelled.open()
                }
                return .follow
            }
            let report = try await door.send(request) { handle in
                await asked.wait()
                handle.cancel()
                await wasCancelled.wait()
            }
            #expect(report.outcome == .cancelled(door.ownReason))
            #expect(wire.server.requests.count == 1)
            // Its late answer reaches nobody.
            never.open()
            #expect(wire.agent.liveCount == 0)
        }
    }

    @Test(arguments: [Step.redirectDecided, .retryWaiting, .hookAnswered])
    func noHopFollowsACancel(step: Step) async throws {
        try await withRedirect { wire in
            let hits = Counter()
            let trace = Trace()
            let number = StepDoor.add { taken, run in
                guard taken == step, let mine = wire.agent.liveRuns().first(where: { $0.id == run }) else { return }
                hits.add()
                _ = mine.cancel(.explicit)
            }
            defer { StepDoor.remove(number) }
            wire.get("/old").decideRedirect { _ in
                trace.add("asked")
                return .follow
            }.onSuccess { _ in trace.add("success") }.onFailure { _ in trace.add("failure") }.onEnd { trace.add("end \($0.isCancelled)") }
                .start()
            await wire.agent.waitUntilIdle()
            #expect(hits.value >= 1)
            #expect(trace.lines == (step == .hookAnswered ? ["asked", "end true"] : ["end true"]))
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test func aBagEndsARunWhoseHookDecides() async throws {
        try await withRedirect { wire in
            let (asked, never) = (Latch(), Latch())
            var bag: DeallocBag? = DeallocBag()
            let reasons = Gathered<CancelReason?>()
            wire.get("/old").decideRedirect { _ in
                asked.open()
                await never.wait()
                return .follow
            }.onEnd { reason in
                if case .cancelled(let why) = reason { reasons.add(why) } else { reasons.add(nil) }
            }.start(in: bag!)
            await asked.wait()
            bag = nil
            await wire.agent.waitUntilIdle()
            never.open()
            #expect(reasons.all == [.ownerReleased])
            #expect(wire.server.requests.count == 1)
        }
    }

    // Defect 23
    @Test func theTotalTimeGoesOnWhileAHookDecides() async throws {
        try await withRedirect { wire in
            let never = Latch()
            let request = wire.get("/old") { $0.timeouts.total = .seconds(1) }.decideRedirect { _ in
                await never.wait()
                return .follow
            }
            let error = try await request.failure()
            never.open()
            #expect(error.code == .totalTimeout)
            #expect(wire.server.requests.count == 1)
        }
    }

    /// Whatever a hook does to its own run, that ends once.
    @Test func aHookMayCancelItsRunOrDropItsOwner() async throws {
        try await withRedirect { wire in
            let ends = Trace()
            let bag = DeallocBag()
            wire.get("/old").decideRedirect { _ in
                bag.cancelAll()
                return .follow
            }.onEnd { ends.add("redirect \($0.isCancelled)") }.start(in: bag)
            await wire.agent.waitUntilIdle()
            wire.get("/new").decideDisposition { _ in
                bag.cancelAll()
                return .allow
            }.onEnd { ends.add("disposition \($0.isCancelled)") }.start(in: bag)
            await wire.agent.waitUntilIdle()
            #expect(ends.lines == ["redirect true", "disposition true"])

            let page = Page()
            page.load(wire)
            await wire.agent.waitUntilIdle()
            #expect(page.isGone)
            #expect(wire.server.requests.map(\.path) == ["/old", "/new", "/old"])
        }
    }

    /// Holds the last reference to an owner, which its hook lets go.
    private final class Page: Sendable {
        private final class Model: RequestOwner, Sendable {
            let deallocBag = DeallocBag()
        }
        private let model = Lock<Model?>(Model())
        private let seen = Lock<WeakReference<Model>?>(nil)
        var isGone: Bool { seen.withLock { $0 }?.object == nil }

        func load(_ wire: Wire) {
            guard let owner = model.withLock({ $0 }) else { return }
            seen.withLock { $0 = WeakReference(owner) }
            wire.get("/old").decideRedirect(for: owner) { [self] _, _ in
                let last = model.withLock { model in
                    defer { model = nil }
                    return model
                }
                _ = last
                return .follow
            }.start(for: owner)
        }
    }

    // MARK: Owners and places

    private final class Owner: Sendable {
        let name: String
        init(_ name: String) { self.name = name }
    }

    @Test func anOwnerIsHandedOverAndOneThatIsGoneIsNotAsked() async throws {
        try await withRedirect { wire in
            let trace = Trace()
            let owner = Owner("here")
            let first = try await wire.get("/old").decideRedirect(for: owner) { owner, _ in
                trace.add(owner.name)
                return .stop
            }.failure()
            #expect(first.code == .unacceptableStatus)
            let request = wire.get("/old")
            do {
                let gone = Owner("gone")
                _ = request.decideRedirect(for: gone) { owner, _ in
                    trace.add(owner.name)
                    return .stop
                }
            }
            // As without a hook.
            #expect(try await request.value() == Data("there".utf8))
            #expect(trace.lines == ["here"])
        }
    }

    @Test @MainActor func aHookRunsWhereItIsWritten() async throws {
        try await withRedirect { wire in
            let onMain = Gathered<Bool>()
            _ = try await wire.get("/old").decideRedirect { _ in
                MainActor.assertIsolated()
                onMain.add(true)
                return .follow
            }.value()
            let counting = CountingActor()
            _ = try await wire.get("/old").decideRedirect(for: counting) { counting, _ in
                counting.count += 1
                return .follow
            }.value()
            #expect(onMain.all == [true])
            let count = await counting.count
            #expect(count == 1)
        }
    }

    private actor CountingActor {
        var count = 0
    }

    /// G4: the cancel comes after the question was put and before the actor got to it.
    @Test @MainActor func afterACancelOnItsActorAHookIsNotCalled() async throws {
        try await withRedirect { wire in
            let trace = Trace()
            let waiting = DispatchSemaphore(value: 0)
            let number = StepDoor.add { step, run in
                if step == .retryWaiting, wire.agent.liveRuns().contains(where: { $0.id == run }) { waiting.signal() }
            }
            defer { StepDoor.remove(number) }
            let run = wire.get("/old").decideRedirect { _ in
                trace.add("asked")
                return .follow
            }.start()
            // The main actor is held, and the hook on its way to it.
            blockUntil(waiting)
            usleep(20_000)
            let result = run.cancel()
            #expect(result == .cancelled)
            await wire.agent.waitUntilIdle()
            #expect(trace.lines.isEmpty)
        }
    }

    private func blockUntil(_ semaphore: DispatchSemaphore) { semaphore.wait() }

    // MARK: What is left

    enum Ending: CaseIterable { case success, failure, cancel, bagThatEnded, refused, neverAsked }

    /// G6, for hooks.
    @Test(arguments: Ending.allCases)
    func afterTheEndNothingCapturedIsAlive(ending: Ending) async throws {
        // Who puts a question may be on the way back when the run is over: seen once in some tens of runs.
        try await withRedirect { wire in for _ in 0..<40 { try await expectNothingIsLeft(wire, ending) } }
    }

    private func expectNothingIsLeft(_ wire: Wire, _ ending: Ending) async throws {
        weak var weakProbe: Canary?
        let aliveInEnd = Lock<Bool?>(nil)
        let bag = DeallocBag()
        let request: Request<Data>
        do {
            let probe = Canary()
            weakProbe = probe
            let reference = WeakReference(probe)
            request = wire.get(ending == .neverAsked ? "/new" : "/old") { $0.repeats = .keepRunning }
            if ending == .refused { request.start() }
            _ = request.decideRedirect { _ in
                _ = probe
                if ending == .failure { throw CancellationError() }
                return .follow
            }.decideDisposition { _ in
                _ = probe
                return .allow
            }.provideBody { _ in
                _ = probe
                return nil
            }.onEnd { _ in aliveInEnd.withLock { $0 = reference.object != nil } }
        }
        #expect(weakProbe != nil)
        if ending == .bagThatEnded { bag.end() }
        let run = request.start(in: bag)
        if ending == .cancel {
            run.cancel()
            #expect(weakProbe == nil, "destroyed before cancel() returned")
        }
        await wire.agent.waitUntilIdle()
        #expect(weakProbe == nil)
        if ending != .refused { #expect(aliveInEnd.withLock { $0 } == false, "destroyed before onEnd") }
    }

    @Test func aDetachedRunWhoseOwnerIsGoneAsksNobody() async throws {
        let trace = Trace()
        try await withRedirect {
            $0.options.hooks.redirect = { _ in
                trace.add("session")
                return .stop
            }
        } _: { wire in
            wire.server.on("/slow", .redirect(to: "/new").stalling(.beforeHead))
            let bag = DeallocBag()
            wire.get("/slow") { $0.release = .detached }.decideRedirect { _ in
                trace.add("request")
                return .stop
            }.onEnd { trace.add("end \($0.isCancelled)") }.start(in: bag)
            try await wire.server.waitForStalls()
            bag.end()
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            #expect(trace.lines == ["end true"])
            #expect(wire.server.requests.map(\.path) == ["/slow", "/new"])
        }
    }

    /// The hot path: nothing of hooks is made for who has none.
    @Test func withoutHooksNothingIsMadeAndNobodyAsked() async throws {
        try await withRedirect { wire in
            let extras = Counter()
            let number = StepDoor.add { step, run in
                guard step == .beforeStart || step == .hookAnswered, let core = wire.agent.liveRuns().first(where: { $0.id == run }) else {
                    return
                }
                if step == .hookAnswered || core.extras.extras != nil { extras.add() }
            }
            defer { StepDoor.remove(number) }
            let value = try await wire.get("/old").value()
            #expect(value == Data("there".utf8))
            #expect(extras.value == 0)
            #expect(RequestHooks().box == nil)
            #expect(MemoryLayout<RequestHooks>.size == MemoryLayout<Int>.size)
        }
    }
}
