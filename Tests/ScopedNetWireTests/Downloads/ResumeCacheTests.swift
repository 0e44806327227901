import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Downloads that go on, in a session with a cache: what is not a whole response is neither looked up nor stored (YTK-12: never cached).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct ResumeCacheTests {
    private let body = bytes(1000)

    private func withCachedDownloads(_ test: (ResumeWire, CachedWire) async throws -> Void) async throws {
        let folder = TemporaryFolder()
        try await withCache {
            $0.options.downloads.resumes = true
        } _: { cached async throws in
            try await test(ResumeWire(wire: cached.wire, folder: folder), cached)
        }
    }

    private var storable: ScriptedResponse { tagged(body).header("Cache-Control", "max-age=60") }

    @Test func theRestIsNotStoredAndTheWholeIs() async throws {
        try await withCachedDownloads { wire, cached async throws in
            try await wire.breakOff(after: 400, of: storable)
            wire.server.on("/", storable)
            let rest = try await wire.download().response()
            #expect(wire.latest("range") == "bytes=400-" && rest.resumedBytes == 400 && wire.content == body)
            let whole = try await wire.download().response()
            #expect(wire.latest("range") == nil && whole.source == .network, "the rest was not stored as if it were the whole")
            let stored = try await wire.download().response()
            #expect(stored.source == .cache && stored.resumedBytes == 0)
            #expect(wire.server.requests.count == 3 && wire.content == body && wire.folder.names == ["file"])
        }
    }

    @Test func aRetryThatGoesOnIsNotStoredEither() async throws {
        try await withCachedDownloads { wire, cached async throws in
            wire.server.enqueue(storable.ending(.truncate(afterBytes: 400)), for: "/")
            wire.server.on("/", storable)
            let request = wire.download { $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1)) }
            let rest = try await request.response()
            #expect(wire.latest("range") == "bytes=400-" && rest.source == .network && wire.content == body)
            let whole = try await cached.get()
            #expect(whole.source == .network && whole.body == body)
        }
    }

    @Test func whereTheCacheAloneMayAnswerNothingIsAsked() async throws {
        try await withCachedDownloads { wire, cached async throws in
            try await wire.breakOff(after: 400, of: storable)
            let count = wire.server.requests.count
            let error = try await wire.download { $0.cache.read = .only }.failure()
            #expect(error.code == .notInCache && wire.server.requests.count == count)
            #expect(wire.part == body.prefix(400))
        }
    }
}
