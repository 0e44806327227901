import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// What a request changed on the server is not served as it was, however the response ends (RFC 9111 section 4.4).
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CacheInvalidationTests {
    private static let methods = ["POST", "PUT", "DELETE", "PATCH", "LOCK"]

    /// A cached page, and a server that answers all other methods with `answer`.
    private func withPage(
        _ answer: ScriptedResponse, _ configure: (inout Session.Configuration) -> Void = { _ in },
        _ test: (CachedWire) async throws -> Void
    ) async throws {
        try await withCache(configure) { cached async throws in
            cached.server.on("/") { $0.method == "GET" ? fresh("page") : answer }
            _ = try await cached.get()
            #expect(try await cached.get().source == .cache)
            try await test(cached)
        }
    }

    private func change(_ cached: CachedWire, _ method: String, _ headers: HeaderFields = [:]) throws -> Request<Data> {
        cached.wire.session.request(cached.server.url + "/", method: try #require(.init(rawValue: method)), headers: headers)
    }

    @Test(arguments: methods) func aBodyThatBreaksOffInvalidates(_ method: String) async throws {
        try await withPage(.ok("0123456789").ending(.truncate(afterBytes: 4))) { cached async throws in
            #expect(try await change(cached, method).failure().code == .truncatedBody)
            #expect(try await cached.get().source == .network)
        }
    }

    /// Save, then close the page.
    @Test(arguments: methods) func anOwnerThatGoesAfterTheHeadInvalidates(_ method: String) async throws {
        try await withPage(.ok("0123456789").stalling(.afterBytes(4))) { cached async throws in
            let (bag, head) = (DeallocBag(), Latch())
            try change(cached, method).onResponseHead { _ in head.open() }.start(in: bag)
            await head.wait()
            bag.end()
            #expect(try await cached.get().source == .network)
        }
    }

    @Test(arguments: [200, 201, 202, 204, 206, 299, 300, 301, 302, 303, 304, 307, 308]) func noErrorInvalidates(_ status: Int) async throws
    {
        let answer = ScriptedResponse.status(status).header("Location", "http://elsewhere.test/")
        try await withPage(answer, { $0.options.redirects.mode = .never }) { cached async throws in
            _ = await (try change(cached, "PUT")).outcome()
            #expect(try await cached.get().source == .network)
        }
    }

    @Test(arguments: [400, 404, 410, 412, 500, 503]) func anErrorDoesNot(_ status: Int) async throws {
        try await withPage(.status(status)) { cached async throws in
            _ = try await change(cached, "PUT").failure()
            #expect(try await cached.get().source == .cache)
        }
    }

    /// The first hop has answered; that the second does not changes nothing about it.
    @Test func aRedirectInvalidatesThoughNothingComesOfIt() async throws {
        try await withPage(.redirect(to: "/lost", status: 307)) { cached async throws in
            cached.server.on("/lost", .failing)
            #expect(try await change(cached, "PUT").failure().code == .connectionLost)
            #expect(try await cached.get().source == .network)
        }
    }

    @Test func whatTheHeadNamesGoesToo() async throws {
        let answer = ScriptedResponse.ok("0123456789").header("Location", "/b").header("Content-Location", "/c").ending(
            .truncate(afterBytes: 4))
        for isKeyedByTheProgram in [false, true] {
            try await withPage(
                answer, { if isKeyedByTheProgram { $0.options.cache.customKey = CachePolicy.CustomKey("as it is") { $1 } } }
            ) { cached async throws in
                for path in ["/b", "/c", "/d"] {
                    cached.server.on(path, fresh(path))
                    _ = try await cached.get(path)
                }
                _ = try await change(cached, "POST").failure()
                // A key of the program's own is made on another thread than the network's.
                for path in ["/b", "/c"] { while try await cached.get(path).source == .cache {} }
                #expect(try await cached.get("/d").source == .cache)
            }
        }
    }

    /// A GET that was under way before must not bring the old page back.
    @Test func whatIsUnderWayIsNotStored() async throws {
        try await withCache { cached async throws in
            cached.server.on("/") {
                $0.method == "GET" ? fresh("page").stalling(.afterBytes(2)) : .ok("0123").ending(.truncate(afterBytes: 1))
            }
            async let page = cached.get()
            try await cached.server.waitForStalls()
            _ = try await change(cached, "PUT").failure()
            cached.server.releaseStalls()
            _ = try await page
            cached.server.on("/", fresh("new"))
            #expect(try await cached.get().body == Data("new".utf8))
        }
    }
}
