import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// How a run comes to its value, and to which run a decoder belongs.
@Suite(.leavesNothing) struct ResponseValueTests {
    private final class Delegate: RequestDelegate, Sendable {
        let values: Trace
        init(_ values: Trace) { self.values = values }
        func request(_ run: RunInfo, didSucceedWith value: any Sendable, response: ResponseHead) { values.add("delegate \(value)") }
    }

    private final class Observer: RequestObserver {
        let values: Trace
        init(_ values: Trace) { self.values = values }
        func observe(_ event: RequestEvent) {
            if case .finished(let completion) = event.kind { values.add("observer \(completion.value ?? "-")") }
        }
    }

    /// RES-9: however many look at it, a value is made once, and not on the thread that moves the bytes.
    @Test func aValueIsMadeOnceForEachRunOffTheNetworkThread() async throws {
        let values = Trace()
        let threads = Trace()
        try await withHouse(.init(), { $0.observers = [Observer(values)] }) { house in
            house.server.on("/a", .ok("seven"))
            let decoder = ResponseDecoder<Int>({ (_: ResponseHead, body: Data) in
                threads.add((try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "?")
                return body.count
            })
            let delegate = Delegate(values)
            let request = house.session.request(house.url("/a"), decoder: decoder).delegate(sendable: delegate)
            for _ in 0..<2 {
                request.onSuccess { values.add("closure \($0)") }.onSuccess { values.add("closure \($0)") }.start()
                await house.agent.idle()
            }
            let result = try request.result?.get()
            #expect(result?.value == 5)
            withExtendedLifetime(delegate) {}
        }
        let once = ["observer 5", "delegate 5", "closure 5", "closure 5"]
        #expect(values.lines == once + once)
        #expect(threads.lines.count == 2)
        let wasOnNetworkThread = threads.lines.contains { $0.contains("scopednet") }
        #expect(!wasOnNetworkThread)
    }

    /// Two requests of one session are under way at once, each with a decoder of its own.
    @Test func aDecoderBelongsToItsRequest() async throws {
        try await withStage { session, stage in
            let texts = Trace()
            session.request("http://h/text", decoder: .text).onSuccess { texts.add("text \($0)") }.start()
            await stage.waitForStarts(1)
            let counter = ResponseDecoder<Int>({ (_: ResponseHead, body: Data) in body.count })
            session.request("http://h/count", decoder: counter).onSuccess { texts.add("count \($0)") }.start()
            await stage.waitForStarts(2)
            stage.succeed(stage.started[1], body: "four")
            await texts.wait(for: 1)
            stage.succeed(stage.started[0], body: "four")
            await texts.wait(for: 2)
            #expect(texts.lines == ["count 4", "text four"])
        }
    }

    // REQ-2
    @Test func optionsChangedLaterReachOnlyLaterRuns() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let request = session.request("http://h/").options { $0.validation = .codes([404]) }
            request.onSuccess { _ in trace.add("success") }.onFailure { _ in trace.add("failure") }.start()
            await stage.waitForStarts(1)
            request.options { $0.validation = .success }
            stage.succeed(stage.started[0], status: 404)
            await trace.wait(for: 1)

            request.onSuccess { _ in trace.add("success") }.onFailure { _ in trace.add("failure") }.start()
            await stage.waitForStarts(2)
            stage.succeed(stage.started[1], status: 404)
            await trace.wait(for: 2)
            #expect(trace.lines == ["success", "failure"])
        }
    }

    /// A derived session has its own observers; the one it came from keeps its.
    @Test func aDerivedSessionChangesNothingOfItsOrigin() async throws {
        let (first, second) = (Trace(), Trace())
        try await withStage({ $0.observers = [Observer(first)] }) { session, stage in
            let derived = session.with { $0.observers = [Observer(second)] }
            session.request("http://h/", decoder: .text).start()
            derived.request("http://h/", decoder: .text).start()
            await stage.waitForStarts(2)
            stage.succeed(stage.started[0], body: "one")
            stage.succeed(stage.started[1], body: "two")
            await session.agent.idle()
            #expect(first.lines == ["observer one"])
            #expect(second.lines == ["observer two"])
        }
    }
}
