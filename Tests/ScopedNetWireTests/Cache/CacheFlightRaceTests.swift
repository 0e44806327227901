import CleanSlate
import Foundation
import ScopedNetTestServer
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNet

/// The leader of a flight is cancelled while others leave it: somebody always stops a transfer that nobody wants, and nobody's code runs for
/// a value that nobody gets.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CacheFlightRaceTests {
    private func shared(_ text: String) -> ScriptedResponse {
        ScriptedResponse.ok(text).header("Cache-Control", "max-age=60").stalling(.afterBytes(1))
    }

    @Test func theLastFollowerLeavesBetweenTheLeadersQuestionAndItsStep() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", shared("nobody's"))
            let leader = cached.wire.get().start()
            try await cached.server.waitForStalls()
            let follower = cached.wire.get().start()
            await cached.untilFollowed()
            let driver = RaceDriver(cached.wire.session)
            driver.at(.gateAsked) { _ in follower.cancel() }
            leader.cancel()
            await cached.wire.agent.waitUntilIdle()
            try await cached.server.waitForOpenConnections { $0 == 0 }
            cached.server.releaseStalls()
            withExtendedLifetime(driver) {}
        }
    }

    @Test func theLastFollowerLeavesWhileTheCancelledLeadersCallbackRuns() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", shared("nobody's"))
            let leader = Lock<Run?>(nil)
            let follower = Lock<Run?>(nil)
            let isInside = DispatchSemaphore(value: 0)
            let mayReturn = DispatchSemaphore(value: 0)
            let run = cached.wire.get()
                .onDownloadProgress { progress in
                    guard progress.completed > 0 else { return }
                    isInside.signal()
                    mayReturn.wait()
                    leader.withLock { $0 }?.cancel()
                    follower.withLock { $0 }?.cancel()
                }.start()
            leader.withLock { $0 = run }
            try await cached.server.waitForStalls()
            let other = cached.wire.get().start()
            follower.withLock { $0 = other }
            await cached.untilFollowed()
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    isInside.wait()
                    continuation.resume()
                }
            }
            mayReturn.signal()
            await cached.wire.agent.waitUntilIdle()
            try await cached.server.waitForOpenConnections { $0 == 0 }
            cached.server.releaseStalls()
        }
    }

    @Test func aCancelledLeaderCannotHoldUpTheOthers() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", shared("shared"))
            let leader = cached.wire.get().start()
            try await cached.server.waitForStalls()
            async let follower = cached.get()
            await cached.untilFollowed()
            leader.cancel()
            #expect(!leader.suspend())
            cached.server.releaseStalls()
            #expect(try await follower.body == Data("shared".utf8))
            #expect(cached.server.requests.count == 1)
        }
    }

    @Test func aLeaderCancelledWhileItIsSuspendedDoesNotHoldUpTheOthers() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", shared("shared"))
            let leader = cached.wire.get().start()
            try await cached.server.waitForStalls()
            async let follower = cached.get()
            await cached.untilFollowed()
            let driver = RaceDriver(cached.wire.session)
            driver.at(.suspensionAsked) { _ in leader.cancel() }
            #expect(!leader.suspend())
            cached.server.releaseStalls()
            #expect(try await follower.body == Data("shared".utf8))
            #expect(cached.server.requests.count == 1)
            withExtendedLifetime(driver) {}
        }
    }

    @Test(arguments: [false, true]) func aCancelledLeaderMakesNoValue(asks: Bool) async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(shared("shared"))
            cached.server.on("/", .ok("shared"))
            let trace = Trace()
            let decoder = ResponseDecoder<Int> { _, body in
                trace.add("decoder")
                return body.count
            }
            let leader = cached.wire.session.request(cached.wire.url + "/", decoder: decoder)
                .options {
                    if asks {
                        $0.hooks.shouldCache = { _, _ in
                            trace.add("shouldCache")
                            return true
                        }
                    }
                }.start()
            try await cached.server.waitForStalls()
            async let follower = cached.get()
            await cached.untilFollowed()
            leader.cancel()
            cached.server.releaseStalls()
            #expect(try await follower.body == Data("shared".utf8))
            await cached.wire.agent.waitUntilIdle()
            #expect(trace.lines.isEmpty)
            // What only the leader's program could have judged is not in the cache: its follower asked for itself.
            #expect(cached.server.requests.count == (asks ? 2 : 1))
        }
    }
}
