import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// Waits whose task is cancelled, and what the error of a cancelled request says.
@Suite(.leavesNothing) struct CancelledWaitTests {
    @Test func idleEndsWithItsTask() async throws {
        try await withStage { session, stage in
            let run = session.request("http://h/").start()
            await stage.waitForStarts(1)
            let waiting = Task { await session.agent.waitUntilIdle() }
            waiting.cancel()
            await waiting.value
            #expect(session.agent.liveCount == 1)
            _ = run.cancel()
        }
    }

    @Test func waitsForExchangesEndWithTheirTask() async throws {
        let transport = MockTransport()
        let waiting = Task { await transport.exchange(3) }
        waiting.cancel()
        let exchange = await waiting.value
        #expect(exchange.isEnded && transport.exchanges.isEmpty)
        exchange.respond(.status(200, "ignored"))
    }

    @Test func waitsOfTheOtherDoublesEndWithTheirTask() async throws {
        let (clock, connectivity, executor) = (ManualClock(), ManualConnectivity(), ManualExecutor())
        let waits = [
            Task { await clock.waitForTimers(1) }, Task { await connectivity.waitForWaiting(1) }, Task { await executor.waitForWork() },
        ]
        for wait in waits {
            wait.cancel()
            await wait.value
        }
        #expect(clock.armedCount == 0 && connectivity.waitingCount == 0 && executor.pendingCount == 0)
    }

    private func description(_ act: (MockExchange) -> Void) async throws -> String {
        var text = ""
        try await withStage { session, stage in
            let request = session.request("http://h/")
            let waiting = Task { () async -> String in
                do throws(NetworkError) { _ = try await request.value() } catch { return error.description }
                return "it came"
            }
            await stage.waitForStarts(1)
            act(stage.started[0])
            request.cancel()
            text = await waiting.value
        }
        return text
    }

    @Test func aCancelWhileTheResponseIsAwaitedSaysSoOnce() async throws {
        #expect(try await description { _ in } == "GET http://h/: cancelled while awaitingResponse: explicit")
    }

    @Test func aCancelWhileTheBodyComesSaysSo() async throws {
        #expect(try await description { $0.receiveHead() } == "GET http://h/: cancelled while receiving: explicit")
    }

    @Test func whatWasNeverSentWasOnlyQueued() {
        #expect(RunProgress.unsent.after(.decoding) == .unsent)
        #expect(RunProgress.unsent.after(.sent).phase == .awaitingResponse)
        #expect(RunProgress.sent.after(.headReceived).phase == .receiving)
        #expect(RunProgress.headReceived.after(.decoding).phase == .decoding)
        #expect(RunProgress.decoding.after(.decoded).phase == .delivering)
        #expect(RunProgress.decoded.after(.sent).phase == .awaitingResponse)
    }
}
