import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// httpbin on gunicorn: what comes back says what was sent.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin), .timeLimit(.minutes(3)))
struct HTTPBinTests {
    private struct Echo: Decodable, Sendable {
        var method: String?
        var data: String?
        var headers: [String: String]
        var url: String
        var args: [String: String]?
        var json: [String: String]?
    }

    private let session = Servers.session()
    private func url(_ path: String) -> String { Servers.httpbinURL + path }

    @Test(arguments: [HTTPRequest.Method.get, .post, .put, .patch, .delete])
    func methodsBodiesAndFields(_ method: HTTPRequest.Method) async throws {
        let body: RequestBody? = method == .get ? nil : .data(Data(#"{"greeting":"grüß dich"}"#.utf8))
        let headers: HTTPFields = [.contentType: "application/json", .init("X-Own")!: "a, b"]
        let echo = try await session.request(
            url("/anything/a%20b?q=1%2B1&r=%C3%BC"), method: method, headers: HeaderFields(headers), body: body, decoder: .json(Echo.self)
        ).response().value
        #expect(echo.method == method.rawValue)
        #expect(echo.headers["X-Own"] == "a, b")
        #expect(echo.args == ["q": "1+1", "r": "ü"])
        #expect(echo.url.hasSuffix("/anything/a b?q=1%2B1&r=ü") || echo.url.contains("a%20b"))
        #expect(echo.json == (method == .get ? nil : ["greeting": "grüß dich"]))
    }

    @Test func headHasNoBody() async throws {
        let response = try await session.request(url("/bytes/5000"), method: .head).response()
        #expect(response.body.isEmpty)
        #expect(response.head["content-length"] == "5000")
    }

    @Test(arguments: [(200, true), (201, true), (204, true), (400, false), (404, false), (418, false), (500, false), (503, false)])
    func statuses(_ status: Int, _ isSuccess: Bool) async throws {
        if isSuccess {
            #expect(try await session.request(url("/status/\(status)")).response().status == status)
        } else {
            let error = try await session.request(url("/status/\(status)")).failure()
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?.status == status)
        }
    }

    @Test(arguments: ["/redirect/5", "/relative-redirect/5", "/absolute-redirect/5"])
    func redirectsAreFollowed(_ path: String) async throws {
        let response = try await session.request(url(path)).response()
        #expect(response.url == url("/get"))
        let few = try await session.request(url(path)).options { $0.redirects.maxRedirects = 3 }.failure()
        #expect(few.code == .tooManyRedirects)
    }

    /// RFC 9110 section 15.4: 303 turns into GET, 307 and 308 keep method and body.
    @Test(arguments: [(303, "GET", ""), (307, "POST", "body"), (308, "POST", "body")])
    func whatARedirectKeeps(_ status: Int, _ method: String, _ data: String) async throws {
        let echo = try await session.request(
            url("/redirect-to?url=/anything&status_code=\(status)"), method: .post, body: .data(Data("body".utf8)),
            decoder: .json(Echo.self)
        ).response().value
        #expect(echo.method == method)
        #expect(echo.data == data)
    }

    @Test(arguments: ["gzip", "deflate", "brotli"])
    func codings(_ coding: String) async throws {
        let response = try await session.request(url("/" + coding)).response()
        let json = try JSONSerialization.jsonObject(with: response.body) as? [String: Any]
        #expect(json?[coding == "gzip" ? "gzipped" : coding == "brotli" ? "brotli" : "deflated"] as? Bool == true)
    }

    @Test func timeoutsEndADelay() async throws {
        let error = try await session.request(url("/delay/5")).options { $0.timeouts.firstByte = .milliseconds(300) }.failure()
        #expect(error.code == .firstByteTimeout)
        #expect(error.mayHaveReachedServer)
        let idle = try await session.request(url("/drip?numbytes=2&duration=6&delay=0")).options { $0.timeouts.idle = .milliseconds(500) }
            .failure()
        #expect(idle.code == .idleTimeout)
    }

    @Test func aDripIsStreamed() async throws {
        let response = try await session.stream(url("/drip?numbytes=10&duration=1&delay=0"))
        var pieces = 0
        var count = 0
        for try await piece in response.bytes {
            pieces += 1
            count += piece.count
        }
        #expect(count == 10)
        #expect(pieces > 1)
    }

    @Test func chunkedLinesArriveWhole() async throws {
        let response = try await session.request(url("/stream/50")).response()
        #expect(response.body.split(separator: UInt8(ascii: "\n")).count == 50)
    }

    @Test func authorizationIsSentAsGiven() async throws {
        let basic = try await session.request(url("/basic-auth/user/pass"), headers: [.authorization: "Basic dXNlcjpwYXNz"]).response()
        #expect(basic.status == 200)
        let bearer = try await session.request(url("/bearer"), headers: [.authorization: "Bearer token"]).response()
        #expect(String(decoding: bearer.body, as: UTF8.self).contains(#""token": "token""#))
        #expect(try await session.request(url("/basic-auth/user/pass")).failure().response?.status == 401)
    }

    @Test func manyAtOnce() async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<64 {
                group.addTask { try await session.request(url("/bytes/\(number * 100)")).response().body.count - number * 100 }
            }
            for try await difference in group { #expect(difference == 0) }
        }
    }
}
