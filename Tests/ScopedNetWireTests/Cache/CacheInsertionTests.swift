import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// What is stored under one request because of another (YTK-15).
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CacheInsertionTests {
    private let minute: HTTPFields = [.cacheControl: "max-age=60"]

    @Test func aPartOfAListIsFoundByItsOwnRequest() async throws {
        try await withCache { cached async throws in
            let item = cached.wire.get("/item")
            let isStored = await cached.cache.store(Data("one".utf8), headers: minute, for: item)
            #expect(isStored)
            let response = try await cached.get("/item")
            #expect(response.source == .cache && response.body == Data("one".utf8) && response.status == 200)
            #expect(cached.server.requests.isEmpty)
        }
    }

    @Test func theRulesAndTheRequestsPolicyDecide() async throws {
        try await withCache { cached async throws in
            func store(_ headers: HTTPFields, _ path: String = "/", _ change: (inout RequestOptions) -> Void = { _ in }) async -> Bool {
                await cached.cache.store(Data("x".utf8), headers: headers, for: cached.wire.get(path, change))
            }
            let forbidden = await store([.cacheControl: "no-store"])
            let endless = await store([:])
            let off = await store(minute) { $0.cache = .off }
            let malformed = await cached.cache.store(Data(), headers: minute, for: cached.wire.session.request("http://["))
            let timed = await store([:], "/timed") { $0.cache.timeToLive = .seconds(60) }
            #expect([forbidden, endless, off, malformed, timed] == [false, false, false, false, true])
            let found = try await cached.get("/timed") { $0.cache.timeToLive = .seconds(60) }
            #expect(found.source == .cache)
        }
    }

    @Test func whatWasStoredIsReplacedHoweverFresh() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", .ok("old").header("Cache-Control", "max-age=60"))
            _ = try await cached.get()
            let isStored = await cached.cache.store(Data("new".utf8), headers: minute, for: cached.wire.get())
            let response = try await cached.get()
            #expect(isStored && response.body == Data("new".utf8) && cached.server.requests.count == 1)
        }
    }

    @Test func aWholeResponseLeavesBehindWhatIsOnlyItsOwn() async throws {
        try await withCache { cached async throws in
            let fields = ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Set-Cookie": "a=b"]
            cached.server.on("/here", fields.reduce(ScriptedResponse.ok("text")) { $0.header($1.key, $1.value) })
            let response = try await cached.get("/here")
            let isStored = await cached.cache.store(response, for: cached.wire.get("/there"))
            let other = try await cached.get("/there")
            #expect(isStored && other.source == .cache && other.body == response.body)
            #expect(response.head["etag"] == "\"1\"" && response.head["set-cookie"] == "a=b")
            #expect(other.head["content-type"] == response.head["content-type"])
            #expect(other.head["etag"] == nil && other.head["set-cookie"] == nil)
            let wrong = try await cached.wire.get("/nothing").options { $0.validation = .any }.response()
            let isRefused = await cached.cache.store(wrong, for: cached.wire.get("/there"))
            #expect(!isRefused)
        }
    }

    @Test func anEmptyBodyOfAHEADIsNoDocument() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", .ok("text").header("Cache-Control", "max-age=60"))
            let head = try await cached.wire.send(method: "HEAD")
            let isStored = await cached.cache.store(head, for: cached.wire.get("/other"))
            #expect(!isStored)
            let post = cached.wire.session.request(cached.wire.url, method: .post)
            let isPosted = await cached.cache.store(Data("x".utf8), headers: minute, for: post)
            #expect(!isPosted)
        }
    }

    @Test func aSessionSaysWhatItsCacheDid() async throws {
        try await withCache { cached async throws in
            await cached.cache.store(Data("four".utf8), headers: minute, for: cached.wire.get())
            _ = try await cached.get()
            #expect(cached.wire.session.cacheStatistics?.hitRate == 1 && cached.wire.session.cacheStatistics?.bytesSaved == 4)
        }
    }
}
