import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// How a run comes to its value, and to which run a decoder belongs.
@Suite(.leavesNothing) struct ResponseValueTests {
    private final class Delegate: RequestDelegate, Sendable {
        let values: Trace
        init(_ values: Trace) { self.values = values }
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) { values.add("delegate \(value)") }
    }

    private final class Observer: RequestObserver {
        let values: Trace
        init(_ values: Trace) { self.values = values }
        func observe(_ event: RequestEvent) {
            if case .finished(let completion) = event.kind { values.add("observer \(completion.value ?? "-")") }
        }
    }

    /// RES-1, RES-9, defect 25: however many look at it, a value is made once, and not on the thread that moves the bytes.
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
                await house.agent.waitUntilIdle()
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

    /// SES-1, defect 37: each of two decoders waits for the other, and no two calls of one queue are under way at once.
    @Test(.timeLimit(.minutes(1))) func valuesAreMadeSideBySideAndToldOneAfterTheOther() async throws {
        let (decoders, calls) = (Crowd(), Crowd())
        let arrivals = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
        try await withHouse { house in
            house.server.on("/a", .ok("seven"))
            for number in 0..<2 {
                let decoder = ResponseDecoder<Int>({ (_: ResponseHead, body: Data) in
                    decoders.enter()
                    arrivals[1 - number].signal()
                    arrivals[number].wait()
                    decoders.leave()
                    return body.count
                })
                let request = house.session.request(house.url("/a"), decoder: decoder)
                request.onSuccess { _ in
                    calls.enter()
                    usleep(20_000)
                    calls.leave()
                }.start()
            }
            await house.agent.waitUntilIdle()
        }
        #expect(decoders.most == 2)
        #expect(calls.most == 1)
    }

    /// RES-1: what a decoder throws is the reason of the error, which has what could not be read.
    @Test func whatADecoderThrowsIsInTheError() async throws {
        struct Mine: Error {}
        try await withHouse { house in
            house.server.on("/a", .ok("seven"))
            let decoder = ResponseDecoder<Int>({ (_: ResponseHead, _: Data) in throw Mine() })
            let error = try await house.session.request(house.url("/a"), decoder: decoder).failure()
            #expect(error.code == .decodingFailed && error.underlying is Mine)
            #expect(error.response?.status == 200 && error.body == Data("seven".utf8))
        }
    }

    /// A value that says when it is gone.
    private final class Watched: Sendable {
        let gone: Latch
        init(_ gone: Latch) { self.gone = gone }
        deinit { gone.open() }
    }

    /// The end does not wait for a decoder, and what that gives after all reaches nobody and is dropped.
    @Test(.timeLimit(.minutes(1))) func aCancelWhileItDecodesIsTheEnd() async throws {
        let trace = Trace()
        let gone = Latch()
        try await withStage { session, stage in
            let box = Lock<Run?>(nil)
            let answer = Lock<Run.CancelResult?>(nil)
            let hasEnded = DispatchSemaphore(value: 0)
            let decoder = ResponseDecoder<Watched>({ (_: ResponseHead, _: Data) in
                let run = box.withLock { box in
                    defer { box = nil }
                    return box
                }
                let result = run?.cancel()
                answer.withLock { $0 = result }
                // Called on the delivery queue, while this thread stands here.
                hasEnded.wait()
                trace.add("value")
                return Watched(gone)
            })
            let request = session.request("http://h/", decoder: decoder)
                .onSuccess { _ in trace.add("success") }
                .onFailure { _ in trace.add("failure") }
                .onEnd { reason in
                    trace.add("end \(reason.isCancelled)")
                    hasEnded.signal()
                }
            let run = request.start()
            box.withLock { $0 = run }
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
            await trace.wait(for: 2)
            await session.agent.waitUntilIdle()
            let said = answer.withLock { $0 }
            #expect(said == .cancelled)
            #expect(run.status.cancelReason == .explicit)
            #expect(request.result == nil)
        }
        await gone.wait()
        #expect(trace.lines == ["end true", "value"])
    }

    @Test(.timeLimit(.minutes(1)), arguments: FrontDoor.allCases)
    func noDoorHasTheValueOfACancelledDecoder(door: FrontDoor) async throws {
        let gone = Latch()
        try await withStage { session, stage in
            let box = Lock<DoorHandle?>(nil)
            let decoder = ResponseDecoder<Watched>({ (_: ResponseHead, _: Data) in
                let handle = box.withLock { box in
                    defer { box = nil }
                    return box
                }
                handle?.cancel()
                return Watched(gone)
            })
            let report = try await door.send(session.request("http://h/", decoder: decoder)) { handle in
                await stage.waitForStarts(1)
                box.withLock { $0 = handle }
                stage.succeed(stage.started[0])
            }
            #expect(report.outcome == .cancelled(door.ownReason))
            // A delegate hears nothing of a cancellation; the head came before.
            let ends = report.calls.filter { !$0.hasPrefix("head") && !$0.hasPrefix("received") }
            #expect(ends == (door == .delegate ? [] : ["end"]))
        }
        await gone.wait()
    }

    /// How many are inside, and the most there ever were.
    private final class Crowd: Sendable {
        private struct State {
            var inside = 0
            var most = 0
        }
        private let state = Lock(State())
        var most: Int { state.withLock { $0.most } }

        func enter() {
            state.withLock { state in
                state.inside += 1
                state.most = max(state.most, state.inside)
            }
        }

        func leave() { state.withLock { $0.inside -= 1 } }
    }

    /// Calls when so many transfers are over, on the delivery queue.
    private final class Arrivals: RequestObserver {
        private let left: Lock<Int>
        private let all: @Sendable () -> Void

        init(_ count: Int, _ all: @escaping @Sendable () -> Void) {
            left = Lock(count)
            self.all = all
        }

        func observe(_ event: RequestEvent) {
            guard case .attemptFinished = event.kind else { return }
            let isLast = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isLast { all() }
        }
    }

    /// However many bodies have come, no more are decoded at once than the pool is wide.
    @Test func decodersHaveABound() async throws {
        let count = 40
        let width = max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let crowd = Crowd()
        let ends = Counter()
        // All wait until all have come. It is opened by a thread of the delivery queue: the decoders may stand on all the others.
        let gate = DispatchSemaphore(value: 0)
        try await withHouse(.init(), { $0.observers = [Arrivals(count) { gate.signal() }] }) { house in
            house.server.on("/a", .ok("seven"))
            let decoder = ResponseDecoder<Int>({ (_: ResponseHead, body: Data) in
                crowd.enter()
                gate.wait()
                gate.signal()
                crowd.leave()
                return body.count
            })
            for _ in 0..<count {
                house.session.request(house.url("/a"), decoder: decoder).onSuccess { ends.add($0) }.start()
            }
            await house.agent.waitUntilIdle()
            #expect(house.server.requests.count == count)
        }
        #expect(ends.value == 5 * count)
        #expect((1...width).contains(crowd.most))
    }

    @Test func aPoolIsNoWiderThanItSays() async {
        let pool = WorkPool(width: 1)
        let crowd = Crowd()
        let done = Trace()
        for _ in 0..<100 {
            let job: WorkPool.Job = {
                crowd.enter()
                sched_yield()
                crowd.leave()
                done.add("job")
            }
            pool.submit([job, job])
        }
        await done.wait(for: 200)
        #expect(crowd.most == 1)
    }

    /// YTK-3, defects 26, 37, 47: two requests of one session are under way at once, each with a decoder of its own.
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

    // REQ-2, YTK-3, defect 26
    @Test func optionsChangedLaterReachOnlyLaterRuns() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let request = session.request("http://h/").options { $0.validation = .codes([404]) }
            request.onSuccess { _ in trace.add("success") }.onFailure { _ in trace.add("failure") }.start()
            await stage.waitForStarts(1)
            _ = request.options { $0.validation = .success }
            stage.succeed(stage.started[0], status: 404)
            await trace.wait(for: 1)

            request.onSuccess { _ in trace.add("success") }.onFailure { _ in trace.add("failure") }.start()
            await stage.waitForStarts(2)
            stage.succeed(stage.started[1], status: 404)
            await trace.wait(for: 2)
            #expect(trace.lines == ["success", "failure"])
        }
    }

    /// SES-17, defect 26: a derived session has its own observers; the one it came from keeps its.
    @Test func aDerivedSessionChangesNothingOfItsOrigin() async throws {
        let (first, second) = (Trace(), Trace())
        try await withStage({ $0.observers = [Observer(first)] }) { session, stage in
            let derived = session.with { $0.observers = [Observer(second)] }
            session.request("http://h/", decoder: .text).start()
            derived.request("http://h/", decoder: .text).start()
            await stage.waitForStarts(2)
            stage.succeed(stage.started[0], body: "one")
            stage.succeed(stage.started[1], body: "two")
            await session.agent.waitUntilIdle()
            #expect(first.lines == ["observer one"])
            #expect(second.lines == ["observer two"])
        }
    }
}
