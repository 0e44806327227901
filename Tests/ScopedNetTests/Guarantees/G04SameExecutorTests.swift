import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// G4: on the delivery executor, a cancel or a bag's end leaves nothing running and nothing to come.
@Suite(.leavesNothing) struct G04SameExecutorTests {
    @MainActor final class Model {
        var bag: DeallocBag? = DeallocBag()
        var heard: [String] = []
    }

    @Test(arguments: [true, false]) @MainActor
    func onTheMainActorNothingFollows(byBag: Bool) async throws {
        let transport = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: transport, agent: RequestAgent()))
        let model = Model()
        var runs: [Run] = []
        for _ in 0..<50 {
            runs.append(
                session.request("http://h/").onSuccess(for: model) { model, _ in model.heard.append("late") }.start(in: model.bag!))
        }
        await transport.waitForStarts(6)
        // Results of the first six are on their way to this very actor.
        for started in transport.started { transport.succeed(started) }
        let before = model.heard.count
        if byBag { model.bag = nil } else { for run in runs { #expect(run.cancel() != .callbackRunning) } }
        await session.agent.waitUntilIdle()
        #expect(model.heard.count == before)
        #expect(before == 0)
    }
}
