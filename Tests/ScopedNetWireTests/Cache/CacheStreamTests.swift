import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Streams go past the cache, and what they do to a server is no secret to it.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CacheStreamTests {
    private func read(_ stream: StreamedResponse) async throws -> Data {
        var body = Data()
        for try await piece in stream.bytes { body += piece }
        return body
    }

    @Test func anUnsafeMethodThroughAStreamThrowsAwayBeforeItsHeadIsKnown() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("a"))
            _ = try await cached.get()
            let stream = try await cached.wire.session.stream(cached.server.url + "/", method: .post, body: .data(Data("x".utf8)))
            #expect(cached.cache.statistics.hits == 0)
            #expect(try await cached.get().source == .network)
            #expect(try await read(stream) == Data("a".utf8))
        }
    }

    @Test func aFailedOneThrowsNothingAway() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(fresh("a"))
            cached.server.enqueue(.status(500))
            _ = try await cached.get()
            let error = await #expect(throws: NetworkError.self) {
                try await cached.wire.session.stream(cached.server.url + "/", method: .delete)
            }
            #expect(error?.response?.status == 500)
            #expect(try await cached.get().source == .cache)
        }
    }

    /// The head of the first attempt is nobody's, and says nothing of what the second one does.
    @Test func theAttemptThatSucceedsThrowsAway() async throws {
        try await withCache {
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))
        } _: { cached async throws in
            cached.server.on("/", fresh("a"))
            _ = try await cached.get()
            #expect(try await cached.get().source == .cache)
            cached.server.enqueue(.status(503))
            let stream = try await cached.wire.session.stream(cached.server.url + "/", method: .put, body: .data(Data("x".utf8)))
            #expect(cached.server.requests.map(\.method) == ["GET", "PUT", "PUT"])
            #expect(try await cached.get().source == .network)
            #expect(try await read(stream) == Data("a".utf8))
        }
    }

    /// A stream asks the cache for nothing, however it ends.
    @Test func aStreamIsNoMiss() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(.status(500))
            cached.server.on("/", fresh("a"))
            await #expect(throws: NetworkError.self) { try await cached.wire.session.stream(cached.server.url + "/", method: .delete) }
            _ = try await read(cached.wire.session.stream(cached.server.url + "/", method: .delete))
            #expect(cached.cache.statistics == ResponseCache.Statistics())
        }
    }

    /// A redirect is an answer, too, and what it leads to is another resource.
    @Test func eachHopOfARedirectedOneThrowsAway() async throws {
        try await withCache { cached async throws in
            cached.server.on("/") { request in request.method == "GET" ? fresh("a") : .redirect(to: "/b", status: 307) }
            cached.server.on("/b", fresh("b"))
            for path in ["/", "/b"] { _ = try await cached.get(path) }
            let stream = try await cached.wire.session.stream(cached.server.url + "/", method: .put, body: .data(Data("x".utf8)))
            #expect(try await read(stream) == Data("b".utf8))
            for path in ["/", "/b"] { #expect(try await cached.get(path).source == .network, "\(path)") }
        }
    }

    @Test func aStreamedGETStoresNothingAndThrowsNothingAway() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("a"))
            _ = try await read(cached.wire.session.stream(cached.server.url + "/"))
            #expect(try await cached.get().source == .network)
            _ = try await read(cached.wire.session.stream(cached.server.url + "/"))
            #expect(try await cached.get().source == .cache)
            #expect(cached.server.requests.count == 3)
        }
    }

    @Test(arguments: [true, false]) func onlyWhatIsStoredIsNoStreamAndAsksNobody(byPolicy: Bool) async throws {
        try await withCache {
            if byPolicy { $0.options.cache.read = .only }
        } _: { cached async throws in
            cached.server.on("/", fresh("a"))
            let headers: HTTPFields = byPolicy ? [:] : [.cacheControl: "max-stale, Only-If-Cached"]
            let error = await #expect(throws: NetworkError.self) {
                try await cached.wire.session.stream(cached.server.url + "/", headers: HeaderFields(headers))
            }
            #expect(error?.code == .invalidOption)
            #expect(cached.server.requests.isEmpty)
        }
    }
}
