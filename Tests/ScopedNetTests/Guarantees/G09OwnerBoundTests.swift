import CleanSlate
import Foundation
import Synchronization
import Testing

@testable import ScopedNet

/// G9: owner-bound calls never start once the owner's deinit began; the owner is held while one runs.
@Suite(.leavesNothing) struct G09OwnerBoundTests {
    final class Owner: Sendable {
        let isDying = Atomic<Bool>(false)
        let trace: Trace
        init(_ trace: Trace) { self.trace = trace }
        deinit { isDying.store(true, ordering: .relaxed) }
        func take(_ count: Int) { trace.add(isDying.load(ordering: .relaxed) ? "dying" : "alive") }
    }

    // Defect 18
    @Test func aDeadOwnerIsSkipped() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            var owner: Owner? = Owner(trace)
            session.request("http://h/").onSuccess(for: owner!) { $0.take($1.count) }.onEnd(for: owner!) { owner, _ in owner.take(0) }
                .onEnd { _ in trace.add("end") }.start()
            await stage.waitForStarts(1)
            owner = nil
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["end"])
        }
    }

    @Test func theLastReleaseRacesTheDelivery() async throws {
        try await withStage({ $0.limits.perHost = 100 }) { session, stage in
            let trace = Trace()
            for round in 0..<2_000 {
                var owner: Owner? = Owner(trace)
                session.request("http://h/").onSuccess(for: owner!) { $0.take($1.count) }.start()
                let started = stage.started[round]
                async let finish: Void = { stage.succeed(started) }()
                owner = nil
                await finish
            }
            await session.agent.waitUntilIdle()
            #expect(!trace.lines.contains("dying"))
        }
    }
}
