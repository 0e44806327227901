import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// What can be read off a request, a run and a response.
@Suite(.leavesNothing) struct ReadOutTests {
    // YTK-20
    @Test func statusAndResultAreTheRunsOwn() async throws {
        try await withStage { session, stage in
            let request = session.request("http://h/")
            #expect(request.status.stage == .created && !request.status.isExecuting)
            #expect(request.result == nil)

            let run = request.start()
            await stage.waitForStarts(1)
            #expect(request.status.stage == .transferring && request.status.isExecuting)
            run.suspend()
            let suspended = request.status
            #expect(suspended.stage == .suspended && suspended.isSuspended)
            run.resume()
            #expect(request.status.stage == .transferring)
            // A snapshot: it does not move on.
            #expect(suspended.stage == .suspended)
            #expect(request.result == nil)

            stage.succeed(stage.started[0], body: "done")
            await session.agent.waitUntilIdle()
            #expect(request.status.stage == .ended && !request.status.isExecuting)
            let value = try request.result?.get().value
            #expect(value == Data("done".utf8))
        }
    }

    /// YTK-20: the transport has not even said that it knows of the cancel.
    @Test func statusDoesNotWaitForTheTransport() async throws {
        try await withStage(endsCancelled: false) { session, stage in
            let request = session.request("http://h/")
            request.start()
            await stage.waitForStarts(1)
            #expect(request.cancel() == .cancelled)
            #expect(request.status.stage == .cancelled)
            #expect(request.status.cancelReason == .explicit)
            #expect(request.result == nil)
            stage.fail(stage.started[0], .cancelled)
            await session.agent.waitUntilIdle()
            #expect(request.status.stage == .cancelled)
            #expect(request.result == nil)
        }
    }

    @Test func theResultOfAFailureIsItsError() async throws {
        try await withStage { session, stage in
            let request = session.request("http://h/")
            request.start()
            await stage.waitForStarts(1)
            stage.fail(stage.started[0], .connectionLost)
            await session.agent.waitUntilIdle()
            guard case .failure(let error) = request.result else {
                Issue.record("no failure")
                return
            }
            #expect(error.code == .connectionLost)
        }
    }

    // YB-13, CT-8
    @Test func aResponseSaysWhatCameFromWhere() async throws {
        try await withHouse { house in
            house.server.on("/old", .redirect(to: "/new"))
            house.server.enqueue(ScriptedResponse.status(503).header("Retry-After", "0"), for: "/new")
            house.server.on("/new", .json(#"["one", "two"]"#))
            let response = try await house.session.get(house.url("/old"), as: [String].self)
                .options { $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .zero) }.response()
            #expect(response.value == ["one", "two"])
            #expect(response.head.status == 200 && response.status == 200)
            #expect(response.head["content-type"]?.hasPrefix("application/json") == true)
            #expect(response.body == Data(#"["one", "two"]"#.utf8))
            #expect(response.attempts.count == 3)
            #expect(response.url == house.url("/new"))
        }
    }

    // YB-13, CT-1, SES-5, defect 17
    @Test func idsAreUniqueInTheProcess() async throws {
        try await withStage { one, oneStage in
            try await withStage { two, twoStage in
                var ids: Set<UInt64> = []
                for session in [one, two, one, two] {
                    let request = session.request("http://h/")
                    #expect(ids.insert(request.id).inserted)
                    for _ in 0..<2 { #expect(ids.insert(request.start().id).inserted) }
                }
                #expect(ids.count == 12)
                #expect(!ids.contains(0), "0 is nobody's")
                for stage in [oneStage, twoStage] {
                    await stage.waitForStarts(4)
                    for started in stage.started { stage.succeed(started) }
                }
            }
        }
    }
}
