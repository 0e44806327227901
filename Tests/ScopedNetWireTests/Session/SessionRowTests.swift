import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// What sessions of earlier systems promised, and this one does. Each test says which rows of `docs/semantics.md` it shows.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct SessionRowTests {
    /// SES-1, YTK-1, SEC-1, defect 10: what is read before it was set is what holds.
    @Test func defaultsReadAsWhatTheyAre() {
        let configuration = Session.Configuration()
        #expect(configuration.baseURL == nil)
        #expect(configuration.headers.isEmpty)
        #expect(configuration.cache == nil)
        #expect(configuration.cookies == nil)
        #expect(configuration.observers.isEmpty)
        #expect(configuration.security == SecurityPolicy(.system))
        #expect(!configuration.tls.dangerouslyAcceptsAnyCertificate)
        #expect(!configuration.tls.dangerouslyAcceptsAnyHostName)
        #expect(!configuration.tls.dangerouslyAcceptsCommonName)
        #expect(!configuration.tls.dangerouslyAcceptsMissingCloseNotify)
        #expect(configuration.limits.perHost == 6)
        #expect(configuration.limits.total == 64)
        let options = configuration.options
        #expect(options.timeouts == Timeouts(connect: .seconds(10), firstByte: .seconds(60), idle: .seconds(60)))
        #expect(options.timeouts.interceptor == .seconds(60))
        #expect(options.validation.statuses == .success)
        let accepted = (100..<600).filter(options.validation.accepts)
        #expect(accepted == Array(200..<300))
        #expect(options.redirects == RedirectPolicy(mode: .follow, maxRedirects: 20, allowsDowngrade: false))
        #expect(options.repeats == .concurrent)
        #expect(options.release == .untilFinished)
        #expect(options.handlesCookies)
        #expect(options.acceptsCompression)
        #expect(!options.waitsForConnectivity)
        #expect(options.limits.bodyBytes == 256 << 20)
        let hooks = [
            options.hooks.redirect == nil, options.hooks.disposition == nil, options.hooks.destination == nil, options.hooks.newBody == nil,
        ]
        #expect(hooks == [true, true, true, true])
    }

    /// REQ-2: a request begins with the options of its session, and changes of them what it names.
    @Test func whatIsNotTouchedIsInherited() {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.options.timeouts = Timeouts(idle: .seconds(7), total: .seconds(20))
        configuration.options.handlesCookies = false
        configuration.options.tag = "mine"
        let session = Session(configuration: configuration)
        let changed = session.get("http://h/", as: Int.self).options { $0.timeouts.idle = .seconds(3) }.currentOptions
        let untouched = session.request("http://h/").currentOptions
        #expect(changed.timeouts == Timeouts(idle: .seconds(3), total: .seconds(20)))
        #expect(changed.tag == "mine" && !changed.handlesCookies)
        #expect(untouched.timeouts == configuration.options.timeouts)
    }

    /// SES-17, YB-1, defect 9: a configuration is a value, hooks and all; a copy has everything, and changing it changes nothing else.
    @Test func aCopiedConfigurationHasAllOfIt() async throws {
        let asked = Trace()
        try await withWire {
            $0.headers[.accept] = "text/plain"
            $0.options.tag = "mine"
            $0.options.timeouts.total = .seconds(20)
            $0.options.hooks.redirect = { _ in
                asked.add("base")
                return .follow
            }
        } _: { wire async throws in
            wire.server.on("/old", .redirect(to: "/new"))
            wire.server.on("/new", .ok("there"))
            let before = wire.session.configuration
            let derived = wire.session.with {
                $0.headers[.acceptLanguage] = "eo"
                $0.options.hooks.redirect = { _ in
                    asked.add("derived")
                    return .follow
                }
            }
            let after = derived.configuration
            #expect(after.headers[.accept] == "text/plain")
            #expect(after.options.tag == "mine")
            #expect(after.options.timeouts == before.options.timeouts)
            #expect(before.headers[.acceptLanguage] == nil)
            _ = try await derived.send(wire.url + "/old")
            _ = try await wire.session.send(wire.url + "/old")
            #expect(asked.lines == ["derived", "base"])
            let own = try #require(before.options.hooks.redirect)
            let request = RequestHooks.NextRequest(url: "http://h/", method: .get, headers: [:], keepsBody: false)
            let hop = RequestHooks.RedirectProposal(
                runID: 1, number: 1, head: ResponseHead(status: 302), isStored: false, request: request, proposed: request)
            _ = try await own(hop)
            #expect(asked.lines.last == "base")
        }
    }

    /// SES-2: a session is told to stop, and lets what runs finish where that is wanted.
    @Test func aShutdownMayLetRunsFinish() async throws {
        try await withLoopbackServer { server in
            server.on("/", .ok("there").stalling(.beforeHead))
            var configuration = Session.Configuration(agent: RequestAgent())
            configuration.proxy = .none
            let session = Session(configuration: configuration)
            let trace = Trace()
            session.request(server.url + "/").onSuccess { _ in trace.add("success") }.onEnd { trace.add("end \($0.isCancelled)") }.start()
            try await server.waitForStalls()
            async let isDown: Void = session.shutdown(cancelling: false)
            server.releaseStalls()
            await isDown
            #expect(trace.lines == ["success", "end false"])
            let late = try await session.request(server.url + "/").failure()
            #expect(late.code == .shutdown)
        }
    }

    /// SES-4: whatever it will be, nothing happens before the start.
    @Test func nothingIsSentBeforeTheStart() async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            wire.server.on("/*", .ok("there"))
            let file = folder.write("file", to: "upload")
            let requests: [Request<Data>] = [
                wire.get(), wire.session.post(wire.url + "/", body: .data(Data("x".utf8))),
                wire.session.put(wire.url + "/", body: .file(file)),
            ]
            let download = wire.session.download(wire.url + "/", to: URL(filePath: folder.path + "/file"))
            #expect(requests.allSatisfy { $0.status.stage == .created } && download.status.stage == .created)
            #expect(wire.agent.liveCount == 0)
            #expect(wire.server.connectionsAccepted == 0)
            for request in requests { _ = try await request.value() }
            _ = try await download.value()
            #expect(wire.server.requests.map(\.text) == ["", "x", "file", ""])
        }
    }

    /// YTK-2, YTK-19, YB-1, CT-1: a service of several environments is sessions that differ in their base; what is absolute stays as it is.
    @Test func environmentsAreSessionsThatDifferInTheirBase() async throws {
        try await withLoopbackServer { other async throws in
            try await withWire { wire async throws in
                for server in [wire.server, other] { server.on("/*") { .ok($0.target) } }
                let release = wire.session.with {
                    $0.baseURL = wire.url + "/api/v2/"
                    $0.headers[.authorization] = "Bearer release"
                }
                let development = release.with { $0.baseURL = other.url + "/dev/" }
                func user(_ session: Session) async throws(NetworkError) -> String {
                    try await session.request("user?id=1", decoder: .text).value()
                }
                #expect(try await user(release) == "/api/v2/user?id=1")
                #expect(try await user(development) == "/dev/user?id=1")
                #expect(other.requests.last?["authorization"] == "Bearer release")
                #expect(try await development.request(wire.url + "/absolute", decoder: .text).value() == "/absolute")
                #expect(try await development.request("/root", decoder: .text).value() == "/root")
            }
        }
    }

    /// YTK-4, S0-3: one call, any method that has a body, and progress with each.
    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE"])
    func aFormGoesWithEveryMethodThatHasABody(method: String) async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            var form = MultipartForm()
            try form.add(file: URL(filePath: folder.write(bytes(300_000), to: "photo.jpg")), name: "photo")
            let progress = Gathered<TransferProgress>()
            let request = wire.session.request(wire.url + "/", method: .init(rawValue: method)!, body: .multipart(form))
            _ = try await request.onUploadProgress { progress.add($0) }.value()
            let seen = try #require(wire.server.requests.first)
            #expect(seen.method == method)
            #expect(seen["content-type"]?.hasPrefix("multipart/form-data; boundary=") == true)
            let last = try #require(progress.all.last)
            #expect(last.completed > 300_000)
            #expect(last.fraction == 1)
        }
    }

    /// YTK-2: what is sent, and what the response says it came from, is the URL as it is written; the fragment stays here.
    @Test(arguments: [
        "/a%20b/%2F/%C3%BC?x=%26&y=a%2Bb", "/?q=a/b?c:@", "/a;p=1/(b)!$'*,=~", "/a//b/", "/%25?%23",
    ])
    func aURLIsSentAsItIsWritten(_ rest: String) async throws {
        for listen in [Listen.ipv4, .ipv6] {
            try await withWire(.init(listen: listen)) { wire async throws in
                wire.server.on("/*", .ok())
                for fragment in ["", "#part"] {
                    let url = try #require(URL(string: wire.url + rest + fragment))
                    let response = try await wire.session.request(url).response()
                    #expect(response.url + fragment == url.absoluteString)
                    let seen = try #require(wire.server.requests.last)
                    #expect(seen.target == rest)
                    // With the port, and an address of IPv6 in brackets.
                    let host = seen["host"]
                    #expect(host == String(wire.url.dropFirst("http://".count)))
                }
            }
        }
    }

    @Test func aURLOfItsOwnBaseIsResolvedAgainstThat() async throws {
        try await withWire {
            $0.baseURL = "http://elsewhere.test/"
        } _: { wire async throws in
            wire.server.on("/*", .ok())
            let base = try #require(URL(string: wire.url + "/x/y"))
            let url = try #require(URL(string: "z?q=1", relativeTo: base))
            let bare = try #require(URL(string: wire.url))
            let response = try await wire.session.request(url).response()
            let root = try await wire.session.request(bare).response()
            #expect(response.url == wire.url + "/x/z?q=1" && root.url == wire.url + "/")
            #expect(wire.server.requests.map(\.target) == ["/x/z?q=1", "/"])
        }
    }

    /// RFC 3986 section 6.2.3: `/a?` is not `/a`.
    /// With and without its mark these are two resources (RFC 3986 section 6.2.3).
    @Test(arguments: ["/a?", "/a%20b?", "/a?#part"]) func anEmptyQueryIsSent(_ path: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok())
            let url = try #require(URL(string: wire.url + path))
            let response = try await wire.session.request(url).response()
            let targets = wire.server.requests.map(\.target)
            let sent = String(path.prefix { $0 != "#" })
            #expect(targets == [sent])
            #expect(response.url == wire.url + sent)
        }
    }
}
