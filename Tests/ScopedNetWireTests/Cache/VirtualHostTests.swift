import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Virtual hosts behind one address: each has what was stored for it.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct VirtualHostTests {
    private func request(_ cached: CachedWire, _ host: String?, _ method: HTTPRequest.Method = .get, _ path: String = "/") -> Request<Data>
    {
        var headers = HTTPFields()
        if let host { headers[.hostField] = host }
        return cached.wire.session.request(cached.server.url + path, method: method, headers: HeaderFields(headers))
    }

    private func withHosts(_ test: (CachedWire) async throws -> Void) async throws {
        try await withCache { cached async throws in
            cached.server.on("/") { fresh("of \($0["host"] ?? "")") }
            try await test(cached)
        }
    }

    @Test func eachHostHasItsOwn() async throws {
        try await withHosts { cached async throws in
            for source in [ResponseSource.network, .cache] {
                for host in ["a.test", "b.test", nil] {
                    let response = try await request(cached, host).response()
                    #expect(response.source == source)
                    #expect(response.body == Data("of \(host ?? "127.0.0.1:\(cached.server.port)")".utf8))
                }
            }
            #expect(cached.server.requests.count == 3)
        }
    }

    @Test func theURLsOwnAuthorityIsNoOther() async throws {
        try await withHosts { cached async throws in
            _ = try await request(cached, nil).response()
            #expect(try await request(cached, "127.0.0.1:\(cached.server.port)").response().source == .cache)
            _ = try await request(cached, "a.test").response()
            for same in ["A.Test", "a.test:80", " a.test "] {
                #expect(try await request(cached, same).response().source == .cache, "\(same)")
            }
        }
    }

    @Test func requestsForTwoHostsDoNotWaitForEachOther() async throws {
        try await withCache { cached async throws in
            cached.server.on("/") { fresh("of \($0["host"] ?? "")").stalling(.beforeHead) }
            async let one = request(cached, "a.test").response()
            try await cached.server.waitForStalls()
            async let other = request(cached, "b.test").response()
            try await cached.server.waitForStalls(2)
            cached.server.releaseStalls()
            #expect(try await one.body == Data("of a.test".utf8))
            #expect(try await other.body == Data("of b.test".utf8))
        }
    }

    @Test func aChangeConcernsItsOwnHost() async throws {
        try await withHosts { cached async throws in
            for host in ["a.test", "b.test", nil] { _ = try await request(cached, host).response() }
            _ = try await request(cached, "a.test", .delete).response()
            #expect(try await request(cached, "b.test").response().source == .cache)
            #expect(try await request(cached, nil).response().source == .cache)
            #expect(try await request(cached, "a.test").response().source == .network)
        }
    }

    /// The server speaks of itself by the name it was called.
    @Test(arguments: ["/list", "http://a.test/list"]) func aReferenceIsOneOfTheVirtualHost(_ location: String) async throws {
        try await withCache { cached async throws in
            cached.server.on("/list", fresh("list"))
            for host in ["a.test", "b.test"] { _ = try await request(cached, host, .get, "/list").response() }
            cached.server.on("/", .status(201).header("Location", location))
            _ = try await request(cached, "a.test", .post).response()
            #expect(try await request(cached, "b.test", .get, "/list").response().source == .cache)
            #expect(try await request(cached, "a.test", .get, "/list").response().source == .network)
        }
    }

    @Test func whatIsStoredIsRemovedByItsHost() async throws {
        try await withHosts { cached async throws in
            for host in ["a.test", nil] { _ = try await request(cached, host).response() }
            cached.cache.remove(cached.server.url + "/")
            #expect(try await request(cached, "a.test").response().source == .cache)
            cached.cache.remove(cached.server.url + "/", host: "a.test")
            #expect(try await request(cached, "a.test").response().source == .network)
        }
    }

    // MARK: The key

    private func key(_ url: String, _ host: String?) -> CacheKey? {
        var fields = HTTPFields()
        if let host { fields[.hostField] = host }
        return CacheTable().strategy.key(for: CacheRequest(url: url, fields: fields))
    }

    @Test(
        arguments: [
            ("http://a.test/x", nil, "http://a.test/x"), ("http://a.test/x", "A.TEST", "http://a.test/x"),
            ("http://a.test/x", "a.test:80", "http://a.test/x"), ("https://a.test/x", "a.test:443", "https://a.test/x"),
            ("https://a.test/x", "a.test:80", "https://a.test/x host=a.test:80"),
            ("http://a.test/x", "b.test", "http://a.test/x host=b.test"),
            ("http://a.test/x", "", "http://a.test/x host="), ("http://a.test/x", "u@a.test", "http://a.test/x host=u@a.test"),
            ("http://a.test/x", "a.test/y", "http://a.test/x host=a.test/y"),
            ("http://a.test:8080/x", "a.test", "http://a.test:8080/x host=a.test"),
        ] as [(String, String?, String)])
    func theKeyHasAHostThatIsNotTheURLs(_ url: String, _ host: String?, _ uri: String) {
        #expect(key(url, host)?.uri == uri)
    }
}
