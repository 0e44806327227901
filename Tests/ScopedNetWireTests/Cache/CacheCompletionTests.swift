import CleanSlate
import Foundation
import Glibc
import HTTPTypes
import Persistence
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Beginnings that are stored, and what becomes of them when the rest comes, or does not.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CacheCompletionTests {
    private func beginning(_ body: Data, until count: Int, tag: String = "\"1\"") -> ScriptedResponse {
        ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60").header("ETag", tag)
            .header("Accept-Ranges", "bytes").ending(.truncate(afterBytes: count))
    }

    private func rest(_ body: Data, from start: Int, tag: String = "\"1\"") -> ScriptedResponse {
        ScriptedResponse.ok(.bytes(Array(body[start...]))).with { $0.status = 206 }
            .header("Content-Range", "bytes \(start)-\(body.count - 1)/\(body.count)").header("ETag", tag)
            .header("Cache-Control", "max-age=60")
    }

    /// The stored beginning is a FIFO: whoever opens it stands still until somebody writes.
    @Test func aCompletionThatBreaksOffReadsNothingOnTheNetworkThread() async throws {
        try await withCache { _ in
        } store: {
            $0.limits.inlineBodyBytes = 0
        } _: { cached async throws in
            let body = bytes(1000)
            cached.server.enqueue(beginning(body, until: 400))
            cached.server.enqueue(rest(body, from: 400).ending(.truncate(afterBytes: 100)))
            cached.server.on("/other", .ok("other"))
            _ = try await cached.wire.get().failure()
            let file = try #require(try await cached.bodyFiles().first)
            unlink(file)
            #expect(mkfifo(file, 0o600) == 0)
            async let broken = cached.wire.get().failure()
            try await cached.server.waitForRequests(2)
            let other = try await cached.get("/other") {
                $0.cache = .off
                $0.timeouts.total = .seconds(20)
            }
            #expect(other.body == Data("other".utf8))
            // Whoever waits for a writer meets one, and finds that this is no body.
            let end = open(file, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            #expect(try await broken.code == .truncatedBody)
            close(end)
        }
    }

    @Test func aCompletionThatBreaksOffIsGoneOnWithFromThere() async throws {
        try await withCache { _ in
        } store: {
            $0.limits.inlineBodyBytes = 0
        } _: { cached async throws in
            let body = bytes(1000)
            cached.server.enqueue(beginning(body, until: 400))
            cached.server.enqueue(rest(body, from: 400).ending(.truncate(afterBytes: 100)))
            cached.server.enqueue(rest(body, from: 500))
            for _ in 0..<2 {
                _ = try await cached.wire.get().failure()
                await cached.cache.store.relieveMemory()
            }
            let whole = try await cached.get()
            #expect(whole.body.isSame(as: body))
            #expect(cached.server.requests.map { $0["range"] } == [nil, "bytes=400-", "bytes=500-"])
            let hit = try await cached.get()
            #expect(hit.source == .cache && hit.body.isSame(as: body))
        }
    }

    /// The range is answered with another representation's: the beginning is thrown away, and what takes its place is stored.
    @Test func whatReplacesAWrongBeginningIsStored() async throws {
        try await withCache { cached async throws in
            let (old, new) = (bytes(1000), Data(bytes(1000).reversed()))
            cached.server.enqueue(beginning(old, until: 400))
            cached.server.enqueue(rest(new, from: 400, tag: "\"2\""))
            cached.server.on(
                "/", ScriptedResponse.ok(.bytes(Array(new))).header("Cache-Control", "max-age=60").header("ETag", "\"2\""))
            _ = try await cached.wire.get().failure()
            let whole = try await cached.get()
            #expect(whole.source == .network && whole.body.isSame(as: new))
            let hit = try await cached.get()
            #expect(hit.source == .cache && hit.body.isSame(as: new))
            #expect(cached.server.requests.map { $0["range"] } == [nil, "bytes=400-", nil])
        }
    }

    /// An invalidation while the second request is under way counts all the same.
    @Test func whatReplacesAWrongBeginningIsNotStoredAfterAnInvalidation() async throws {
        try await withCache { cached async throws in
            let (old, new) = (bytes(1000), Data(bytes(1000).reversed()))
            let whole = ScriptedResponse.ok(.bytes(Array(new))).header("Cache-Control", "max-age=60").header("ETag", "\"2\"")
            cached.server.enqueue(beginning(old, until: 400))
            cached.server.enqueue(rest(new, from: 400, tag: "\"2\""))
            cached.server.on("/", whole.stalling(.afterBytes(1)))
            _ = try await cached.wire.get().failure()
            async let response = cached.get()
            try await cached.server.waitForStalls()
            cached.cache.remove(cached.server.url + "/")
            cached.server.releaseStalls()
            #expect(try await response.body.isSame(as: new))
            cached.server.on("/", whole)
            #expect(try await cached.get().source == .network)
        }
    }

    /// Its beginning is in memory, and the rest might be more than memory is to hold: a file is asked for as a whole.
    @Test func aDownloadIsNotJoinedInMemory() async throws {
        try await withCache { cached async throws in
            let body = bytes(1000)
            cached.server.enqueue(beginning(body, until: 400))
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60").header("ETag", "\"1\""))
            _ = try await cached.wire.get().failure()
            let file = URL(fileURLWithPath: FileManager.default.temporaryDirectory.path + "/download-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            _ = try await cached.wire.session.download(cached.server.url + "/", to: file).options { $0.limits.bodyBytes = 500 }.response()
            #expect(FileManager.default.contents(atPath: file.path)?.isSame(as: body) == true)
            #expect(cached.server.requests.map { $0["range"] } == [nil, nil])
            let hit = try await cached.get()
            #expect(hit.source == .cache && hit.body.isSame(as: body))
        }
    }
}
