import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct TransportRequestHeadTests {
    // REQ-4, REQ-5
    @Test func aPlainGetIsMinimal() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            _ = try await wire.send()
            let request = try await wire.server.takeRequest()
            #expect(request.httpVersion == "1.1")
            #expect(request.headers.map { $0.name.lowercased() }.sorted() == ["accept", "accept-encoding", "host", "user-agent"])
            #expect(request["host"] == "127.0.0.1:\(wire.server.port)")
            #expect(request["user-agent"]?.hasPrefix("ScopedNet/") == true)
            #expect(request["accept"] == "*/*")
        }
    }

    @Test func fieldsKeepTheOrderTheyWereGivenIn() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            let names = (0..<12).map { "x-field-\($0 * 7 % 12)" }
            var own = HTTPFields()
            for name in names { own.append(HTTPField(name: try #require(HTTPField.Name(name)), value: "1")) }
            _ = try await wire.session.request(wire.url + "/", headers: HeaderFields(own)).response()
            let request = try await wire.server.takeRequest()
            #expect(request.headers.map { $0.name.lowercased() }.filter { $0.hasPrefix("x-field") } == names)
        }
    }

    // REQ-3: whatever the case of the name.
    @Test func defaultFieldsGiveWayToTheRequestsOwn() async throws {
        try await withWire {
            $0.headers[.userAgent] = "mine"
            $0.headers["X-Default"] = "session"
            $0.headers["X-Both"] = "session"
        } _: { wire async throws in
            wire.server.on("/", .ok())
            var own = HTTPFields()
            own[HTTPField.Name("x-BOTH")!] = "request"
            own.append(HTTPField(name: HTTPField.Name("X-Twice")!, value: "1"))
            own.append(HTTPField(name: HTTPField.Name("X-Twice")!, value: "2"))
            own.append(HTTPField(name: HTTPField.Name("X-Empty")!, value: ""))
            _ = try await wire.session.request(wire.url + "/", headers: HeaderFields(own)).response()
            let request = try await wire.server.takeRequest()
            #expect(request["user-agent"] == "mine")
            #expect(request["x-default"] == "session")
            #expect(request.headers[all: "x-both"] == ["request"])
            #expect(request.headers[all: "x-twice"] == ["1", "2"])
            #expect(request.headers[all: "x-empty"] == [""])
        }
    }

    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "HEAD"])
    func methodsWithoutABody(_ method: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("hello"))
            let response = try await wire.send(method: method)
            #expect(response.body == (method == "HEAD" ? Data() : Data("hello".utf8)))
            let request = try await wire.server.takeRequest()
            #expect(request.method == method)
            #expect(request.body.isEmpty)
            // RFC 9110 section 8.6: methods that mean a body and have none say so, others say nothing.
            #expect(request["content-length"] == (["POST", "PUT", "PATCH"].contains(method) ? "0" : nil))
            #expect(request["transfer-encoding"] == nil)
            #expect(request["content-type"] == nil)
        }
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "GET", "PROPFIND"])
    func methodsWithABody(_ method: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/") { .ok($0.text) }
            #expect(try await wire.send(method: method, body: .data(Data("body".utf8))).body == Data("body".utf8))
            let request = try await wire.server.takeRequest()
            #expect(request.method == method)
            #expect(request["content-length"] == "4")
            #expect(request["content-type"] == nil)
            #expect(request["expect"] == nil)
        }
    }

    /// The server would answer with a length and no body, and we would wait for it.
    @Test func aHeadRequestWithABodyIsRefused() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("hello"))
            let error = try await wire.session.request(wire.url + "/", method: .head, body: .data(Data("b".utf8))).failure()
            #expect(error.code == .invalidOption)
            #expect(wire.server.requests.isEmpty)
        }
    }

    /// Framing is the transport's: a length that is not true would let one request speak inside another (RFC 9112 section 11.2).
    @Test(arguments: [("content-length", "3"), ("content-length", "4000"), ("transfer-encoding", "chunked"), ("transfer-encoding", "gzip")])
    func framingFieldsOfTheCallerAreRefused(_ name: String, _ value: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            let headers: HTTPFields = [HTTPField.Name(name)!: value]
            let withBody = wire.session.request(
                wire.url + "/", method: .post, headers: HeaderFields(headers), body: .data(Data("body".utf8)))
            #expect(try await withBody.failure().code == .invalidHeader)
            let without = wire.session.request(wire.url + "/", headers: HeaderFields(headers))
            #expect(try await without.failure().code == .invalidHeader)
            #expect(wire.server.requests.isEmpty)
        }
    }

    @Test func aTrueLengthIsNoHarm() async throws {
        try await withWire { wire async throws in
            wire.server.on("/") { .ok($0.text) }
            let request = wire.session.request(
                wire.url + "/", method: .post, headers: [.contentLength: "4"], body: .data(Data("body".utf8)))
            #expect(try await request.response().body == Data("body".utf8))
            #expect(try await wire.server.takeRequest().headers[all: "content-length"] == ["4"])
        }
    }

    @Test func userinfoBecomesAuthorizationAndStaysWithItsURL() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok())
            _ = try await wire.session.send("http://ann:p%3Ass@127.0.0.1:\(wire.server.port)/a")
            _ = try await wire.send("/b")
            let first = try await wire.server.takeRequest()
            #expect(first["authorization"] == "Basic YW5uOnA6c3M=")
            #expect(first.target == "/a")
            #expect(try await wire.server.takeRequest()["authorization"] == nil)
        }
    }

    @Test func queriesAndEscapesAreSentAsTheyAre() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok())
            _ = try await wire.send("/a%20b/%C3%BC?q=1&q=2&r=%26#fragment")
            #expect(try await wire.server.takeRequest().target == "/a%20b/%C3%BC?q=1&q=2&r=%26")
        }
    }

    @Test func lettersBeyondASCIIAreEscaped() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok())
            _ = try await wire.send("/ü?q=ü")
            #expect(try await wire.server.takeRequest().target.uppercased() == "/%C3%BC?Q=%C3%BC")
        }
    }

    @Test func relativeURLsUseTheBase() async throws {
        try await withLoopbackServer { server async throws in
            server.on("/*", .ok())
            try await withSession {
                $0.baseURL = server.url + "/api/v1/"
            } _: { session async throws in
                _ = try await session.send("posts?page=2")
                #expect(try await server.takeRequest().target == "/api/v1/posts?page=2")
                _ = try await session.send("/root")
                #expect(try await server.takeRequest().target == "/root")
                _ = try await session.send("../v2/x")
                #expect(try await server.takeRequest().target == "/api/v2/x")
            }
        }
    }

    /// What one request set on a pooled handle must not reach the next.
    @Test func handlesForgetWhatTheyWereSetTo() async throws {
        try await withWire { wire async throws in
            wire.server.on("/") { .ok($0.text) }
            _ = try await wire.send(method: "HEAD")
            _ = try await wire.send(method: "PROPFIND", body: .data(Data("x".utf8)))
            _ = try await wire.session.request(wire.url + "/", headers: [.authorization: "Bearer t"]).response()
            _ = try await wire.send(method: "POST", body: .stream(AsyncStream { $0.finish() }))
            let response = try await wire.send()
            #expect(response.body.isEmpty)
            let last = wire.server.requests[4]
            #expect(last.method == "GET")
            #expect(last.headers.map { $0.name.lowercased() }.sorted() == ["accept", "accept-encoding", "host", "user-agent"])
            #expect(wire.server.connectionsAccepted == 1)
        }
    }
}
