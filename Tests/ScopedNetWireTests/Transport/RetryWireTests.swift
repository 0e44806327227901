import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct RetryWireTests {
    private func withRetries(
        _ policy: RetryPolicy = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1)),
        _ test: (Wire, EventRecorder) async throws -> Void
    ) async throws {
        let recorder = EventRecorder()
        try await withWire {
            $0.options.retry = policy
            $0.observers = [recorder]
        } _: { wire async throws in
            try await test(wire, recorder)
        }
    }

    @Test func passingStatusesAreRetried() async throws {
        try await withRetries { wire, recorder async throws in
            wire.server.enqueue(.status(503))
            wire.server.enqueue(.status(429))
            wire.server.on("/", .ok("at last"))
            let response = try await wire.send()
            #expect(response.body == Data("at last".utf8))
            #expect(response.attempts.count == 3)
            await wire.agent.waitUntilIdle()
            #expect(recorder.retryDecisions == ["status 503: retry", "status 429: retry"])
            #expect(recorder.attempts == [1, 2, 3])
        }
    }

    @Test func theLastAnswerIsTheError() async throws {
        try await withRetries { wire, recorder async throws in
            wire.server.on("/", .ok("busy").with { $0.status = 503 })
            let error = try await wire.get().failure()
            #expect(error.code == .unacceptableStatus)
            #expect(error.attempt == 3)
            #expect(error.body == Data("busy".utf8))
            await wire.agent.waitUntilIdle()
            #expect(recorder.retryDecisions.last == "all 3 attempts were made: stop")
            #expect(wire.server.requests.count == 3)
        }
    }

    @Test func nothingIsRetriedByDefault() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .status(503))
            _ = try await wire.get().failure()
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test func postsAreNotRetriedOnceTheyMayHaveArrived() async throws {
        try await withRetries { wire, recorder async throws in
            wire.server.on("/", .failing)
            let error = try await wire.session.request(wire.url + "/", method: .post, body: .data(Data("x".utf8))).failure()
            #expect(error.code == .connectionLost)
            #expect(error.mayHaveReachedServer)
            #expect(wire.server.requests.count == 1)
            await wire.agent.waitUntilIdle()
            #expect(recorder.retryDecisions == ["the method is not idempotent: stop"])
        }
    }

    @Test func postsThatCannotHaveArrivedAreRetried() async throws {
        try await withRetries { wire, recorder async throws in
            let error = try await wire.session.request("http://127.0.0.1:1/", method: .post, body: .data(Data("x".utf8))).failure()
            #expect(error.code == .connectionRefused)
            #expect(error.attempt == 3)
        }
    }

    @Test func retryAfterInSeconds() async throws {
        try await withRetries(RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))) { wire, recorder async throws in
            wire.server.enqueue(.status(503).header("Retry-After", "1"))
            wire.server.on("/", .ok())
            _ = try await wire.send()
            await wire.agent.waitUntilIdle()
            let waits = recorder.events.compactMap { if case .retryDecided(_, let after) = $0 { after } else { nil } }
            #expect(waits.first.map { $0 >= .seconds(1) } == true, "\(waits)")
            let times = wire.server.requests.map(\.receivedAt)
            #expect(times[1] - times[0] >= .milliseconds(990))
        }
    }

    @Test func theBudgetHoldsBackAStorm() async throws {
        try await withRetries(RetryPolicy(maxAttempts: 4, backoffBase: .milliseconds(1))) { wire, recorder async throws in
            wire.server.on("/", .status(503))
            for _ in 0..<60 { _ = await wire.get().outcome() }
            await wire.agent.waitUntilIdle()
            #expect(recorder.retryDecisions.contains("the retry budget is empty: stop"))
            // Without a budget it would be 240. Twenty percent, and what the budget begins with.
            #expect(wire.server.requests.count < 60 + 12 + 20, "\(wire.server.requests.count)")
        }
    }

    @Test func cancellingWhileWaitingSendsNothingMore() async throws {
        try await withRetries(RetryPolicy(maxAttempts: 3, backoffBase: .seconds(60))) { wire, recorder async throws in
            wire.server.on("/", .status(503).header("Retry-After", "30"))
            let run = wire.get().start()
            await recorder.wait { if case .retryDecided = $0 { true } else { false } }
            #expect(await run.cancelAndWait() == .cancelled)
            #expect(wire.server.requests.count == 1)
        }
    }

    // MARK: Reused connections that were dead

    /// The server reads the second request of a kept connection and closes without a byte.
    private func withStaleConnection(_ policy: RetryPolicy = .none, _ test: (Wire, EventRecorder) async throws -> Void) async throws {
        try await withRetries(policy) { wire, recorder async throws in
            wire.server.on("/warm", .ok())
            _ = try await wire.send("/warm")
            wire.server.enqueue(.failing, for: "/")
            wire.server.on("/") { .ok($0.text) }
            try await test(wire, recorder)
        }
    }

    @Test func aGetIsSentAgainOnce() async throws {
        try await withStaleConnection { wire, recorder async throws in
            #expect(try await wire.send().status == 200)
            #expect(wire.server.requests.map(\.path) == ["/warm", "/", "/"])
            #expect(wire.server.connectionsAccepted == 2)
            await wire.agent.waitUntilIdle()
            #expect(recorder.retryDecisions == ["the reused connection was dead: retry"])
        }
    }

    @Test(arguments: ["PUT", "DELETE"])
    func anIdempotentRequestWithABodyIsSentAgain(_ method: String) async throws {
        try await withStaleConnection { wire, recorder async throws in
            for body in [RequestBody.data(bytes(10)), .data(bytes(300_000))] {
                #expect(try await wire.send(method: method, body: body).status == 200)
            }
        }
    }

    @Test(arguments: ["POST", "PATCH"])
    func aPostIsSeenAtMostOnce(_ method: String) async throws {
        try await withStaleConnection { wire, recorder async throws in
            let error = try await wire.session.request(wire.url + "/", method: .init(rawValue: method)!, body: .data(Data("x".utf8)))
                .failure()
            #expect(error.code == .connectionLost)
            #expect(error.mayHaveReachedServer)
            #expect(wire.server.requests.filter { $0.method == method }.count == 1)
        }
    }

    @Test func aPostWithoutABodyIsSeenAtMostOnce() async throws {
        try await withStaleConnection { wire, recorder async throws in
            #expect(try await wire.session.request(wire.url + "/", method: .post).failure().code == .connectionLost)
            #expect(wire.server.requests.filter { $0.method == "POST" }.count == 1)
        }
    }

    @Test func theSilentReconnectCanBeTurnedOff() async throws {
        try await withStaleConnection(RetryPolicy(maxAttempts: 1, silentReconnect: false)) { wire, recorder async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .connectionLost)
            #expect(wire.server.requests.filter { $0.path == "/" }.count == 1)
        }
    }

    @Test func aFreshConnectionThatDiesIsNoStaleOne() async throws {
        try await withRetries(.none) { wire, recorder async throws in
            wire.server.on("/", .failing)
            #expect(try await wire.get().failure().code == .connectionLost)
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test func onlyOneReconnectIsSilent() async throws {
        try await withStaleConnection { wire, recorder async throws in
            wire.server.enqueue(.failing, for: "/")
            #expect(try await wire.get().failure().code == .connectionLost)
            #expect(wire.server.requests.filter { $0.path == "/" }.count == 2)
        }
    }

    /// Closed while it was idle: that is noticed before anything is sent, for every method.
    @Test(arguments: ["GET", "POST"])
    func aConnectionClosedWhileIdleIsNotUsed(_ method: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/") { .ok($0.text) }
            _ = try await wire.send()
            let port = wire.server.port
            await wire.server.stop()
            // Closed, and not only about to be; and known to be.
            try await wire.server.waitForOpenConnections { $0 == 0 }
            try await LocalSockets.waitForTheirEnd(at: port)
            // Its port may have become somebody's outgoing one meanwhile, and nothing tells when it is free again.
            for attempt in 1... {
                do {
                    try await wire.server.start()
                    break
                } catch  where attempt < 500 {
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
            let body = method == "POST" ? RequestBody.data(Data("x".utf8)) : nil
            #expect(try await wire.send(method: method, body: body).status == 200)
            #expect(wire.server.requests.count == 2)
        }
    }
}
