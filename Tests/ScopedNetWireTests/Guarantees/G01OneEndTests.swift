import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// G1: every run ends exactly once (defect 24).
@Suite(.leavesNothing) struct G01OneEndTests {
    // THR-5
    @Test func aSuccessIsCalledOnceAndThenTheEnd() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("hello"))
            let trace = Trace()
            house.session.request(house.url("/a"))
                .onSuccess { trace.add("success \($0.count)") }
                .onFailure { _ in trace.add("failure") }
                .onEnd { trace.add("end \($0)") }
                .start()
            await house.agent.waitUntilIdle()
            #expect(trace.lines == ["success 5", "end succeeded"])
        }
    }

    @Test func aFailureIsCalledOnceAndThenTheEnd() async throws {
        try await withHouse { house in
            house.server.on("/a", .status(500))
            let trace = Trace()
            house.session.request(house.url("/a"))
                .onSuccess { _ in trace.add("success") }
                .onFailure { trace.add("failure \($0.code) \($0.response?.status ?? 0)") }
                .onEnd { if case .failed(let error) = $0 { trace.add("end \(error.code)") } }
                .start()
            await house.agent.waitUntilIdle()
            #expect(trace.lines == ["failure unacceptableStatus 500", "end unacceptableStatus"])
        }
    }

    // YTK-8
    @Test(arguments: ["explicit", "bag", "agent", "task"])
    func aCancellationEndsOnceWithItsReason(how: String) async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("x").stalling(.beforeHead))
            let trace = Trace()
            var bag: DeallocBag? = DeallocBag()
            let request = house.session.request(house.url("/a"))
                .onSuccess { _ in trace.add("success") }
                .onFailure { _ in trace.add("failure") }
                .onEnd { if case .cancelled(let reason) = $0 { trace.add("\(reason)") } }
            switch how {
            case "task":
                let task = Task { try await request.value(in: bag) }
                try await house.server.waitForStalls()
                task.cancel()
                await #expect(throws: NetworkError.self) { try await task.value }
            default:
                let run = request.start(in: bag!)
                try await house.server.waitForStalls()
                if how == "explicit" { #expect(run.cancel() == .cancelled) }
                if how == "bag" { bag = nil }
                if how == "agent" { house.agent.cancelAll() }
            }
            await house.agent.waitUntilIdle()
            let reason = ["explicit": "explicit", "agent": "explicit", "bag": "owner released", "task": "task cancelled"][how]!
            #expect(trace.lines == [reason])
        }
    }

    // SES-8
    @Test func anAwaitIsResumedOnceAndThrowsTheReason() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("x").stalling(.beforeHead))
            let bag = DeallocBag()
            let task = Task { () -> NetworkError? in
                do throws(NetworkError) { _ = try await house.session.request(house.url("/a")).value(in: bag); return nil } catch {
                    return error
                }
            }
            try await house.server.waitForStalls()
            bag.end()
            let error = await task.value
            #expect(error?.code == .cancelled)
            #expect(error?.cancelReason == .ownerReleased)
            #expect(error?.asCancellationError is CancellationError)
        }
    }

    // REQ-1, YTK-5, defect 20
    @Test func aMistakeInTheRequestIsAnEndingToo() async throws {
        try await withHouse { house in
            let trace = Trace()
            house.session.request("http://bad host/").onFailure { trace.add("\($0.code)") }.onEnd { _ in trace.add("end") }.start()
            #expect(trace.lines.isEmpty || Thread.isMainThread == false)
            await house.agent.waitUntilIdle()
            #expect(trace.lines == ["invalidURL", "end"])
        }
    }

    // SES-2
    @Test func aShutdownEndsWhatRunsAndRefusesWhatComes() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("x").stalling(.beforeHead))
            let trace = Trace()
            house.session.request(house.url("/a")).onEnd { if case .cancelled(let reason) = $0 { trace.add("\(reason)") } }.start()
            try await house.server.waitForStalls()
            await house.session.shutdown()
            #expect(trace.lines == ["shutdown"])
            let connections = LocalSockets.established(to: house.server.port)
            #expect(connections == 0)
            do throws(NetworkError) {
                _ = try await house.session.send(house.url("/a"))
                Issue.record("a request after the shutdown succeeded")
            } catch { #expect(error.code == .shutdown) }
        }
    }

    @Test func onEndIsNotCalledInsideCancel() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let run = session.request("http://h/").onEnd { _ in trace.add("end") }.start()
            await stage.waitForStarts(1)
            session.configuration.deliveryQueue.sync {
                #expect(run.cancel() == .cancelled)
                #expect(trace.lines.isEmpty)
            }
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["end"])
        }
    }
}
