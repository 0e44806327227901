import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Two spellings of "é" are equal as `String`, and two resources for a server. One never answers for the other.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct URLIdentityTests {
    private static let spellings = ["/caf\u{E9}", "/cafe\u{301}"]

    private func targets(_ requests: [RecordedRequest]) -> [String] { requests.map { $0.target.uppercased() } }

    /// A plain GET has its template looked up by its URL, anything else the URL alone.
    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE"]) func eachSpellingIsSentAsItIs(_ method: String) async throws {
        try await withWire { wire async throws in
            let method = try #require(HTTPRequest.Method(method))
            for path in Self.spellings + Self.spellings.reversed() {
                _ = await wire.session.request(wire.url + path, method: method).outcome()
            }
            #expect(targets(wire.server.requests) == ["/CAF%C3%A9", "/CAFE%CC%81", "/CAFE%CC%81", "/CAF%C3%A9"].map { $0.uppercased() })
        }
    }

    @Test func relativeURLsAreToldApartToo() async throws {
        try await withLoopbackServer { server in
            try await withSession {
                $0.baseURL = server.url + "/menu/"
            } _: { session in
                for path in ["\u{E9}", "e\u{301}"] { _ = await session.request(path, headers: [.accept: "*/*"]).outcome() }
                #expect(targets(server.requests) == ["/MENU/%C3%A9", "/MENU/E%CC%81"].map { $0.uppercased() })
            }
            try await server.waitForOpenConnections { $0 == 0 }
        }
    }

    @Test func theCacheKeepsBoth() async throws {
        try await withCache { cached async throws in
            cached.server.on("/caf%C3%A9", fresh("one"))
            cached.server.on("/caf%c3%a9", fresh("one"))
            cached.server.on("/cafe%CC%81", fresh("two"))
            cached.server.on("/cafe%cc%81", fresh("two"))
            for source in [ResponseSource.network, .cache] {
                for (path, body) in zip(Self.spellings, ["one", "two"]) {
                    let response = try await cached.get(path)
                    #expect(response.body == Data(body.utf8) && response.source == source)
                }
            }
            // By the text that the request was made with.
            cached.cache.remove(cached.server.url + Self.spellings[0])
            #expect(try await cached.get(Self.spellings[0]).source == .network)
            #expect(try await cached.get(Self.spellings[1]).source == .cache)
        }
    }
}
