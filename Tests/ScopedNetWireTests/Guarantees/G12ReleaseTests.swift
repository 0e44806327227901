import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// G12: release strategies; the whole truth table.
@Suite(.leavesNothing) struct G12ReleaseTests {
    enum Event: CaseIterable { case handleDropped, bagEnded }

    // YB-4, defect 19
    @Test(arguments: [ReleaseStrategy.untilFinished, .cancelOnRelease, .detached], Event.allCases)
    func truthTable(strategy: ReleaseStrategy, event: Event) async throws {
        try await withStage { session, stage in
            let trace = Trace()
            var bag: DeallocBag? = DeallocBag()
            var request: Request<Data>? = session.request("http://h/").options { $0.release = strategy }
                .onSuccess { _ in trace.add("success") }
                .onEnd { trace.add($0.isCancelled ? "cancelled" : "ended") }
            var run: Run? = request!.start(in: bag!)
            await stage.waitForStarts(1)
            switch event {
            case .handleDropped: request = nil; run = nil
            case .bagEnded: bag = nil
            }
            let goesOn = stage.cancelled.isEmpty
            if goesOn { stage.succeed(stage.started[0]) }
            await session.agent.waitUntilIdle()
            switch (strategy, event) {
            case (.untilFinished, .handleDropped), (.detached, .handleDropped): #expect(trace.lines == ["success", "ended"])
            case (.untilFinished, .bagEnded), (.cancelOnRelease, _):
                #expect(!goesOn)
                #expect(trace.lines == ["cancelled"])
            case (.detached, .bagEnded):
                #expect(goesOn)
                #expect(trace.lines == ["cancelled"])
            }
            _ = (bag, request, run)
        }
    }

    // YB-4, SES-15, defect 59
    @Test func aDetachedDownloadStillReachesItsFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "scopednet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        final class Ends: RequestObserver {
            let trace = Trace()
            func observe(_ event: RequestEvent) {
                if case .finished(let completion) = event.kind { trace.add("finished \(completion.error == nil)") }
            }
        }
        let ends = Ends()
        try await withHouse(.init(), { $0.observers = [ends] }) { house in
            house.server.on("/f", ScriptedResponse(body: .repeating(65, count: 300_000)).stalling(.afterBytes(100_000)))
            let target = folder.appending(path: "file")
            let trace = Trace()
            var bag: DeallocBag? = DeallocBag()
            house.session.download(house.url("/f"), to: target).options { $0.release = .detached }
                .onSuccess { _ in trace.add("success") }.onEnd { trace.add("end \($0.isCancelled)") }.start(in: bag!)
            try await house.server.waitForStalls()
            bag = nil
            await trace.wait(for: 1)
            #expect(house.agent.liveCount == 1)
            house.server.releaseStalls()
            await house.agent.waitUntilIdle()
            #expect(trace.lines == ["end true"])
            #expect(ends.trace.lines == ["finished true"])
            #expect(try Data(contentsOf: target).count == 300_000)
            _ = bag
        }
    }

    @Test func anExplicitCancelStopsADetachedTransferToo() async throws {
        try await withStage { session, stage in
            var bag: DeallocBag? = DeallocBag()
            let run = session.request("http://h/").options { $0.release = .detached }.start(in: bag!)
            await stage.waitForStarts(1)
            bag = nil
            #expect(stage.cancelled.isEmpty)
            #expect(session.agent.liveCount == 1)
            run.cancel()
            await session.agent.waitUntilIdle()
            #expect(stage.cancelled.count == 1)
            _ = bag
        }
    }
}
