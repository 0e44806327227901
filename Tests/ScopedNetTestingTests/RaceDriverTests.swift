import CleanSlate
import Foundation
import ScopedNet
import ScopedNetTesting
import Synchronization
import Testing

@Suite(.leavesNothing, .enabled(if: RaceDriver.isAvailable, "the doorway of atomic steps is empty in release builds"))
struct RaceDriverTests {
    /// Starts one request that is answered, and cancels it at a step; says what the cancel achieved and what was called.
    private func race(at step: RaceStep, isAnswered: Bool = true, _ act: @escaping @Sendable (Run) -> Void) async -> [String] {
        let said = Log()
        let session = mockedSession(MockTransport(unanswered: .wait) { _ in isAnswered ? .ok() : nil })
        let driver = RaceDriver(session)
        driver.at(step, do: act)
        session.request("http://h/").onSuccess { _ in said.add("success") }.onEnd { said.add("\($0.isCancelled ? "cancelled" : "ended")") }
            .start()
        await session.agent.waitUntilIdle()
        _ = driver
        return said.lines
    }

    @Test func aCancelBeforeTheAdmissionWins() async {
        let answers = Log()
        let lines = await race(at: .beforeAdmission) { answers.add("\($0.cancel())") }
        #expect(lines == ["cancelled"])
        #expect(answers.lines == ["cancelled"])
    }

    @Test func aCancelAfterTheAdmissionComesTooLate() async {
        let answers = Log()
        let lines = await race(at: .afterAdmission) { answers.add("\($0.cancel())") }
        #expect(lines == ["success", "ended"])
        #expect(answers.lines == ["callbackRunning"])
    }

    @Test(arguments: [
        RaceStep.beforeStart, .afterLink, .beforeQueue, .beforeTransfer, .transferStarted, .headReceived, .beforeDelivery, .delivering,
    ])
    func aCancelAtAnyStepBeforeWins(step: RaceStep) async {
        // The answer comes on another thread and may overtake the one that has just started the transfer.
        let lines = await race(at: step, isAnswered: step != .transferStarted) { $0.cancel() }
        #expect(lines == ["cancelled"])
    }

    @Test func aBagThatEndsAtAStepGoesFirst() async {
        let said = Log()
        let session = mockedSession(MockTransport { _ in .ok() })
        let driver = RaceDriver(session)
        let bag = DeallocBag()
        driver.at(.beforeAdmission) { _ in bag.end() }
        session.request("http://h/").onSuccess { _ in said.add("success") }.onEnd { said.add("\($0)") }.start(in: bag)
        await session.agent.waitUntilIdle()
        #expect(said.lines.count == 1)
        #expect(said.lines.first?.contains("ownerReleased") == true || said.lines.first?.contains("owner") == true)
    }

    @Test func aRunThatIsStoppedGoesOnWhenTold() async {
        let said = Log()
        let session = mockedSession(MockTransport { _ in .ok() })
        let driver = RaceDriver(session)
        let stop = driver.stop(at: .delivering)
        session.request("http://h/").onSuccess { _ in said.add("success") }.start()
        let run = await stop.reached()
        #expect(said.lines.isEmpty)
        #expect(run.status.stage == .delivering)
        stop.go()
        await session.agent.waitUntilIdle()
        #expect(said.lines == ["success"])
    }

    @Test func aDriverThatIsGoneStopsNobody() async {
        let session = mockedSession(MockTransport { _ in .ok() })
        _ = RaceDriver(session).stop(at: .delivering)
        _ = try? await session.request("http://h/").value()
    }
}

final class Log: Sendable {
    private let state = Mutex<[String]>([])
    var lines: [String] { state.withLock { $0 } }
    func add(_ line: String) { state.withLock { $0.append(line) } }
}
