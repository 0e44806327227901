import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// Interceptors at the end of their run: cancels, bags, time limits.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct InterceptorEndTests {
    /// One that waits until its task is cancelled.
    private func waiting(_ begun: Latch, _ log: Gathered<String>) -> Intercepting {
        Intercepting { request, _, next in
            begun.open()
            do { try await Task.sleep(for: .seconds(3600)) } catch { log.add("cancelled") }
            // Too late: no exchange begins.
            do { return try await next(request) } catch let error as NetworkError {
                log.add("\(error.code)")
                throw error
            }
        }
    }

    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func aCancelReachesInAtOnce(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            let (begun, log) = (Latch(), Gathered<String>())
            let interceptor = waiting(begun, log)
            let request = wire.get().interceptors(
                call: place == .call ? [interceptor] : [], exchange: place == .exchange ? [interceptor] : [])
            let ended = Latch()
            let run = request.onSuccess { _ in Issue.record("called") }.onFailure { _ in Issue.record("called") }.onEnd { _ in ended.open()
            }.start()
            await begun.wait()
            #expect(run.cancel() == .cancelled)
            await ended.wait()
            await eventually { log.all.count >= 2 }
            #expect(log.all == ["cancelled", "cancelled"] && wire.server.requests.isEmpty)
        }
    }

    /// YB-8, CT-3. Before it calls `next`, when it has the response, and when it has an error.
    @Test(arguments: ["before", "response", "error"], [InterceptedRequest.Context.Place.call, .exchange])
    func anInterceptorCancelsItsRun(_ moment: String, _ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", moment == "error" ? ScriptedResponse.ok("cut").ending(.truncate(afterBytes: 1)) : .ok("fine"))
            let log = Gathered<String>()
            let interceptor = Intercepting { request, context, next in
                if moment == "before" { context.cancel() }
                do {
                    let response = try await next(request)
                    context.cancel()
                    log.add("response")
                    return response
                } catch {
                    context.cancel()
                    log.add("\((error as? NetworkError)?.code == .cancelled ? "cancelled" : "error")")
                    throw error
                }
            }
            let request = wire.get { $0.retry = .none }.interceptors(
                call: place == .call ? [interceptor] : [], exchange: place == .exchange ? [interceptor] : [])
            let ends = Gathered<EndReason>()
            request.onSuccess { _ in Issue.record("called") }.onFailure { _ in Issue.record("called") }.onEnd { ends.add($0) }.start()
            await wire.agent.waitUntilIdle()
            await eventually { ends.all.count == 1 && log.all.count == 1 }
            #expect(log.all == [moment == "before" ? "cancelled" : moment])
            #expect(ends.all.map { "\($0)" } == ["\(EndReason.cancelled(.explicit))"])
            #expect(request.result == nil && wire.server.requests.count == (moment == "before" ? 0 : 1))
            // A caller that awaits is told so.
            let error = try await request.failure()
            #expect(error.code == .cancelled && error.cancelReason == .explicit)
        }
    }

    @Test func aBagsEndThrowsInNextAndSilencesTheWire() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse.ok("never").stalling(.beforeHead))
            let log = Gathered<String>()
            let spy = Intercepting { request, context, next in
                do { return try await next(request) } catch let error as NetworkError {
                    log.add("\(context.place) \(error.code) \(error.cancelReason.map { "\($0)" } ?? "-")")
                    throw error
                }
            }
            var bag: DeallocBag? = DeallocBag()
            wire.get().interceptors(call: [spy], exchange: [spy]).onSuccess { _ in Issue.record("called") }.start(in: bag!)
            try await wire.server.waitForRequests(1)
            bag = nil
            try await wire.server.waitForOpenConnections { $0 == 0 }
            await eventually { log.all.count >= 2 }
            #expect(Set(log.all) == ["call cancelled owner released", "exchange cancelled owner released"], "\(log.all)")
        }
    }

    @Test func oneThatNeverReturnsIsEndedByItsTimeout() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("there"))
            let log = Gathered<String>()
            let request = wire.get().options { $0.timeouts.interceptor = .milliseconds(30) }
            let error = try await request.interceptors(call: [waiting(Latch(), log)]).failure()
            #expect(error.code == .interceptorTimeout && error.isTimeout)
            let late = Intercepting { request, _, next in
                _ = try await next(request)
                try await Task.sleep(for: .seconds(3600))
                return try await next(request)
            }
            let second = try await wire.get().options { $0.timeouts.interceptor = .milliseconds(30) }.interceptors(exchange: [late])
                .failure()
            #expect(second.code == .interceptorTimeout)
            let total = wire.get().timeout(.milliseconds(30)).interceptors(call: [waiting(Latch(), log)])
            #expect(try await total.failure().code == .totalTimeout)
        }
    }

    /// The default, and none: an hour is no matter then.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange], [true, false])
    func theLimitIsAMinuteOrNone(_ place: InterceptedRequest.Context.Place, _ isLimited: Bool) async throws {
        let clock = ManualClock()
        try await withWire {
            $0.use(clock)
            if !isLimited { $0.options.timeouts.interceptor = nil }
        } _: { wire async throws in
            wire.server.on("/", .ok("there"))
            let (begun, mayGo) = (Latch(), Latch())
            let slow = Intercepting { request, _, next in
                begun.open()
                await mayGo.wait()
                return try await next(request)
            }
            async let outcome = wire.get()
                .interceptors(call: place == .call ? [slow] : [], exchange: place == .exchange ? [slow] : []).outcome()
            await begun.wait()
            #expect(clock.nextWait == (isLimited ? .seconds(60) : nil))
            clock.advance(by: .seconds(3600))
            mayGo.open()
            switch await outcome {
            case .success(let response): #expect(!isLimited && response.value == Data("there".utf8))
            case .failure(let error): #expect(isLimited && error.code == .interceptorTimeout, "\(error)")
            }
        }
    }

    /// A time limit of the interceptor's own, around `next`: the exchange goes on for the run, which gets what the interceptor returns.
    @Test func aCancelledTaskWaitsInNextNoLonger() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse.ok("late").delayed(by: .milliseconds(50)))
            let value = try await wire.get().interceptors(exchange: [
                Intercepting { request, _, next in
                    let task = Task { try await next(request) }
                    try await wire.server.waitForRequests(1)
                    task.cancel()
                    _ = try? await task.value
                    return InterceptedResponse(status: 200, body: Data("early".utf8))
                }
            ]).value()
            #expect(value == Data("early".utf8))
        }
    }

    /// Many runs with interceptors in both places, cancelled at every moment: each ends once, and nothing is left.
    @Test func cancelledAtAnyMoment() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("there"))
            let pass = Intercepting { request, _, next in
                await Task.yield()
                let response = try await next(request)
                await Task.yield()
                return response
            }
            let session = wire.session.with { $0.options.interceptors = .init(call: [pass], exchange: [pass, pass]) }
            var random = SeededGenerator(seed: 20)
            for _ in 0..<200 {
                let ends = Gathered<String>()
                let ended = Latch()
                let run = session.get(wire.url + "/").onSuccess { _ in ends.add("success") }.onFailure { ends.add("\($0.code)") }
                    .onEnd { _ in ended.open() }.start()
                for _ in 0..<Int.random(in: 0..<60, using: &random) { await Task.yield() }
                _ = run.cancel()
                await ended.wait()
                #expect(ends.all.count <= 1 && ends.all.allSatisfy { $0 == "success" })
            }
        }
    }
}
