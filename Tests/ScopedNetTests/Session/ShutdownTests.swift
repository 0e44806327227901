import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// `Session.shutdown(cancelling:)` and the sessions that share its transport.
@Suite(.leavesNothing) struct ShutdownTests {
    private func outcome(_ request: Request<Data>) -> Task<Result<Data, NetworkError>, Never> {
        Task {
            do throws(NetworkError) { return .success(try await request.value()) } catch { return .failure(error) }
        }
    }

    @Test func drainingWaitsForADerivedSessionWithAnotherAgent() async throws {
        try await withStage { session, stage in
            let derived = session.with { $0.agent = RequestAgent() }
            let running = outcome(derived.request("http://h/"))
            await stage.waitForStarts(1)
            let shutdown = Task { await session.shutdown(cancelling: false) }
            while session.link.users.acceptsRun { await Task.yield() }
            stage.succeed(stage.started[0])
            let result = await running.value
            #expect(throws: Never.self) { try result.get() }
            await shutdown.value
            await derived.agent.waitUntilIdle()
        }
    }

    @Test func cancellingReachesADerivedSessionWithAnotherAgent() async throws {
        try await withStage { session, stage in
            let derived = session.with { $0.agent = RequestAgent() }
            let running = outcome(derived.request("http://h/"))
            await stage.waitForStarts(1)
            await session.shutdown()
            let result = await running.value
            #expect(throws: NetworkError.self) { try result.get() }
            if case .failure(let error) = result { #expect(error.cancelReason == .shutdown) }
            #expect(derived.agent.liveCount == 0)
        }
    }

    @Test func laterStartsOfAllWhoShareTheTransportAreRefused() async throws {
        try await withStage { session, stage in
            let derived = session.with { $0.agent = RequestAgent() }
            await session.shutdown(cancelling: false)
            for one in [session, derived] {
                let result = await outcome(one.request("http://h/")).value
                guard case .failure(let error) = result else { return #expect(Bool(false), "it was taken") }
                #expect(error.code == .shutdown)
            }
            #expect(stage.started.isEmpty)
            await derived.agent.waitUntilIdle()
        }
    }

    @Test func aTokenThatARunningRequestNeedsIsFetched() async throws {
        try await withStage { session, stage in
            let fetches = Trace()
            let shut = Latch()
            let tokens = TokenSource { [session] _ in
                fetches.add("asked")
                await shut.wait()
                let data = try await session.request("http://h/token").value()
                return String(decoding: data, as: UTF8.self)
            }
            let request = session.request("http://h/data").options { $0.authentication = .tokens(tokens, at: "http://h/") }
            let running = outcome(request)
            await fetches.wait(for: 1)
            let shutdown = Task { await session.shutdown(cancelling: false) }
            while session.link.users.acceptsRun { await Task.yield() }
            shut.open()
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0], body: "secret")
            await stage.waitForStarts(2)
            stage.succeed(stage.started[1])
            let result = await running.value
            #expect(throws: Never.self) { try result.get() }
            await shutdown.value
        }
    }
}
