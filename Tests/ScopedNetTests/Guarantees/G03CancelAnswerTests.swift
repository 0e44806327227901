import CleanSlate
import Foundation
import SystemSupport
import Testing

@testable import ScopedNet

/// G3: `cancel()` says what it achieved.
@Suite(.leavesNothing) struct G03CancelAnswerTests {
    @Test func cancelledBeforeAdmission() async throws {
        try await withStage { session, stage in
            let run = session.request("http://h/").onSuccess { _ in Issue.record("called") }.start()
            await stage.waitForStarts(1)
            #expect(run.cancel() == .cancelled)
            #expect(run.cancel() == .alreadyEnded)
            #expect(run.status.cancelReason == .explicit)
        }
    }

    @Test func callbackRunningInsideTheLastCall() async throws {
        try await withStage { session, stage in
            let answer = Lock<Run.CancelResult?>(nil)
            let box = Lock<Run?>(nil)
            let run = session.request("http://h/")
                .onSuccess { _ in
                    let run = box.withLock { $0 }
                    let result = run?.cancel()
                    answer.withLock { $0 = result }
                }.start()
            box.withLock { $0 = run }
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(answer.withLock { $0 } == .callbackRunning)
            #expect(run.cancel() == .alreadyEnded)
            box.withLock { $0 = nil }
        }
    }

    @Test func aCancelInsideProgressIsTheLastThing() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let box = Lock<Run?>(nil)
            let run = session.request("http://h/")
                .onDownloadProgress { _ in
                    trace.add("progress")
                    #expect(box.withLock { $0 }?.cancel() == .callbackRunning)
                }
                .onSuccess { _ in trace.add("success") }
                .onEnd { trace.add("end \($0.isCancelled)") }
                .start()
            box.withLock { $0 = run }
            await stage.waitForStarts(1)
            stage.received(stage.started[0], 10, of: 100)
            await session.agent.waitUntilIdle()
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["progress", "end true"])
            box.withLock { $0 = nil }
        }
    }

    @Test func cancelAndWaitClosesTheRunningWindow() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let entered = Latch()
            let gate = DispatchSemaphore(value: 0)
            let run = session.request("http://h/")
                .onSuccess { _ in
                    entered.open()
                    gate.wait()
                    trace.add("call over")
                }.start()
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
            await entered.wait()
            #expect(run.cancel() == .callbackRunning)
            let task = Task {
                await run.cancelAndWait()
                trace.add("waited")
            }
            gate.signal()
            await task.value
            #expect(trace.lines == ["call over", "waited"])
        }
    }
}
