import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// A jar behind the session: what httpbin sets is what it is told.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin), .timeLimit(.minutes(2)))
struct HTTPBinCookieJarTests {
    private struct Jar: Decodable, Sendable { let cookies: [String: String] }
    private struct Echo: Decodable, Sendable { let headers: [String: String] }

    private let jar = CookieJar()
    private let session: Session

    init() {
        let jar = jar
        session = Servers.session { $0.cookies = jar }
    }

    private func url(_ path: String) -> String { Servers.httpbinURL + path }

    private func told(_ path: String = "/cookies", _ change: (inout RequestOptions) -> Void = { _ in }) async throws -> [String: String] {
        try await session.get(url(path), as: Jar.self).options(change).value().cookies
    }

    private func names() -> Set<String> { Set(jar.cookies.map(\.name)) }

    /// httpbin leads to where its cookies are shown: the second exchange has them already.
    @Test func whatIsSetGoesAlongUntilItIsDeleted() async throws {
        let atOnce = try await told("/cookies/set?a=1&b=2")
        #expect(atOnce == ["a": "1", "b": "2"])
        #expect(names() == ["a", "b"])
        let later = try await told()
        #expect(later == atOnce)
        let fewer = try await told("/cookies/delete?a")
        #expect(fewer == ["b": "2"])
        #expect(names() == ["b"])
    }

    @Test func aRequestThatWantsNoneSendsAndKeepsNone() async throws {
        _ = try await told("/cookies/set?a=1")
        let without = try await told("/cookies/set?b=2") { $0.handlesCookies = false }
        #expect(without.isEmpty)
        #expect(names() == ["a"])
        let with = try await told()
        #expect(with == ["a": "1"])
    }

    @Test func aFieldOfTheRequestsOwnIsSentAlone() async throws {
        _ = try await told("/cookies/set?a=1")
        let echo = try await session.get(url("/cookies"), headers: [.cookie: "mine=1"], as: Jar.self).value()
        #expect(echo.cookies == ["mine": "1"])
    }

    /// Werkzeug puts such a value in quotes, and undoes that only where it comes back as it was.
    @Test func aValueInQuotesComesBackAsItWas() async throws {
        let told = try await told("/cookies/set/q/a%20b%3Bc%22")
        #expect(told == ["q": "a b;c\""])
    }

    @Test func aPathAndASecureConnectionAreMinded() async throws {
        for cookie in ["deep=1; Path=/anything", "safe=1; Secure"] {
            _ = try await session.get(url("/response-headers"), query: ["Set-Cookie": cookie]).value()
        }
        let above = try await told()
        #expect(above.isEmpty)
        let echo = try await session.get(url("/anything/below"), as: Echo.self).value()
        let sent = echo.headers["Cookie"]
        #expect(sent == "deep=1")
    }

    @Test func sessionsWithJarsOfTheirOwnAreStrangers() async throws {
        _ = try await told("/cookies/set?user=ann")
        let other = session.with { $0.cookies = CookieJar() }
        let seen = try await other.get(url("/cookies/set?user=bob"), as: Jar.self).value()
        #expect(seen.cookies == ["user": "bob"])
        let own = try await told()
        #expect(own == ["user": "ann"])
    }
}
