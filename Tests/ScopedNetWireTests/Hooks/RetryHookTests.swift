import CleanSlate
import Foundation
import ScopedNetTestServer
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// ``Request/decideRetry(fileID:line:_:)`` and ``RequestHooks/retry``, by what the server saw.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct RetryHookTests {
    @Test func theProgramSeesTheAttemptAndAsksForAnother() async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(ScriptedResponse.json(#"{"code":17}"#).with { $0.status = 409 })
            wire.server.enqueue(ScriptedResponse.json(#"{"code":17}"#).with { $0.status = 409 })
            wire.server.on("/", .ok("there"))
            let asked = Gathered<String>()
            // A POST, without any policy: neither the method nor the attempts stand in the way.
            let value = try await wire.session.post(wire.url + "/", json: ["n": 1]).decideRetry { proposal in
                let code = (try? JSONDecoder().decode([String: Int].self, from: proposal.body))?["code"]
                asked.add("\(proposal.method) \(proposal.attempt) \(proposal.head?.status ?? 0) \(code ?? 0) \(proposal.decision)")
                return code == 17 ? .retry(after: .milliseconds(1)) : .asDecided
            }.value()
            #expect(value == Data("there".utf8))
            #expect(asked.all == (1...2).map { "POST \($0) 409 17 stop(retries are off)" })
            #expect(wire.server.requests.map(\.text) == [#"{"n":1}"#, #"{"n":1}"#, #"{"n":1}"#])
        }
    }

    @Test func theProgramStopsWhatThePolicyWouldRepeat() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1))
            $0.options.hooks.retry = { $0.attempt < 2 ? .asDecided : .stop }
        } _: { wire async throws in
            wire.server.on("/", .status(503))
            let error = try await wire.get().failure()
            #expect(error.code == .unacceptableStatus && error.status == 503)
            #expect(wire.server.requests.count == 2)
        }
    }

    /// A failure of the transfer comes with its error.
    @Test func aLostConnectionIsDecidedToo() async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(ScriptedResponse.ok("never").ending(.reset(afterBytes: 2)))
            wire.server.on("/", .ok("there"))
            let codes = Gathered<NetworkError.Code?>()
            let value = try await wire.session.post(wire.url + "/", json: ["n": 1]).decideRetry { proposal in
                codes.add(proposal.error?.code)
                return .retry(after: .zero)
            }.value()
            #expect(value == Data("there".utf8) && codes.all == [.connectionLost] && wire.server.requests.count == 2)
        }
    }

    /// Neither a body that is gone nor a stream that has begun is repeated, whoever wants it.
    @Test func nobodyIsAskedAboutABodyThatIsGone() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .status(503))
            let body = AsyncStream {
                $0.yield(Data("x".utf8)); $0.finish()
            }
            let error = try await wire.session.upload(wire.url + "/", from: body).decideRetry { _ in
                Issue.record("asked")
                return .retry(after: .zero)
            }.failure()
            #expect(error.status == 503 && wire.server.requests.count == 1)
        }
    }

    @Test func whatItThrowsEndsTheRun() async throws {
        struct Refused: Error {}
        try await withWire { wire async throws in
            wire.server.on("/", .status(503))
            let error = try await wire.get().decideRetry { _ in throw Refused() }.failure()
            #expect(error.code == .hookFailed && error.underlying is Refused && wire.server.requests.count == 1)
        }
    }

    /// The page goes while the closure of its request decides: nothing more is sent, and nothing is left.
    @Test func theOwnersEndTakesTheQuestionBack() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .status(503))
            let bag = DeallocBag()
            let (questions, asked) = AsyncStream.makeStream(of: Void.self)
            let run = wire.get().decideRetry { _ in
                asked.yield()
                try await Task.sleep(for: .seconds(600))
                return .retry(after: .zero)
            }.start(in: bag)
            for await _ in questions { break }
            bag.end()
            await wire.agent.waitUntilIdle()
            #expect(run.status.stage == .cancelled && wire.server.requests.count == 1)
        }
    }
}
