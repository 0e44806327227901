import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SES-10
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct RedirectWireTests {
    @Test(arguments: [
        (301, "POST", "GET", ""), (302, "POST", "GET", ""), (303, "POST", "GET", ""), (307, "POST", "POST", "body"),
        (308, "POST", "POST", "body"),
        (301, "PUT", "PUT", "body"), (302, "PUT", "PUT", "body"), (303, "PUT", "GET", ""), (307, "PUT", "PUT", "body"),
        (301, "GET", "GET", ""), (303, "HEAD", "HEAD", ""), (308, "HEAD", "HEAD", ""), (302, "DELETE", "DELETE", ""),
        (303, "DELETE", "GET", ""),
    ])
    func methodsAndBodies(_ status: Int, _ method: String, _ next: String, _ body: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: status))
            wire.server.on("/new", .ok("there"))
            let sends = ["POST", "PUT"].contains(method)
            let request = wire.session.request(
                wire.url + "/old", method: .init(rawValue: method)!, headers: sends ? [.contentType: "text/plain"] : [:],
                body: sends ? .data(Data("body".utf8)) : nil)
            let response = try await request.response()
            #expect(response.url == wire.url + "/new")
            #expect(response.attempts.count == 2)
            let second = wire.server.requests[1]
            #expect(second.method == next)
            #expect(second.text == body)
            #expect(second["content-type"] == (body.isEmpty ? nil : "text/plain"))
            #expect(second["content-length"] == (body.isEmpty ? nil : "4"))
        }
    }

    @Test(arguments: [
        ("new", "/a/b/new"), ("./new", "/a/b/new"), ("../new", "/a/new"), ("/new?x=1", "/new?x=1"), ("?x=2", "/a/b/c?x=2"),
        ("new#part", "/a/b/new"), ("/with space", "/with%20space"), ("/ü", "/%C3%BC"),
    ])
    func locationsAreResolved(_ location: String, _ target: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/a/b/c") { request in request.query == nil ? .redirect(to: location) : .ok() }
            wire.server.on("/*", .ok())
            _ = try await wire.send("/a/b/c")
            #expect(wire.server.requests.last?.target.uppercased() == target.uppercased())
        }
    }

    @Test func aLocationWithoutSchemeKeepsOurs() async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "//127.0.0.1:\(wire.server.port)/new"))
            wire.server.on("/new", .ok("there"))
            #expect(try await wire.send("/old").body == Data("there".utf8))
        }
    }

    // REQ-6
    @Test func credentialsStayAtTheirOrigin() async throws {
        try await withLoopbackServer { other async throws in
            other.on("/*", .ok("other"))
            try await withWire { wire async throws in
                wire.server.on("/away", .redirect(to: other.url + "/there", status: 307))
                wire.server.on("/home", .redirect(to: "/stay", status: 307))
                wire.server.on("/stay", .ok("home"))
                let headers: HTTPFields = [
                    .authorization: "Bearer secret", .cookie: "session=1", HTTPField.Name("X-Own")!: "kept",
                ]
                _ = try await wire.session.request(wire.url + "/away", headers: HeaderFields(headers)).response()
                let away = try await other.takeRequest()
                #expect(away["authorization"] == nil)
                #expect(away["cookie"] == nil)
                #expect(away["x-own"] == "kept")
                #expect(away["host"] == "127.0.0.1:\(other.port)")

                _ = try await wire.session.request(wire.url + "/home", headers: HeaderFields(headers)).response()
                let home = try #require(wire.server.requests.last)
                #expect(home["authorization"] == "Bearer secret")
                #expect(home["cookie"] == "session=1")
            }
        }
    }

    @Test func userinfoStaysAtItsOrigin() async throws {
        try await withLoopbackServer { other async throws in
            other.on("/*", .ok("other"))
            try await withWire { wire async throws in
                wire.server.on("/away", .redirect(to: "//127.0.0.1:\(other.port)/there"))
                wire.server.on("/home", .redirect(to: "stay"))
                wire.server.on("/stay", .ok())
                let base = "http://ann:secret@127.0.0.1:\(wire.server.port)"
                let response = try await wire.session.send(base + "/away")
                #expect(try await other.takeRequest()["authorization"] == nil)
                #expect(!response.url.contains("secret"))
                _ = try await wire.session.send(base + "/home")
                #expect(wire.server.requests.last?["authorization"] == "Basic YW5uOnNlY3JldA==")
            }
        }
    }

    @Test func fieldsTheCallerNamesStayToo() async throws {
        try await withLoopbackServer { other async throws in
            other.on("/*", .ok("other"))
            try await withWire {
                $0.options.redirects.additionalSensitiveNames = ["X-Api-Key"]
            } _: { wire async throws in
                wire.server.on("/away", .redirect(to: other.url + "/there"))
                _ = try await wire.session.request(wire.url + "/away", headers: ["x-api-key": "secret"]).response()
                #expect(try await other.takeRequest()["x-api-key"] == nil)
            }
        }
    }

    @Test func twentyAreFollowedAndNotOneMore() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*") { request in
                let number = Int(request.path.dropFirst()) ?? 0
                return number == 0 ? .ok("end") : .redirect(to: "/\(number - 1)")
            }
            #expect(try await wire.send("/20").body == Data("end".utf8))
            let error = try await wire.get("/21").failure()
            #expect(error.code == .tooManyRedirects)
            #expect(wire.server.requests.count == 21 + 21)
        }
    }

    @Test func encryptionIsNotGivenUp() async throws {
        let authority = try TestAuthority()
        try await withLoopbackServer { plain async throws in
            plain.on("/", .ok("plain"))
            try await withWire(.tls(authority)) {
                $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            } _: { wire async throws in
                wire.server.on("/", .redirect(to: plain.url + "/"))
                #expect(try await wire.get().failure().code == .redirectRefused)
                #expect(plain.connectionsAccepted == 0)
                #expect(try await wire.get { $0.redirects.allowsDowngrade = true }.response().body == Data("plain".utf8))
            }
        }
    }

    @Test func notFollowedWhenTold() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .redirect(to: "/x"))
            let error = try await wire.get { $0.redirects.mode = .never }.failure()
            #expect(error.code == .unacceptableStatus)
            #expect(error.response?["location"] == "/x")
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test func cancellingBetweenHops() async throws {
        try await withWire { wire async throws in
            wire.server.on("/a", .redirect(to: "/b"))
            wire.server.on("/b", .ok("x").stalling(.beforeHead))
            let run = wire.get("/a").start()
            try await wire.server.waitForStalls()
            #expect(await run.cancelAndWait() == .cancelled)
            #expect(try await wire.server.requests.last?.ending() == .clientClosed)
        }
    }

    // SES-16
    @Test func everyHopIsSeen() async throws {
        let recorder = EventRecorder()
        try await withWire {
            $0.observers = [recorder]
        } _: { wire async throws in
            wire.server.on("/a", .redirect(to: "/b"))
            wire.server.on("/b", .ok("x"))
            let response = try await wire.send("/a")
            await wire.agent.waitUntilIdle()
            let times = response.attempts.map(\.total)
            #expect(times.count == 2 && !times.contains(.zero))
            let hops = recorder.events.compactMap { kind -> String? in
                if case .redirected(let from, let to, let status) = kind { "\(status) \(from) \(to)" } else { nil }
            }
            #expect(hops == ["302 \(wire.url)/a \(wire.url)/b"])
        }
    }
}
