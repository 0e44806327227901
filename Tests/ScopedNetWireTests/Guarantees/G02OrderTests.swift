import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// G2: observers, then delegate, then closures; progress is monotonic and complete before the success; the end comes last.
@Suite(.leavesNothing) struct G02OrderTests {
    final class Watcher: RequestObserver {
        let trace: Trace
        init(_ trace: Trace) { self.trace = trace }
        func observe(_ event: RequestEvent) {
            if case .finished = event.kind { trace.add("observer") }
        }
    }

    final class Delegate: RequestDelegate, Sendable {
        let trace: Trace
        init(_ trace: Trace) { self.trace = trace }
        func requestDidStart(_ run: Run.Info) { trace.add("did start") }
        func request(_ run: Run.Info, didReceiveHead head: ResponseHead) { trace.add("did receive head") }
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) { trace.add("delegate") }
        func requestDidEnd(_ run: Run.Info) { trace.add("did end") }
    }

    // YTK-7, SES-12
    @Test func observersThenDelegateThenClosuresThenTheEnd() async throws {
        let trace = Trace()
        try await withHouse(.init(), { $0.observers = [Watcher(trace)] }) { house in
            house.server.on("/a", .ok("hello"))
            let delegate = Delegate(trace)
            house.session.request(house.url("/a")).delegate(sendable: delegate)
                .onSuccess { _ in trace.add("closure 1") }
                .onSuccess { _ in trace.add("closure 2") }
                .onEnd { _ in trace.add("end") }
                .start()
            await house.agent.waitUntilIdle()
            #expect(trace.lines == ["did start", "did receive head", "observer", "delegate", "did end", "closure 1", "closure 2", "end"])
        }
    }

    // SES-6
    @Test func progressIsMonotonicAndCompleteBeforeTheSuccess() async throws {
        try await withHouse { house in
            house.server.on("/big", ScriptedResponse(body: .repeating(7, count: 3_000_000)))
            let trace = Trace()
            let counts = Lock<[Int64]>([])
            house.session.request(house.url("/big"))
                .onDownloadProgress { progress in counts.withLock { $0.append(progress.completed) } }
                .onSuccess { data in
                    trace.add("success \(data.count) \(counts.withLock { $0.last ?? 0 })")
                }
                .start()
            await house.agent.waitUntilIdle()
            #expect(trace.lines == ["success 3000000 3000000"])
            let seen = counts.withLock { $0 }
            #expect(seen == seen.sorted())
            #expect(Set(seen).count == seen.count)
        }
    }

    // Defect 22
    @Test func aResultThatArrivedButIsNotAdmittedLosesToCancel() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let queue = session.configuration.deliveryQueue
            let run = session.request("http://h/").onSuccess { _ in trace.add("success") }.onEnd { trace.add("end \($0.isCancelled)") }
                .start()
            await stage.waitForStarts(1)
            // The delivery executor is busy, so the result has to wait.
            queue.sync {
                stage.succeed(stage.started[0])
                #expect(run.cancel() == .cancelled)
            }
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["end true"])
        }
    }
}
