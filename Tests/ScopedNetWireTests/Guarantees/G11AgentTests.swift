import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@_spi(Transport) @testable import ScopedNet

/// G11: the agent retains a run from start to end, never the handle.
@Suite(.leavesNothing) struct G11AgentTests {
    // YTK-5, CT-8
    @Test func aTemporaryRequestIsSafe() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("hello"))
            let trace = Trace()
            weak var weakRequest: Request<Data>?
            do {
                let request = house.session.request(house.url("/a")).onSuccess { trace.add("success \($0.count)") }
                weakRequest = request
                request.start()
            }
            #expect(weakRequest == nil, "the agent holds the handle")
            await house.agent.waitUntilIdle()
            #expect(trace.lines == ["success 5"])
        }
    }

    // Defect 14
    @Test func idleMeansNoUserCodeIsPendingAndNothingIsAlive() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("x"))
            for _ in 0..<20 {
                let trace = Trace()
                weak var weakRun: RunDriver?
                do {
                    weakRun =
                        house.session.request(house.url("/a")).onSuccess { _ in trace.add("s") }.onEnd { _ in trace.add("e") }.start()
                        .core
                }
                await house.agent.waitUntilIdle()
                #expect(trace.lines == ["s", "e"])
                #expect(weakRun == nil)
            }
        }
    }

    /// Dies with the run that holds it, and notes whether the agent still counted that run.
    private final class Witness: Sendable {
        let agent: RequestAgent
        let trace: Trace

        init(_ agent: RequestAgent, _ trace: Trace) {
            self.agent = agent
            self.trace = trace
        }

        deinit { trace.add("counted \(agent.liveCount)") }
    }

    private struct Listener: RequestObserver {
        let heard = Counter()
        func observe(_ event: RequestEvent) { heard.add() }
    }

    enum Ending: CaseIterable { case success, failure, observed }

    /// SES-3: not one moment earlier: who waited for `waitUntilIdle()` may tear down what the run's options hold.
    @Test(arguments: Ending.allCases) func theAgentCountsARunUntilItIsDestroyed(ending: Ending) async throws {
        let listener = Listener()
        try await withHouse {
            if ending == .observed { $0.observers = [listener] }
        } _: { house async throws in
            let response: ScriptedResponse = ending == .failure ? .status(500) : .ok("x")
            house.server.on("/a", response.stalling(.afterBytes(0)))
            let trace = Trace()
            start(house, ending, trace)
            // The handle is gone and nothing has come yet: only the library holds the run, and the run the witness.
            try await house.server.waitForStalls()
            house.server.releaseStalls()
            await house.agent.waitUntilIdle()
            #expect(trace.lines == ["counted 1"])
        }
        #expect((listener.heard.value > 0) == (ending == .observed))
    }

    private func start(_ house: House, _ ending: Ending, _ trace: Trace) {
        let witness = Witness(house.agent, trace)
        let request = house.session.request(house.url("/a")).options {
            $0.hooks.shouldCache = { _, _ in
                withExtendedLifetime(witness) {}
                return true
            }
        }
        switch ending {
        case .success, .observed: request.onSuccess { _ in }.start()
        case .failure: request.onFailure { _ in }.start()
        }
    }

    // YTK-8, SES-3
    @Test func agentsAreIndependentAndFindByTag() async throws {
        try await withStage { session, stage in
            let other = Session(configuration: .init(customTransport: stage, agent: RequestAgent()))
            let trace = Trace()
            session.request("http://h/").options { $0.tag = "feed" }.onEnd { _ in trace.add("feed") }.start()
            session.request("http://h/").options { $0.tag = "search" }.onEnd { _ in trace.add("search") }.start()
            other.request("http://h/").onEnd { _ in trace.add("other") }.start()
            #expect(session.agent.liveCount == 2)
            #expect(session.agent.cancelAll(tag: "feed").cancelled == 1)
            await trace.wait(for: 1)
            #expect(trace.lines == ["feed"])
            session.agent.cancelAll()
            await session.agent.waitUntilIdle()
            #expect(other.agent.liveCount == 1)
            other.agent.cancelAll()
            await other.agent.waitUntilIdle()
        }
    }
}
