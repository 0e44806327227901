import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// G7: no user code under a lock, none from within `start`, `add` or `cancel`, none on the network thread.
@Suite(.leavesNothing) struct G07NoUserCodeInsideTests {
    /// Its deinit comes back through every door: a lock held while it dies would dead-lock or trap.
    final class Reentrant: Sendable {
        let session: Session
        let bag: DeallocBag
        let trace: Trace
        init(_ session: Session, _ bag: DeallocBag, _ trace: Trace) {
            self.session = session
            self.bag = bag
            self.trace = trace
        }
        deinit {
            _ = bag.count
            bag.insert(AnyCancellable {})
            bag.cancelAll()
            _ = session.agent.liveCount
            session.agent.cancelAll(tag: "nobody")
            session.request("http://h/again").options { $0.tag = "again" }.start(in: bag)
            trace.add("deinit")
        }
    }

    @Test(arguments: ["cancel", "bag end", "success", "agent"])
    func aCaptureThatDiesMayComeBackThroughAnyDoor(how: String) async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let bag = DeallocBag()
            let request = session.request("http://h/")
            do {
                let captured = Reentrant(session, bag, trace)
                _ = request.onSuccess { _ in _ = captured }
            }
            let run = request.start(in: bag)
            await stage.waitForStarts(1)
            switch how {
            case "cancel": run.cancel()
            case "bag end": bag.end()
            case "agent": session.agent.cancelAll()
            default: stage.succeed(stage.started[0])
            }
            await trace.wait(for: 1)
            session.agent.cancelAll()
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["deinit"])
        }
    }

    // SES-7, defect 27
    @Test func nothingIsCalledInsideStart() async throws {
        try await withStage { session, _ in
            let isInside = Lock(true)
            let trace = Trace()
            session.configuration.deliveryQueue.suspend()
            session.request("not a url").onFailure { _ in trace.add(isInside.withLock { $0 } ? "inside" : "later") }.start()
            isInside.withLock { $0 = false }
            session.configuration.deliveryQueue.resume()
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["later"])
        }
    }

    // THR-1
    @Test func callbacksNeverRunOnTheNetworkThread() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("x"))
            let names = Lock<Set<String>>([])
            @Sendable func note() {
                let text =
                    (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8))?.trimmingCharacters(in: .newlines) ?? "?"
                names.withLock { _ = $0.insert(text) }
            }
            for _ in 0..<20 {
                let probe = DeathNote(note)
                house.session.request(house.url("/a"))
                    .onResponseHead { _ in note() }.onDownloadProgress { _ in note() }
                    .onSuccess { _ in
                        note(); _ = probe
                    }.onEnd { _ in note() }.start()
            }
            await house.agent.waitUntilIdle()
            #expect(!names.withLock { $0 }.isEmpty)
            #expect(!names.withLock { $0 }.contains("scopednet"))
        }
    }

    final class DeathNote: Sendable {
        let note: @Sendable () -> Void
        init(_ note: @escaping @Sendable () -> Void) { self.note = note }
        deinit { note() }
    }

    // Defect 16
    @Test func startingCancellingAndDroppingInsideACallbackWorks() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("x"))
            let trace = Trace()
            let bag = Lock<DeallocBag?>(DeallocBag())
            let other = house.session.request(house.url("/a")).onEnd { _ in trace.add("other ended") }.start()
            let request = house.session.request(house.url("/a"))
            request.onSuccess { [weak request] _ in
                _ = request?.onSuccess { _ in trace.add("second") }
                request?.start()
                other.cancel()
                let dropped = bag.withLock { bag in
                    defer { bag = nil }
                    return bag
                }
                _ = dropped
                trace.add("first")
            }.start(in: bag.withLock { $0! })
            await house.agent.waitUntilIdle()
            #expect(trace.count("first") == 1)
            #expect(trace.count("second") == 1)
            #expect(trace.count("other ended") == 1)
        }
    }
}
