import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A download that is cancelled leaves its part, whatever the reason and wherever it was (G5, G12; YTK-12, SES-4).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct ResumeCancelTests {
    private let body = bytes(1000)

    private func waitForPart(_ wire: ResumeWire, _ count: Int) async throws {
        for _ in 0..<2_000 where wire.part?.count != count { try await Task.sleep(for: .milliseconds(1)) }
        #expect(wire.part?.count == count)
    }

    @Test(arguments: ["explicit", "bag", "task", "released", "agent"])
    func everyReasonLeavesThePart(_ reason: String) async throws {
        try await withResumeWire { wire async throws in
            wire.server.enqueue(tagged(body).stalling(.afterBytes(400)), for: "/")
            wire.server.on("/", tagged(body))
            var bag: DeallocBag? = DeallocBag()
            var request: Request<URL>? = wire.download { if reason == "released" { $0.release = .cancelOnRelease } }
            var run: Run?
            var task: Task<Void, Never>?
            if reason == "task" {
                task = Task { [request] in _ = await request?.outcome() }
            } else {
                run = request?.start(in: bag ?? DeallocBag())
            }
            try await wire.server.waitForStalls()
            try await waitForPart(wire, 400)
            switch reason {
            case "explicit": run?.cancel()
            case "bag": bag = nil
            case "task": task?.cancel()
            case "agent": wire.wire.agent.cancelAll()
            default: break
            }
            (request, run) = (nil, nil)
            await wire.wire.agent.waitUntilIdle()
            _ = try await wire.download().value()
            #expect(wire.latest("range") == "bytes=400-")
            #expect(wire.content == body && wire.folder.names == ["file"])
            withExtendedLifetime(bag) {}
        }
    }

    /// The gates close, and the file comes all the same.
    @Test func aDetachedDownloadGoesOn() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body).stalling(.afterBytes(400)))
            var bag: DeallocBag? = DeallocBag()
            wire.download { $0.release = .detached }.start(in: bag ?? DeallocBag())
            try await wire.server.waitForStalls()
            bag = nil
            let refused = try await wire.download().failure()
            #expect(refused.code == .targetInUse, "it is still downloading")
            wire.server.releaseStalls()
            await wire.wire.agent.waitUntilIdle()
            #expect(wire.content == body && wire.folder.names == ["file"])
            withExtendedLifetime(bag) {}
        }
    }

    /// Cancels at one step of a download that goes on, from inside the thread that takes it.
    @Test(arguments: [
        (Step.targetAsked, 0), (.targetClaimed, 0), (.beforeQueue, 0), (.beforeTransfer, 0), (.transferStarted, 1), (.headReceived, 1),
        (.partDropped, 1), (.beforeDecode, 2),
    ])
    func noStageFollowsACancel(_ step: Step, requests: Int) async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            // One that does not fit, so that each step is met.
            wire.server.enqueue(.status(416), for: "/")
            wire.server.on("/", tagged(body))
            let before = wire.server.requests.count
            let (trace, hits) = (Trace(), Counter())
            let request = wire.download().onSuccess { _ in trace.add("success") }.onFailure { trace.add("failure \($0)") }
                .onEnd { trace.add("end \($0.isCancelled)") }
            let agent = wire.wire.agent
            let visitor = StepDoor.add { taken, run in
                guard taken == step, agent.liveRuns().contains(where: { $0.id == run }), hits.value == 0 else { return }
                hits.add()
                request.cancel()
            }
            request.start()
            await agent.waitUntilIdle()
            StepDoor.remove(visitor)
            #expect(hits.value == 1, "the run never met \(step)")
            #expect(trace.lines == ["end true"])
            #expect(wire.server.requests.count - before <= requests)
            #expect(wire.content == nil)
            // Whatever is left, the file is right in the end.
            _ = try await wire.download().value()
            #expect(wire.content == body && wire.folder.names == ["file"])
        }
    }

    /// While it waits for another one to let go.
    @Test func aCancelWhileItWaitsForTheTarget() async throws {
        try await withResumeWire { wire async throws in
            let names = try #require(PartNames(target: wire.file.path))
            let target = try #require(DownloadTarget(names))
            guard case .granted(let claim) = DownloadClaims.shared.claim(target, DownloadPart(names), run: 0, isLeaving: { true }) else {
                throw UnexpectedSuccess()
            }
            wire.server.on("/", tagged(body))
            let waits = Latch()
            let visitor = StepDoor.add { step, _ in if step == .retryWaiting { waits.open() } }
            let request = wire.download()
            let run = request.start()
            await waits.wait()
            StepDoor.remove(visitor)
            let result = await run.cancelAndWait()
            #expect(result == .cancelled)
            await wire.wire.agent.waitUntilIdle()
            #expect(wire.server.requests.isEmpty)
            // The next one waits, and has its turn.
            async let value = request.value()
            claim.end()
            _ = try await value
            #expect(wire.content == body)
        }
    }
}
