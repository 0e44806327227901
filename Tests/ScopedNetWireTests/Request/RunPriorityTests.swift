import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// ``Run/setPriority(_:)``, ``RequestAgent/run(id:)`` and ``RequestAgent/runs(tag:)`` (CT-6).
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct RunPriorityTests {
    @Test func aRunThatWaitsIsMovedUpAndDown() async throws {
        try await withWire {
            $0.limits.perHost = 1
        } _: { wire async throws in
            wire.server.on("/first", ScriptedResponse.ok("x").stalling(.beforeHead))
            for path in ["/a", "/b", "/c"] { wire.server.on(path, .ok("x")) }
            let ended = Gathered<String>()
            let first = wire.get("/first").onEnd { _ in ended.add("first") }.start()
            try await wire.server.waitForRequests(1)
            let runs = ["/a", "/b", "/c"].map { path in wire.get(path).onEnd { _ in ended.add(path) }.start() }
            #expect(runs.allSatisfy { $0.status.stage == .queued && $0.priority == .normal })
            runs[2].setPriority(.veryHigh)
            runs[0].setPriority(.low)
            #expect(runs[2].priority == .veryHigh && runs[0].priority == .low)
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            #expect(wire.server.requests.map(\.path) == ["/first", "/c", "/b", "/a"])
            #expect(ended.all.count == 4)
            // Of no effect any more.
            first.setPriority(.high)
        }
    }

    @Test func runsAreFoundByIDAndByTag() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse.ok("x").stalling(.beforeHead))
            let (one, two, three) = (wire.get().tag("a").start(), wire.get().tag("b").start(), wire.get().tag("a").start())
            #expect(wire.agent.run(id: two.id)?.id == two.id && two.tag == "b")
            #expect(wire.agent.runs(tag: "a").map(\.id) == [one.id, three.id])
            #expect(wire.agent.runs().map(\.id) == [one.id, two.id, three.id])
            #expect(wire.agent.run(id: three.id)?.cancel() == .cancelled)
            #expect(wire.agent.runs(tag: "none").isEmpty)
            for run in wire.agent.runs() { run.cancel() }
            await wire.agent.waitUntilIdle()
            #expect(wire.agent.run(id: one.id) == nil && wire.agent.runs().isEmpty)
        }
    }
}
