import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// The rate limit of a session, by the requests that the server has seen when the clock stands still.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct HostRateTests {
    private func withClock(
        _ limit: Session.Configuration.RateLimit, configure: (inout Session.Configuration) -> Void = { _ in },
        _ test: (Wire, ManualClock) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        try await withWire {
            $0.timing = clock
            $0.rateLimit = limit
            configure(&$0)
        } _: { wire async throws in
            wire.server.on("/*", .ok())
            try await test(wire, clock)
            #expect(clock.armedCount == 0 && wire.session.rateLimiter?.waitingCount ?? 0 == 0)
        }
    }

    @Test func aBurstGoesAtOnceAndTheOthersOneByOne() async throws {
        try await withClock(.init(requestsPerSecond: 10, burst: 3)) { wire, clock async throws in
            let runs = (0..<5).map { wire.session.request(wire.url + "/\($0)").start() }
            try await wire.server.waitForRequests(3)
            await clock.waitForTimers(1)
            #expect(wire.session.rateLimiter?.waitingCount == 2 && wire.session.admission.waitingCount == 0)
            clock.advance(by: .milliseconds(99))
            #expect(wire.session.rateLimiter?.waitingCount == 2)
            clock.advance(by: .milliseconds(1))
            try await wire.server.waitForRequests(4)
            await clock.waitForTimers(1)
            #expect(wire.session.rateLimiter?.waitingCount == 1 && wire.server.requests.count == 4)
            clock.advance(by: .milliseconds(100))
            try await wire.server.waitForRequests(5)
            await wire.agent.waitUntilIdle()
            #expect(wire.server.requests.dropFirst(3).map(\.path) == ["/3", "/4"] && runs.count == 5)
        }
    }

    @Test func aCancelLeavesTheLineAtOnce() async throws {
        try await withClock(.init(requestsPerSecond: 1)) { wire, clock async throws in
            let recorder = EventRecorder()
            let session = wire.session.with { $0.observers = [recorder] }
            #expect(session.rateLimiter === wire.session.rateLimiter)
            _ = try await wire.send()
            let bag = DeallocBag()
            let inBag = session.request(wire.url + "/0").start(in: bag)
            let waiting = (1...2).map { session.request(wire.url + "/\($0)").start() }
            await clock.waitForTimers(1)
            await recorder.wait { if case .rateLimited = $0 { true } else { false } }
            bag.end()
            #expect(waiting[0].cancel() == .cancelled && inBag.wasRefused == false)
            while session.rateLimiter?.waitingCount != 1 { await Task.yield() }
            clock.advance(by: .seconds(1))
            try await wire.server.waitForRequests(2)
            await session.agent.waitUntilIdle()
            #expect(wire.server.requests.map(\.path) == ["/", "/2"])
        }
    }

    @Test func theWaitCountsInTheTotalTime() async throws {
        try await withClock(.init(requestsPerSecond: 0.1)) { wire, clock async throws in
            _ = try await wire.send()
            async let outcome = wire.get("/late") { $0.timeouts.total = .seconds(4) }.outcome()
            await clock.waitForTimers(2)
            clock.advance(by: .seconds(4))
            guard case .failure(let error) = await outcome else { throw UnexpectedSuccess() }
            #expect(error.code == .totalTimeout && error.phase == .queued && !error.mayHaveReachedServer)
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test(arguments: [429, 503]) func aRetryAfterHoldsTheHost(_ status: Int) async throws {
        try await withClock(.retryAfterOnly) { wire, clock async throws in
            wire.server.enqueue(ScriptedResponse.status(status).header("Retry-After", "7"), for: "/first")
            #expect(try await wire.get("/first").failure().status == status)
            let runs = ["/second", "/second"].map { wire.session.request(wire.url + $0).start() }
            await clock.waitForTimers(1)
            while wire.session.rateLimiter?.waitingCount != 2 { await Task.yield() }
            clock.advance(by: .milliseconds(6_999))
            #expect(wire.session.rateLimiter?.waitingCount == 2 && wire.server.requests.count == 1)
            // Another host is another one's.
            let other = "http://localhost:\(wire.server.port)/other"
            _ = try await wire.session.send(other)
            clock.advance(by: .milliseconds(1))
            try await wire.server.waitForRequests(4)
            await wire.agent.waitUntilIdle()
            #expect(wire.server.requests.map(\.path) == ["/first", "/other", "/second", "/second"])
            withExtendedLifetime(runs) {}
        }
    }

    @Test func aHoldHasALimitAndCanBeSwitchedOff() async throws {
        for (limit, wait) in [
            (Session.Configuration.RateLimit(requestsPerSecond: .infinity, longestHold: .seconds(2)), 2),
            (.init(requestsPerSecond: .infinity, honorsRetryAfter: false), 0),
        ] {
            try await withClock(limit) { wire, clock async throws in
                wire.server.enqueue(ScriptedResponse.status(503).header("Retry-After", "3600"), for: "/")
                _ = try await wire.get().failure()
                let run = wire.session.request(wire.url + "/").start()
                if wait > 0 {
                    await clock.waitForTimers(1)
                    clock.advance(by: .seconds(wait))
                }
                try await wire.server.waitForRequests(2)
                await wire.agent.waitUntilIdle()
                _ = run
            }
        }
    }

    @Test func redirectsAndRetriesCount() async throws {
        try await withClock(.init(requestsPerSecond: 1, burst: 1)) { wire, clock async throws in
            wire.server.on("/old", .redirect(to: "/new"))
            wire.server.enqueue(.status(503), for: "/new")
            let run = wire.get("/old") { $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .nanoseconds(1), backoffCap: .nanoseconds(1)) }
                .start()
            for count in 1...3 {
                try await wire.server.waitForRequests(count)
                guard count < 3 else { break }
                await clock.waitForTimers(1)
                while wire.server.requests.count == count, wire.session.rateLimiter?.waitingCount == 0 { _ = clock.fireNext() }
                clock.advance(by: .seconds(1))
            }
            await wire.agent.waitUntilIdle()
            #expect(wire.server.requests.map(\.path) == ["/old", "/new", "/new"])
            _ = run
        }
    }

    /// A run that waits for a connection, or is suspended there, takes nobody's turn for ever.
    @Test func aSuspendedRunGivesItsPlaceBack() async throws {
        try await withClock(.init(requestsPerSecond: 1, burst: 1), configure: { $0.limits.perHost = 1 }) { wire, clock async throws in
            wire.server.on("/slow", ScriptedResponse.ok().stalling(.beforeHead))
            let slow = wire.session.request(wire.url + "/slow").start()
            try await wire.server.waitForStalls()
            clock.advance(by: .seconds(10))
            let suspended = wire.session.request(wire.url + "/suspended").start()
            let other = wire.session.request(wire.url + "/other").start()
            #expect(suspended.suspend())
            #expect(wire.session.rateLimiter?.waitingCount == 1, "there is one place, and it has not been sent")
            slow.cancel()
            try await wire.server.waitForRequests(2, path: nil)
            #expect(wire.server.requests.last?.path == "/other")
            clock.advance(by: .seconds(1))
            #expect(suspended.resume())
            try await wire.server.waitForRequests(3)
            await wire.agent.waitUntilIdle()
            _ = other
        }
    }

    @Test(arguments: [0, -1, .nan, 1e-10]) func aLimitThatMakesNoSense(_ rate: Double) async throws {
        try await withWire {
            $0.rateLimit = .init(requestsPerSecond: rate)
        } _: { wire async throws in
            #expect(try await wire.get().failure().code == .invalidOption)
            let burst = wire.session.with { $0.rateLimit = .init(requestsPerSecond: 1, burst: 0) }
            #expect(try await burst.request(wire.url).failure().code == .invalidOption)
            let slow = wire.session.with { $0.rateLimit = .init(requestsPerSecond: 1e-5, burst: 1_000_000) }
            #expect(try await slow.request(wire.url).failure().code == .invalidOption)
            let hold = wire.session.with { $0.rateLimit = .init(requestsPerSecond: 1, longestHold: .seconds(-1)) }
            #expect(try await hold.request(wire.url).failure().code == .invalidOption)
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    /// By the system's clock: 20 requests at 100 a second, 5 of them at once, take 150 ms.
    @Test func theServerSeesTheRate() async throws {
        try await withWire {
            $0.rateLimit = .init(requestsPerSecond: 100, burst: 5)
        } _: { wire async throws in
            wire.server.on("/", .ok())
            let started = ContinuousClock.now
            _ = try await wire.session.values(of: (0..<20).map { _ in wire.session.request(wire.url + "/") })
            #expect(ContinuousClock.now - started >= .milliseconds(150))
            #expect(wire.server.requests.count == 20)
        }
    }
}
