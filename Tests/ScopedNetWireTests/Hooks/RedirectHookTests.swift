import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SES-10: each redirect can be followed, changed, stopped or failed by the program, and the rules hold for what it changes.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct RedirectHookTests {
    struct Refusal: Error, Equatable {}

    @Test(arguments: FrontDoor.allCases)
    func followingIsWhatHappensWithoutAHook(door: FrontDoor) async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new"))
            wire.server.on("/new", .ok("there"))
            let hops = Gathered<RequestHooks.RedirectProposal>()
            let request = wire.get("/old").decideRedirect { hop in
                hops.add(hop)
                return .follow
            }
            let report = try await door.send(request)
            #expect(report.outcome == .success("there"))
            let hop = try #require(hops.all.first)
            #expect(hops.all.count == 1)
            #expect(hop.number == 1)
            #expect(hop.head.status == 302)
            #expect(!hop.isStored)
            #expect(hop.request.url == wire.url + "/old")
            #expect(hop.proposed.url == wire.url + "/new")
            #expect(hop.proposed.method == .get)
        }
    }

    @Test(arguments: FrontDoor.allCases)
    func stoppingMakesTheRedirectTheResult(door: FrontDoor) async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new").with { $0.body = .bytes(Array("moved".utf8)) })
            // Not accepted, it is a failure like any other status.
            let refused = try await door.send(wire.get("/old").decideRedirect { _ in .stop })
            #expect(refused.outcome == .failure(.unacceptableStatus))
            let accepted = try await door.send(wire.get("/old") { $0.validation = .any }.decideRedirect { _ in .stop })
            #expect(accepted.outcome == .success("moved"))
            if door != .awaiting { #expect(accepted.calls.contains("head 302")) }
            #expect(wire.server.requests.map(\.path) == ["/old", "/old"])
        }
    }

    @Test(arguments: FrontDoor.allCases)
    func anErrorEndsTheRun(door: FrontDoor) async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new"))
            let own = NetworkError(.redirectRefused, phase: .receiving, message: "not there")
            let first = try await door.send(wire.get("/old").decideRedirect { _ in throw own })
            #expect(first.outcome == .failure(.redirectRefused))
            let second = try await door.send(wire.get("/old").decideRedirect { _ in throw Refusal() })
            #expect(second.outcome == .failure(.hookFailed))
            let error = try await wire.get("/old").decideRedirect { _ in throw Refusal() }.failure()
            #expect(error.underlying as? Refusal == Refusal())
            #expect(error.runID > 0)
            // `cancelled` is the code of runs that were.
            let third = try await door.send(
                wire.get("/old").decideRedirect { _ in throw NetworkError.cancelled(.explicit, runID: 1, phase: .receiving) })
            #expect(third.outcome == .failure(.hookFailed))
            #expect(wire.server.requests.allSatisfy { $0.path == "/old" })
        }
    }

    // Defect 47
    @Test(arguments: FrontDoor.allCases)
    func everythingAboutTheNextRequestCanBeChanged(door: FrontDoor) async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 301))
            wire.server.on("/*", .ok("there"))
            let request = wire.session.request(
                wire.url + "/old", method: .post, headers: [.contentType: "text/plain"], body: .data(Data("body".utf8)))
            _ = request.decideRedirect { hop in
                var next = hop.proposed
                // 301 makes a GET of a POST; the program knows better here.
                next.method = .post
                next.keepsBody = true
                next.url = "elsewhere?x=1"
                try next.setHeader("X-Hop", "\(hop.number)")
                return .follow(next)
            }
            let report = try await door.send(request)
            #expect(report.outcome == .success("there"))
            let second = wire.server.requests[1]
            #expect(second.target == "/elsewhere?x=1")
            #expect(second.method == "POST")
            #expect(second.text == "body")
            #expect(second["x-hop"] == "1")
            #expect(second["content-type"] == "text/plain")
        }
    }

    @Test func aBodyCanBeLeftBehind() async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            wire.server.on("/new", .ok())
            let request = wire.session.request(
                wire.url + "/old", method: .put, headers: [.contentType: "text/plain"], body: .data(Data("body".utf8)))
            _ = try await request.decideRedirect { hop in
                var next = hop.proposed
                next.keepsBody = false
                next.method = .get
                return .follow(next)
            }.response()
            let second = wire.server.requests[1]
            #expect(second.method == "GET")
            #expect(second.text.isEmpty)
            #expect(second["content-type"] == nil)
        }
    }

    @Test func tenHopsAreTenQuestionsInOrder() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*") { request in
                let number = Int(request.path.dropFirst()) ?? 0
                return number == 0 ? .ok("end") : .redirect(to: "/\(number - 1)")
            }
            let hops = Trace()
            let request = wire.get("/10").decideRedirect { hop in
                hops.add("\(hop.number) \(hop.proposed.url.dropFirst(wire.url.count))")
                await Task.yield()
                return .follow
            }
            #expect(try await request.value() == Data("end".utf8))
            #expect(hops.lines == (1...10).map { "\($0) /\(10 - $0)" })
        }
    }

    @Test func redirectsThatAreNotFollowedAreNotAskedAbout() async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new"))
            wire.server.on("/bad", .redirect(to: "ftp://127.0.0.1/"))
            let asked = Counter()
            func hooked(_ path: String, _ mode: RedirectPolicy.Mode) -> Request<Data> {
                wire.get(path) { $0.redirects.mode = mode }.decideRedirect { _ in
                    asked.add()
                    return .follow
                }
            }
            #expect(try await hooked("/old", .never).failure().code == .unacceptableStatus)
            #expect(try await hooked("/bad", .follow).failure().code == .redirectRefused)
            #expect(asked.value == 0)
        }
    }

    // MARK: Rules for what was changed

    @Test(arguments: [
        ("ftp://127.0.0.1/x", NetworkError.Code.redirectRefused), ("file:///etc/passwd", .redirectRefused),
        ("http://a b/", .invalidURL), ("/x\r\nX-Injected: 1", .invalidURL), ("/old", .redirectLoop),
    ])
    func aChangedURLIsCheckedLikeAnyOther(_ url: String, _ code: NetworkError.Code) async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new"))
            let error = try await wire.get("/old").decideRedirect { hop in
                var next = hop.proposed
                next.url = url
                return .follow(next)
            }.failure()
            #expect(error.code == code, "\(error)")
            #expect(error.response?.status == 302)
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test func noFieldCanBeSmuggledIn() async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new"))
            wire.server.on("/new", .ok())
            let error = try await wire.get("/old").decideRedirect { hop in
                var next = hop.proposed
                try next.setHeader("X-Hop", "1\r\nX-Injected: 1")
                return .follow(next)
            }.failure()
            #expect(error.code == .invalidHeader)
            #expect(wire.server.requests.count == 1)
            // The type of the fields makes blanks of line ends, and what says how long a message is is not for the program.
            _ = try await wire.get("/old").decideRedirect { hop in
                var next = hop.proposed
                next.headers[HTTPField.Name("X-Hop")!] = "1\r\nX-Injected: 1"
                return .follow(next)
            }.response()
            #expect(wire.server.requests.last?["x-injected"] == nil)
        }
    }

    @Test func whereAMessageEndsIsNotForTheProgram() async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            wire.server.on("/new", .ok())
            func hooked(_ method: HTTPRequest.Method, _ body: RequestBody?) -> Request<Data> {
                wire.session.request(wire.url + "/old", method: method, body: body).decideRedirect { hop in
                    var next = hop.proposed
                    next.headers[.contentLength] = "5"
                    return .follow(next)
                }
            }
            #expect(try await hooked(.put, .data(Data("x".utf8))).failure().code == .invalidHeader)
            // What speaks of a body that is not there goes with it.
            _ = try await hooked(.get, nil).response()
            #expect(wire.server.requests.last?["content-length"] == nil)
        }
    }

    @Test func credentialsLeaveOnlyWhenTheHookSetsThem() async throws {
        try await withLoopbackServer { other async throws in
            other.on("/*", .ok("other"))
            try await withWire { wire async throws in
                wire.server.on("/home", .redirect(to: "/stay", status: 307))
                let elsewhere = other.url + "/there"
                func hooked(_ token: String?) -> Request<Data> {
                    wire.session.request(wire.url + "/home", headers: [.authorization: "Bearer secret"]).decideRedirect { hop in
                        var next = hop.proposed
                        next.url = elsewhere
                        if let token { next.headers[.authorization] = token }
                        return .follow(next)
                    }
                }
                _ = try await hooked(nil).response()
                #expect(try await other.takeRequest()["authorization"] == nil)
                _ = try await hooked("Bearer theirs").response()
                #expect(try await other.takeRequest()["authorization"] == "Bearer theirs")
            }
        }
    }

    /// On the same origin, too, where the run has a Digest of its own under way.
    @Test(arguments: ["Bearer mine", nil]) func whatTheHookSaysOfAuthorizationHolds(_ field: String?) async throws {
        try await withWire { wire async throws in
            wire.server.on("/new", .ok("in"))
            wire.server.on("/old") { request in
                guard request["authorization"] != nil else {
                    return .status(401).header("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")
                }
                return .redirect(to: "/new")
            }
            let request = wire.get("/old") { $0.authentication = .credential(.basic(user: "ann", password: "secret")) }
            _ = try await request.decideRedirect { hop in
                var next = hop.proposed
                next.headers[.authorization] = field
                return .follow(next)
            }.value()
            let seen = wire.server.requests.map { $0["authorization"].map { String($0.prefix(6)) } }
            #expect(seen == [nil, "Digest", field.map { String($0.prefix(6)) }])
        }
    }

    @Test func aCookieOfTheHookGoesBeforeTheJars() async throws {
        let jar = CookieJar()
        try await withWire {
            $0.cookies = jar
        } _: { wire async throws in
            wire.server.on("/old", .redirect(to: "/new").header("Set-Cookie", "a=1"))
            wire.server.on("/new", .ok())
            let shown = Gathered<String?>()
            let keep = wire.get("/old").decideRedirect { hop in
                shown.add(hop.proposed.headers[.cookie])
                return .follow(hop.proposed)
            }
            _ = try await keep.response()
            #expect(wire.server.requests.last?["cookie"] == "a=1")
            _ = try await wire.get("/old").decideRedirect { hop in
                shown.add(hop.proposed.headers[.cookie])
                var next = hop.proposed
                next.headers[.cookie] = "b=2"
                return .follow(next)
            }.response()
            #expect(wire.server.requests.last?["cookie"] == "b=2")
            #expect(shown.all == [nil, nil])
        }
    }

    // MARK: Who is asked

    // SES-11
    @Test func theRequestsHookGoesBeforeTheSessions() async throws {
        let asked = Trace()
        try await withWire {
            $0.options.hooks.redirect = { _ in
                asked.add("session")
                return .follow
            }
        } _: { wire async throws in
            wire.server.on("/old", .redirect(to: "/new"))
            wire.server.on("/new", .ok())
            let request = wire.get("/old")
            _ = request.decideRedirect { _ in
                asked.add("first")
                return .follow
            }.decideRedirect { _ in
                asked.add("request")
                return .follow
            }
            _ = try await request.value()
            // It was for one start.
            _ = try await request.value()
            #expect(asked.lines == ["request", "session"])
        }
    }

    @Test func aStoredRedirectIsAskedAboutToo() async throws {
        try await withCache { cached async throws in
            let wire = cached.wire
            wire.server.on("/old", .redirect(to: "/new", status: 301).header("Cache-Control", "max-age=1000"))
            wire.server.on("/new", .ok("there").header("Cache-Control", "max-age=1000"))
            let asked = Gathered<Bool>()
            for _ in 0..<2 {
                _ = try await wire.get("/old").decideRedirect { hop in
                    asked.add(hop.isStored)
                    return .follow
                }.value()
            }
            #expect(asked.all == [false, true])
            #expect(wire.server.requests.count == 2)
        }
    }

    /// The head of a redirect that is stopped is told once, wherever it comes from.
    @Test func aStoppedRedirectIsToldOnce() async throws {
        try await withCache { cached async throws in
            let wire = cached.wire
            wire.server.on("/old", .redirect(to: "/new", status: 301).header("Cache-Control", "max-age=1000"))
            for _ in 0..<2 {
                let heads = Gathered<Int>()
                let request = wire.get("/old") { $0.validation = .any }.decideRedirect { _ in .stop }
                _ = request.onResponseHead { heads.add($0.status) }
                _ = try await request.response()
                #expect(heads.all == [301])
            }
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test func aStoppedRedirectReachesStreamsAndFiles() async throws {
        let folder = TemporaryFolder()
        try await withWire {
            $0.options.validation = .any
            $0.options.hooks.redirect = { _ in .stop }
        } _: { wire async throws in
            let page = bytes(200_000)
            wire.server.on("/old", .redirect(to: "/new").with { $0.body = .bytes(Array(page)) })
            let streamed = try await wire.session.stream(wire.url + "/old")
            #expect(streamed.head.status == 302)
            var body = Data()
            for try await piece in streamed.bytes { body.append(piece) }
            #expect(body.isSame(as: page))
            let file = URL(fileURLWithPath: folder.path + "/page")
            _ = try await wire.session.download(wire.url + "/old", to: file).value()
            #expect(folder.contents(of: "page").isSame(as: page))
            // Where it goes is for the hook to say, as of any other response.
            let chosen = URL(fileURLWithPath: folder.path + "/chosen")
            let download = wire.session.download(wire.url + "/old", to: file).chooseDestination { _ in chosen }
            #expect(try await download.value() == chosen)
            #expect(folder.contents(of: "chosen").isSame(as: page))
            #expect(try await wire.get("/old").value().isSame(as: page))
        }
    }
}
