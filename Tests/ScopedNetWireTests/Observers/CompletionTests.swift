import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// What observers are told of an ending, and what a response says of the time it took.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CompletionTests {
    private func completions(_ recorder: EventRecorder) -> [RequestEvent.Completion] {
        recorder.events.compactMap { if case .finished(let completion) = $0 { completion } else { nil } }
    }

    private func withRecorder(
        _ test: (Wire, @escaping @Sendable () async -> RequestEvent.Completion?) async throws -> Void
    ) async throws {
        let recorder = EventRecorder()
        try await withWire {
            $0.observers = [recorder]
        } _: { wire async throws in
            try await test(wire) { [self] in
                await wire.agent.waitUntilIdle()
                return completions(recorder).last
            }
        }
    }

    @Test func aBodyThatCannotBeDecodedHasItsLength() async throws {
        try await withRecorder { wire, completion async throws in
            wire.server.on("/", .json("no JSON"))
            _ = try await wire.session.get(wire.url + "/", as: [Int].self).failure()
            #expect(await completion()?.bodyBytes == 7)
        }
    }

    /// More than the error keeps.
    @Test func theLengthIsThatOfTheWholeBody() async throws {
        try await withRecorder { wire, completion async throws in
            wire.server.on(
                "/", ScriptedResponse.ok(.repeating(UInt8(ascii: "x"), count: 300_000)).header("Content-Type", "application/json"))
            let error = try await wire.session.get(wire.url + "/", as: [Int].self).failure()
            #expect(error.body?.count == 64 << 10)
            #expect(await completion()?.bodyBytes == 300_000)
            wire.server.on("/", ScriptedResponse.ok(.repeating(UInt8(ascii: "x"), count: 300_000)).with { $0.status = 404 })
            _ = try await wire.get().failure()
            #expect(await completion()?.bodyBytes == 300_000)
        }
    }

    @Test func aDecodedBodyHasItsDecodedLength() async throws {
        try await withRecorder { wire, completion async throws in
            let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA0tMHAWjYBQMdwAAA9o4mugDAAA="))
            wire.server.on("/", ScriptedResponse.ok(.bytes(Array(coded))).header("Content-Encoding", "gzip"))
            _ = try await wire.get().response()
            #expect(await completion()?.bodyBytes == 1000)
        }
    }

    @Test func filesAndStreamsHaveTheirLength() async throws {
        try await withRecorder { wire, completion async throws in
            wire.server.on("/", .ok("0123456789"))
            let folder = TemporaryFolder()
            _ = try await wire.session.download(wire.url + "/", to: URL(filePath: folder.path + "/file")).response()
            #expect(await completion()?.bodyBytes == 10)
            for try await _ in try await wire.session.stream(wire.url + "/").bytes {}
            #expect(await completion()?.bodyBytes == 10)
        }
    }

    /// The metrics are those of the last attempt; the wait before it is in the duration.
    @Test func theDurationIsThatOfTheWholeRun() async throws {
        let wait = Duration.milliseconds(150)
        let recorder = EventRecorder()
        try await withWire {
            $0.observers = [recorder]
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: wait)
            $0.random = { 1 }
        } _: { wire async throws in
            wire.server.enqueue(.status(503))
            wire.server.on("/", .ok("a"))
            let response = try await wire.get().response()
            #expect(response.attempts.count == 2)
            #expect(response.duration >= wait + response.attempts.reduce(.zero) { $0 + $1.total })
            await wire.agent.waitUntilIdle()
            let completion = try #require(completions(recorder).last)
            #expect(completion.duration >= response.duration)
        }
    }

    @Test func whatTheCacheAnswersHasADurationToo() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("a"))
            _ = try await cached.get()
            let second = try await cached.get()
            #expect(second.source == .cache && second.attempts.isEmpty && second.metrics.total == .zero)
            #expect(second.duration > .zero)
        }
    }
}
