import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Requests and heads as swift-http-types has them, in and out.
@Suite(.leavesNothing) struct HTTPTypesTests {
    private func session(_ base: String? = nil) -> Session {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.baseURL = base
        return Session(configuration: configuration)
    }

    @Test(
        arguments: [
            HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/"),
            HTTPRequest(method: .put, scheme: "https", authority: "a.example:8443", path: "/x/y%20z?q=1&r", headerFields: [.accept: "*/*"]),
            HTTPRequest(method: .init("PROPFIND") ?? .get, scheme: "http", authority: "[::1]:8080", path: "/a//b?c=/d?e"),
            HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/?only=query"),
        ])
    func whatGoesInComesOut(_ request: HTTPRequest) throws {
        var request = request
        for value in ["1", "2", ""] { request.headerFields.append(HTTPField(name: .init("X-Many") ?? .accept, value: value)) }
        request.headerFields.append(HTTPField(name: .init("x-many") ?? .accept, value: "3"))
        let out = try session().request(request).httpRequest()
        #expect(out == request)
        // The order and spelling of fields, which equality of HTTPFields does not look at.
        #expect(out.headerFields.map(\.name.rawName) == request.headerFields.map(\.name.rawName))
    }

    @Test(
        arguments: [
            (nil, nil, "posts?x=1", "http://base.invalid/api/posts?x=1"), (nil, nil, "/posts", "http://base.invalid/posts"),
            (nil, nil, nil, "http://base.invalid/api/"), (nil, "other.invalid", "/a", "http://other.invalid/a"),
            ("https", "other.invalid", nil, "https://other.invalid/"), ("https", "other.invalid", "a", "https://other.invalid/a"),
            // A path, not a host: whoever chooses the path does not choose the server.
            (nil, nil, "//evil.invalid/a", "http://base.invalid//evil.invalid/a"),
        ] as [(String?, String?, String?, String)])
    func whatIsMissingComesFromTheBase(scheme: String?, authority: String?, path: String?, url: String) throws {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        let out = try session("http://base.invalid/api/").request(request).httpRequest()
        #expect(out.url?.absoluteString == url)
    }

    @Test(
        arguments: [
            (HTTPRequest(method: .connect, scheme: nil, authority: "a.example:443", path: nil), NetworkError.Code.invalidOption),
            (HTTPRequest(method: .options, scheme: "http", authority: "a.example", path: "*"), .invalidOption),
            (HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/a#b"), .invalidURL),
            (HTTPRequest(method: .get, scheme: "ftp", authority: "a.example", path: "/a"), .unsupportedScheme),
            (HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/a"), .invalidURL),
        ])
    func whatCannotBeSentFailsAtTheStart(_ request: HTTPRequest, _ code: NetworkError.Code) async throws {
        let session = session()
        let made = session.request(request)
        let error = await #expect(throws: NetworkError.self) { try await made.value() }
        #expect(error?.code == code)
        let told = #expect(throws: NetworkError.self) { try made.httpRequest() }
        #expect(told?.code == code || request.method == .connect)
        await session.agent.waitUntilIdle()
    }

    /// RFC 9110 section 9.3.6: its success has no body, whatever the fields say; nobody may ask for that by accident.
    @Test func aTunnelIsNoRequest() async throws {
        let session = session()
        let made = session.request("http://127.0.0.1:1/", method: .connect)
        let error = await #expect(throws: NetworkError.self) { try await made.value() }
        #expect(error?.code == .invalidOption)
        await session.agent.waitUntilIdle()
    }

    @Test func itIsSentAsItIsAndTheHeadComesBack() async throws {
        try await withHouse { house in
            let headers: HeaderList = ["Content-Type": "text/plain", "X-A": "1", "X-B": "2", "X-A": "3"]
            house.server.on("/p", ScriptedResponse(status: 203, headers: headers, body: .bytes(Array("yes".utf8))))
            let port = house.server.port
            var request = HTTPRequest(method: .post, scheme: "http", authority: "127.0.0.1:\(port)", path: "/p?q=%41")
            request.headerFields.append(HTTPField(name: .init("X-Twice") ?? .accept, value: "1"))
            request.headerFields.append(HTTPField(name: .init("X-Twice") ?? .accept, value: "2"))
            let response = try await house.session.request(request, body: .data(Data("body".utf8))).response()
            let seen = try #require(house.server.requests.first)
            #expect(seen.method == "POST" && seen.target == "/p?q=%41" && seen.body == Array("body".utf8))
            #expect(seen.headers.filter { $0.name.lowercased() == "x-twice" }.map(\.value) == ["1", "2"])
            let head = response.head.httpResponse
            #expect(head.status.code == 203 && head.headerFields[values: .init("X-A") ?? .accept] == ["1", "3"])
            #expect(response.value == Data("yes".utf8))
        }
    }
}
