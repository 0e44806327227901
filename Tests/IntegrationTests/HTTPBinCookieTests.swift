import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// Cookies as httpbin sets and reads them. The library keeps none by itself: what must hold is that the fields pass as they are.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin), .timeLimit(.minutes(2)))
struct HTTPBinCookieTests {
    private struct Jar: Decodable, Sendable { let cookies: [String: String] }

    private let session = Servers.session()
    private func url(_ path: String) -> String { Servers.httpbinURL + path }

    /// The head of a redirect that is not followed.
    private func redirect(_ path: String) async throws -> ResponseHead {
        let error = try await session.request(url(path)).options { $0.redirects.mode = .never }.failure()
        let head = try #require(error.response)
        #expect(head.status == 302)
        return head
    }

    /// A value of `Expires` holds a comma: joined into one line, two cookies could not be told apart (RFC 6265 section 3).
    @Test func severalSetCookieFieldsAreKeptApart() async throws {
        let head = try await redirect("/cookies/set?first=1&second=2")
        #expect(Set(head.headers[values: .setCookie]) == ["first=1; Path=/", "second=2; Path=/"])
    }

    @Test func aDateAndAQuotedValueArriveAsTheyWere() async throws {
        let cookie = #"id="a,b"; Expires=Wed, 21 Oct 2093 07:28:00 GMT; HttpOnly"#
        let other = "flag=; SameSite=Lax"
        let query = [cookie, other].map { "Set-Cookie=" + ($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "") }
        let response = try await session.request(url("/response-headers?" + query.joined(separator: "&"))).response()
        #expect(response.head.headers[values: .setCookie] == [cookie, other])
    }

    @Test func aCookieThatIsSentIsRead() async throws {
        let jar = try await session.request(url("/cookies"), headers: [.cookie: "a=1; b=x%20y"], decoder: .json(Jar.self)).value()
        #expect(jar.cookies == ["a": "1", "b": "x%20y"])
    }

    /// What a server set is sent back by whoever read it, and by nobody else: there is no jar behind the session.
    @Test func whatWasSetIsSentBackByHandAlone() async throws {
        let set = try await redirect("/cookies/set?session=4711")
        let unasked = try await session.request(url("/cookies"), decoder: .json(Jar.self)).value()
        #expect(unasked.cookies.isEmpty)
        let pairs = set.headers[values: .setCookie].map { String($0.prefix { $0 != ";" }) }
        let jar = try await session.request(
            url("/cookies"), headers: [.cookie: pairs.joined(separator: "; ")], decoder: .json(Jar.self)
        ).value()
        #expect(jar.cookies == ["session": "4711"])
    }

    /// The redirect stays at its origin, and the field goes along.
    @Test func aCookieOfTheRequestFollowsARedirect() async throws {
        let jar = try await session.request(
            url("/redirect-to?url=/cookies&status_code=307"), headers: [.cookie: "a=1"], decoder: .json(Jar.self)
        ).value()
        #expect(jar.cookies == ["a": "1"])
    }
}
