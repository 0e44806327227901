import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SES-7, SES-10, SES-11, SES-12: the order of `Hooks.md`.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct HookOrderTests {
    private struct Teller: RequestObserver {
        let trace: Trace
        func observe(_ event: RequestEvent) {
            let name = EventOrderTests.Recorder.name(event.kind)
            if ["progress", "resolved", "connected", "sent", "attempt finished"].contains(name) { return }
            trace.add("observer: \(name)")
        }
    }

    private final class Listener: RequestDelegate, Sendable {
        let trace: Trace
        init(_ trace: Trace) { self.trace = trace }
        func requestDidStart(_ run: Run.Info) { trace.add("delegate: start") }
        func request(_ run: Run.Info, didReceiveHead head: ResponseHead) { trace.add("delegate: head \(head.status)") }
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) { trace.add("delegate: success") }
        func request(_ run: Run.Info, didFailWith error: NetworkError) { trace.add("delegate: failure") }
        func requestDidEnd(_ run: Run.Info) { trace.add("delegate: end") }
    }

    private func once() -> RequestBody {
        .stream(
            AsyncStream {
                $0.yield(Data("x".utf8))
                $0.finish()
            })
    }

    @Test func everythingComesInTheOrderOfTheTable() async throws {
        let trace = Trace()
        let folder = TemporaryFolder()
        try await withWire {
            $0.observers = [Teller(trace: trace)]
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            wire.server.enqueue(.redirect(to: "/new", status: 307))
            wire.server.enqueue(.status(503))
            wire.server.on("/new", .ok("there"))
            let listener = Listener(trace)
            let target = URL(filePath: folder.path + "/file")
            let request = wire.session.request(wire.url + "/old", method: .put, body: once(), decoder: .dataOrFile)
            request.delegate(sendable: listener).decideRedirect { hop in
                trace.add("hook: redirect \(hop.head.status)")
                return .follow
            }.provideBody { replay in
                trace.add("hook: body for a \(replay.reason)")
                return once()
            }.decideDisposition { arrival in
                trace.add("hook: disposition \(arrival.head.status)")
                return .download(to: target)
            }.onResponseHead { trace.add("closure: head \($0.status)") }.onSuccess { _ in trace.add("closure: success") }
                .onEnd { _ in trace.add("closure: end") }.start()
            await wire.agent.waitUntilIdle()
        }
        let lines = trace.lines
        let hooks = lines.filter { $0.hasPrefix("hook") }
        #expect(hooks == ["hook: redirect 307", "hook: body for a redirect", "hook: body for a retry", "hook: disposition 200"])
        #expect(
            lines.filter { !$0.hasPrefix("hook") } == [
                "observer: created", "observer: started 1", "delegate: start", "observer: head 307", "observer: redirected 307",
                "observer: started 1", "observer: head 503", "observer: retry", "observer: started 2", "observer: head 200",
                "delegate: head 200", "closure: head 200", "observer: became a download", "observer: body 5", "observer: written 5",
                "observer: decoded", "observer: finished", "delegate: success", "delegate: end", "closure: success", "closure: end",
            ])
        // What a hook decides comes before what follows from it.
        func isBefore(_ first: String, _ second: String) -> Bool {
            guard let first = lines.firstIndex(of: first), let second = lines.firstIndex(of: second) else { return false }
            return first < second
        }
        let redirect = isBefore("hook: redirect 307", "observer: redirected 307")
        let disposition = isBefore("hook: disposition 200", "delegate: head 200")
        #expect(redirect)
        #expect(disposition)
    }
}
