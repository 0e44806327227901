import CleanSlate
import Foundation
import Logging
import Persistence
import ScopedNet
import ScopedNetTestServer
import ServiceLifecycle
import Synchronization
import Testing

/// Runs the programs of this folder against a server.
@MainActor @Suite(.leavesNothing, .timeLimit(.minutes(3))) struct FirstUseTests {
    private nonisolated static let sea = #"{"id": 7, "title": "Sea", "posted_at": "2026-05-01T10:00:00Z", "comment_ids": [1, 2, 3]}"#
    private nonisolated static let sun = #"{"id": 8, "title": "Sun", "posted_at": "2026-05-02T10:00:00Z", "comment_ids": []}"#

    /// A server, and the session that the program makes for it.
    private func visit(_ make: (String) -> Session, _ body: (Session, LoopbackServer) async throws -> Void) async throws {
        let server = LoopbackServer()
        try await server.start()
        let session = make(server.url + "/v1/").with { configuration in
            configuration.agent = RequestAgent()
            configuration.proxy = .none
        }
        do {
            try await body(session, server)
        } catch {
            await session.shutdown()
            await server.stop()
            throw error
        }
        await session.shutdown()
        await server.stop()
    }

    // MARK: The reader of stories

    /// A token endpoint: the first login is for the refresh token `r7`, the next for `r8`, and so on; its access tokens are `a7`, `a8`, ….
    private nonisolated static func grant(_ request: RecordedRequest) -> ScriptedResponse {
        let fields = request.text.split(separator: "&").map(String.init)
        guard fields.contains("grant_type=refresh_token"), let number = fields.last?.split(separator: "=r").last.flatMap({ Int($0) }) else {
            return .status(400)
        }
        return .json(#"{"access_token": "a\#(number)", "expires_in": 3600, "refresh_token": "r\#(number + 1)"}"#)
    }

    @Test func aRefusedTokenIsRenewedByTheNewestRefreshToken() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.on("/v1/token") { Self.grant($0) }
            server.protect("/v1/stories", with: .bearer(token: "a8"))
            server.on("/v1/stories", .json("[\(Self.sea)]"))
            let model = StoriesProgram.ListModel(session: StoriesProgram.logIn(session, refreshToken: "r7"))
            model.load(page: 2)
            #expect(model.isLoading)
            await model.deallocBag.waitUntilIdle()
            #expect(model.stories.map(\.title) == ["Sea"] && model.message == nil && !model.isLoading)
            #expect(model.stories.first?.postedAt == Date(timeIntervalSince1970: 1_777_629_600))
            let lists = server.requests.filter { $0.path == "/v1/stories" }
            let sent = lists.map { $0["authorization"] ?? "-" }
            #expect(sent == ["Bearer a7", "Bearer a8"] && lists.last?.query == "page=2")
            #expect(lists.last?["user-agent"] == "Reader/1.0")
            let renewals = server.requests.filter { $0.path == "/v1/token" }
            #expect(renewals.map { $0["authorization"] } == [nil, nil])
            let refreshTokens = renewals.map { String($0.text.suffix(2)) }
            #expect(refreshTokens == ["r7", "r8"])
        }
    }

    @Test func theLoginOutlivesTheProgram() async throws {
        let folder = TemporaryFolder()
        let store = Store(StoreConfiguration(directory: folder.path))
        try await visit(StoriesProgram.session) { session, server in
            server.on("/v1/token") { Self.grant($0) }
            server.protect("/v1/stories", with: .bearer(token: "a7"))
            server.on("/v1/stories", .json("[\(Self.sea)]"))
            for start in 1...2 {
                // A new source each time, as after a start of the program.
                let signedIn = StoriesProgram.logIn(session, refreshToken: "r7", storage: .init(store, account: "ann"))
                let model = StoriesProgram.ListModel(session: signedIn)
                model.load()
                await model.deallocBag.waitUntilIdle()
                #expect(model.stories.map(\.title) == ["Sea"], "start \(start)")
            }
            #expect(server.requests.map(\.path) == ["/v1/token", "/v1/stories", "/v1/stories"])
            #expect(server.requests.last?["authorization"] == "Bearer a7")
        }
        await store.close()
    }

    @Test func aStoryIsSubmittedOnceAndRemoved() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.enqueue(.status(503), for: "/v1/stories")
            server.on("/v1/stories", .json(Self.sun))
            server.on("/v1/stories/8", .status(204))
            let model = StoriesProgram.ListModel(session: session)
            model.submit("Sun", key: "k1")
            await model.deallocBag.waitUntilIdle()
            let story = try #require(model.stories.first)
            let posted = server.requests
            #expect(posted.map(\.method) == ["POST", "POST"] && posted.map { $0["idempotency-key"] } == [#""k1""#, #""k1""#])
            #expect(posted.allSatisfy { $0["content-type"] == "application/json" && $0.text == #"{"draft":false,"title":"Sun"}"# })
            model.remove(story)
            await model.deallocBag.waitUntilIdle()
            #expect(model.stories.isEmpty && server.requests.last?.method == "DELETE")
        }
    }

    @Test func eachRequestHasAnIdentifierOfItsOwn() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.enqueue(.status(503), for: "/v1/stories")
            server.on("/v1/stories", .json("[]"))
            let model = StoriesProgram.ListModel(session: session)
            for _ in 1...2 {
                model.load()
                await model.deallocBag.waitUntilIdle()
            }
            let identifiers = server.requests.map { $0["x-request-id"].flatMap { UUID(uuidString: $0) } }
            // The second attempt of the first request has the identifier of the first.
            #expect(identifiers.count == 3 && identifiers[0] != nil && identifiers[0] == identifiers[1])
            #expect(identifiers[2] != nil && identifiers[2] != identifiers[0])
        }
    }

    @Test func theFirstPageIsShownWhole() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.on("/v1/me", ScriptedResponse.json(#"{"name": "Ann"}"#).delayed(by: .milliseconds(20)))
            server.on("/v1/stories", .json("[\(Self.sea), \(Self.sun)]"))
            server.on("/v1/greeting", .ok("Good morning"))
            let model = StoriesProgram.HomeModel(session: session)
            model.open()
            #expect(model.isLoading)
            await model.deallocBag.waitUntilIdle()
            #expect(model.account?.name == "Ann" && model.stories.map(\.id) == [7, 8] && model.greeting == "Good morning")
            #expect(model.message == nil && !model.isLoading)
            let accepted = server.requests.sorted { $0.path < $1.path }.map { $0["accept"] ?? "*/*" }
            #expect(accepted == ["*/*", "application/json", "application/json"])
        }
    }

    @Test func thePartsOfTheFirstPageEndTogether() async throws {
        try await visit(StoriesProgram.session) { session, server in
            for path in ["me", "stories"] { server.on("/v1/\(path)", ScriptedResponse.json("{}").stalling(.beforeHead)) }
            let othersAreThere = Latch()
            server.on("/v1/greeting") { _ in
                await othersAreThere.wait()
                return .status(404)
            }
            let model = StoriesProgram.HomeModel(session: session)
            model.open()
            try await server.waitForStalls(2)
            try await server.waitForRequests(3)
            othersAreThere.open()
            await model.deallocBag.waitUntilIdle()
            #expect(model.message?.isEmpty == false && model.stories.isEmpty && !model.isLoading)
            for request in server.requests where request.path != "/v1/greeting" {
                #expect(try await request.ending() == .clientClosed, "\(request.path)")
            }
        }
    }

    @Test func theCommandLineShowsTheProgress() async throws {
        let folder = TemporaryFolder()
        let file = URL(filePath: folder.path).appending(path: "edition")
        try await visit(StoriesProgram.session) { session, server in
            server.on("/edition", .ok(.repeating(7, count: 300_000)))
            let edition = try #require(URL(string: server.url + "/edition"))
            var fractions: [Double] = []
            var words = ""
            let saved = try await StoriesProgram.save(edition, to: file, with: session) { progress in
                fractions.append(progress.fraction ?? -1)
                words = "\(progress)"
            }
            #expect(saved == file && folder.contents(of: "edition")?.count == 300_000)
            #expect(fractions.last == 1 && fractions == fractions.sorted() && fractions.allSatisfy { $0 >= 0 })
            #expect(words.hasPrefix("received 293 KiB of 293 KiB"), "\(words)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func theCommandLineTracesARequest() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.enqueue(.status(503), for: "/v1/greeting")
            server.on("/v1/greeting", .ok("Hello"))
            let greeting = session.get("greeting", as: String.self).retry(RetryPolicy(backoffBase: .zero))
            let lines = await StoriesProgram.trace(greeting)
            #expect(lines == ["attempt 1", "status 503", "once more", "attempt 2", "status 200", "5 bytes"])
            let words = try greeting.result?.get().value
            #expect(words == "Hello")
            let failing = await StoriesProgram.trace(session.get("missing"))
            #expect(failing == ["attempt 1", "status 404", "unacceptableStatus"] && server.requests.count == 3)
        }
    }

    @Test func thePageHasItsComments() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.on("/v1/stories/7", .json(Self.sea))
            server.on("/v1/stories/7/author", .ok("Ann"))
            for id in 1...3 { server.on("/v1/comments/\(id)", .json(#"{"text": "\#(id)"}"#).delayed(by: .milliseconds(30 - 10 * id))) }
            let model = StoriesProgram.PageModel(session: session)
            model.open(7)
            #expect(model.isLoading)
            await model.deallocBag.waitUntilIdle()
            #expect(!model.isLoading && model.message == nil)
            #expect(model.story?.title == "Sea" && model.comments.map(\.text) == ["1", "2", "3"] && model.author == "Ann")
            #expect(server.requests.map(\.path).first == "/v1/stories/7" && server.requests.count == 5)
        }
    }

    @Test func aPageThatIsClosedSendsNoFurtherStep() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.on("/v1/stories/7", ScriptedResponse.json(Self.sea).stalling(.beforeHead))
            var model: StoriesProgram.PageModel? = StoriesProgram.PageModel(session: session)
            weak let probe = model
            model?.open(7)
            try await server.waitForStalls()
            model = nil
            #expect(probe == nil)
            await session.agent.waitUntilIdle()
            try await server.waitForOpenConnections { $0 == 0 }
            #expect(server.requests.count == 1)
        }
    }

    @Test func onlyTheLastSearchIsShown() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.on("/v1/search") { request in
                .json(request.query == "limit=20&q=sea%20%26%20sun" ? "[\(Self.sun)]" : "[\(Self.sea)]")
            }
            let model = StoriesProgram.SearchModel(session: session)
            for text in ["s", "sea", "sea & sun"] { model.type(text) }
            await model.deallocBag.waitUntilIdle()
            #expect(model.results.map(\.title) == ["Sun"] && model.message == nil)
            #expect(server.requests.last?.query == "limit=20&q=sea%20%26%20sun")
        }
    }

    @Test func aSearchIsNarrowed() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.on("/v1/search", .json("[\(Self.sea)]"))
            let model = StoriesProgram.SearchModel(session: session)
            let author = try #require(UUID(uuidString: "6F9619FF-8B86-D011-B42D-00C04FC964FF"))
            model.type("sea", tags: ["salt", "wind & sun"], since: Date(timeIntervalSince1970: 1_777_629_600), by: author)
            await model.deallocBag.waitUntilIdle()
            #expect(model.results.map(\.title) == ["Sea"])
            let query = try #require(server.requests.last?.query).replacing("%5B%5D", with: "[]").replacing("%3A", with: ":")
            #expect(
                query == "by=6F9619FF-8B86-D011-B42D-00C04FC964FF&limit=20&q=sea&since=2026-05-01T10:00:00Z"
                    + "&tags[]=salt&tags[]=wind%20%26%20sun")
        }
    }

    @Test func thePhotoGoesOutAsAForm() async throws {
        let folder = TemporaryFolder()
        let photo = URL(filePath: folder.write("sea and sun", to: "sea.jpg"))
        try await visit(StoriesProgram.session) { session, server in
            server.on("/v1/photos", .json(#"{"photo_id": 12}"#))
            let model = StoriesProgram.PhotoModel(session: session)
            try model.send(photo, title: "Holidays")
            await model.deallocBag.waitUntilIdle()
            #expect(model.receipt == .init(photoId: 12) && model.fraction == 1 && model.message == nil)
            let sent = try #require(server.requests.last)
            #expect(sent.method == "POST" && sent["content-type"]?.hasPrefix("multipart/form-data; boundary=") == true)
            #expect(sent.text.contains("name=\"title\"") && sent.text.contains("\r\n\r\nHolidays\r\n"))
            #expect(sent.text.contains("filename=\"sea.jpg\"\r\nContent-Type: image/jpeg\r\n\r\nsea and sun\r\n--"))
        }
    }

    @Test func theEditionGoesOnAfterAPause() async throws {
        let folder = TemporaryFolder()
        let file = URL(filePath: folder.path).appending(path: "edition")
        try await visit(StoriesProgram.session) { session, server in
            let whole = ScriptedResponse.ok(.repeating(7, count: 300_000)).header("ETag", "\"v1\"").with { $0.acceptsRanges = true }
            server.enqueue(whole.stalling(.afterBytes(100_000)), for: "/edition")
            server.on("/edition", whole)
            let edition = try #require(URL(string: server.url + "/edition"))
            let model = StoriesProgram.EditionModel(edition, to: file, session: session)
            model.goOn()
            try await server.waitForStalls()
            while PartialDownload.of(file)?.bytes != 100_000 { try await Task.sleep(for: .milliseconds(1)) }
            model.pause()
            model.goOn()
            await model.deallocBag.waitUntilIdle()
            #expect(model.file == file && model.fraction == 1 && model.message == nil)
            #expect(folder.contents(of: "edition")?.count == 300_000)
            #expect(server.requests.last?["range"] == "bytes=100000-")
        }
    }

    @Test func peopleReadSentences() async throws {
        try await visit(StoriesProgram.session) { session, server in
            let model = StoriesProgram.ListModel(session: session)
            let refusal = #"{"reason": "The library is closed on Mondays.", "opens_at": "2026-05-02T10:00:00Z"}"#
            server.on("/v1/stories", ScriptedResponse.json(refusal).with { $0.status = 422 })
            model.load()
            await model.deallocBag.waitUntilIdle()
            #expect(model.message?.contains("The library is closed on Mondays.") == true)
            #expect(model.opensAt == Date(timeIntervalSince1970: 1_777_716_000))

            server.on("/v1/stories", .json(#"[{"id": "seven"}]"#))
            model.load()
            await model.deallocBag.waitUntilIdle()
            let words = try #require(model.message)
            #expect(!words.contains("NetworkError") && !words.contains("decodingFailed") && words.hasSuffix("."), "\(words)")
        }
    }

    @Test func aFailureThatPassesIsRepeated() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.enqueue(.status(503), for: "/v1/stories")
            server.on("/v1/stories", .json("[\(Self.sea), \(Self.sun)]"))
            let model = StoriesProgram.ListModel(session: session)
            model.load(tag: "sea")
            await model.deallocBag.waitUntilIdle()
            #expect(model.stories.map(\.id) == [7, 8] && server.requests.count == 2)
            #expect(server.requests.allSatisfy { $0.query == "page=1&tag=sea" })
        }
    }

    // MARK: The desk

    private func visitDesk(_ body: (StoriesProgram.DeskModel, LoopbackServer) async throws -> Void) async throws {
        try await visit {
            StoriesProgram.deskSession($0.replacing("127.0.0.1", with: "desk.test"), address: "127.0.0.1", hsts: .init())
        } _: { session, server in
            try await body(StoriesProgram.DeskModel(session: session), server)
        }
    }

    @Test func theDeskSavesAndRenames() async throws {
        try await visitDesk { desk, server in
            server.enqueue(.status(503), for: "/v1/stories/7")
            server.enqueue(ScriptedResponse.json(Self.sea).header("ETag", "\"1\""), for: "/v1/stories/7")
            for status in [423, 423, 204] { server.enqueue(.status(status), for: "/v1/stories/7") }
            server.on("/v1/stories/7", .json(Self.sea))
            try await desk.open()
            #expect(server.requests.isEmpty, "a connection, and no request")
            try await desk.save(.init(title: "Sea", isUrgent: true), as: 7)
            try await desk.rename(7, to: "Lake")
            let sent = server.requests
            #expect(sent.map(\.method) == ["PUT", "PUT", "PATCH", "PATCH", "PATCH"] && server.connectionsAccepted == 1)
            #expect(sent[1].text == #"{"is_urgent":true,"title":"Sea"}"# && sent[1]["host"]?.hasPrefix("desk.test:") == true)
            #expect(sent[4].text == #"{"edited":"1970-01-01T00:00:00Z","title":"Lake"}"#)
            let line = try #require(desk.log.first)
            #expect(line.hasPrefix("200 OK, \(Self.sea.utf8.count) B JSON in ") && line.hasSuffix(" (2 attempts), network"), "\(line)")
            let error = await #expect(throws: NetworkError.self) { try await desk.save(.init(title: "Sea"), as: 7) }
            #expect(error?.code == .unacceptableResponse && error?.underlying is StoriesProgram.DeskModel.Unversioned)
        }
    }

    @Test func theDeskAsksAndFollows() async throws {
        try await visitDesk { desk, server in
            server.on("/v1/stories/7", .ok("published"))
            server.on("/v1/stories/8", .status(404))
            server.on("/photo.jpg", .ok("pixels"))
            server.on("/v1/reports", .status(204))
            server.on("/v1/changes", .ok("one\ntwo\n\nthree"))
            #expect(await desk.isPublished(7))
            #expect(await !desk.isPublished(8))
            let url = try #require(URL(string: server.url + "/photo.jpg"))
            #expect(try await desk.photo(url) == Data("pixels".utf8))
            try await desk.report([String](repeating: "saved", count: 1_000))
            try await desk.follow()
            let error = try #require(desk.log.first)
            #expect(
                error.hasPrefix("HEAD http://desk.test:") && error.contains("/v1/stories/8: unacceptableStatus: the server answered 404"))
            #expect(desk.log.dropFirst() == ["one", "two", "", "three"])
            let sent = server.requests
            #expect(sent.map(\.method) == ["HEAD", "HEAD", "GET", "POST", "GET"])
            #expect(sent[3]["content-encoding"] == "gzip" && sent[3].body.count < 1_000)
        }
    }

    @Test func aDeskThatIsClosedSavesNoMore() async throws {
        try await visitDesk { desk, server in
            server.on("/v1/stories/7", ScriptedResponse.json(Self.sea).stalling(.beforeHead))
            let saved = Task { try await desk.save(.init(title: "Sea"), as: 7) }
            try await server.waitForStalls()
            desk.close()
            let error = await #expect(throws: NetworkError.self) { try await saved.value }
            #expect(error?.isCancelled == true && desk.log.isEmpty)
            try await server.waitForClientsToLeave()
        }
    }

    // MARK: The daemon

    @Test func theDaemonWatchesAndEndsInOrder() async throws {
        let log = LogLines()
        var logger = Logger(label: "watch") { _ in log }
        logger.logLevel = .debug
        try await visit {
            WatchProgram.session($0, logger: logger)
        } _: { session, server in
            server.enqueue(.status(503), for: "/v1/health")
            server.enqueue(.json(#"{"healthy": true}"#), for: "/v1/health")
            server.enqueue(.status(404), for: "/v1/health")
            server.enqueue(ScriptedResponse.json(#"{"healthy": false}"#).stalling(.afterHead), for: "/v1/health")
            let reports = Mutex<[String]>([])
            let job = WatchProgram.Job(session: session, pause: .milliseconds(1), logger: logger) { result in
                reports.withLock { reports in
                    switch result {
                    case .success(let healthy): reports.append("\(healthy)")
                    case .failure(let error): reports.append("\(error.status ?? 0)")
                    }
                }
            }
            let group = WatchProgram.group(session, job, logger: logger)
            let daemon = Task { try await group.run() }
            try await server.waitForStalls()
            await group.triggerGracefulShutdown()
            server.releaseStalls()
            try await daemon.value
            let told = reports.withLock { $0 }
            #expect(told == ["true", "404", "false"], "the last request was allowed to finish")
            #expect(server.requests.map { $0["accept-language"] } == ["en", "en", "en", "en"])
            let figures = session.statistics
            #expect(figures.started == 3 && figures.succeeded == 2 && figures.failed == 1 && figures.retries == 1, "\(figures)")
            #expect(figures.errors == [.unacceptableStatus: 1] && figures.transfers == 4 && figures.running == 0)
            #expect(figures.bytesReceived > 0 && figures.bytesSent > 0)
            #expect(figures.durations.count == 3 && figures.durations.p99.map { $0 > .zero } == true)
            let words = "info 3 requests: 2 succeeded, 1 failed (unacceptableStatus 1); 1 retry; "
            #expect(log.lines.contains { $0.hasPrefix(words) }, "\(log.lines)")
            #expect(log.lines.contains { $0.contains("/v1/health") })
            #expect(
                log.lines.contains {
                    $0.hasPrefix("warning GET ") && $0.contains("/v1/health: unacceptableStatus: the server answered 404")
                })
        }
    }
}

/// A log handler that keeps its lines.
private final class LogLines: LogHandler {
    private let kept = Mutex<[String]>([])
    var lines: [String] { kept.withLock { $0 } }

    var logLevel: Logger.Level {
        get { .debug }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        kept.withLock { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
    }
}
