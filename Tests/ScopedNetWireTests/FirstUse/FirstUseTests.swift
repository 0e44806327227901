import CleanSlate
import Foundation
import Logging
import ScopedNet
import ScopedNetTestServer
import ServiceLifecycle
import Synchronization
import Testing

/// Runs the programs of this folder against a server.
@MainActor @Suite(.leavesNothing) struct FirstUseTests {
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

    @Test func theTokenIsRenewedOnce() async throws {
        try await visit(StoriesProgram.session) { session, server in
            let tokens = Mutex(["new", "old"])
            server.on("/v1/token") { request in
                let token = tokens.withLock { $0.popLast() } ?? "none"
                return request.text.contains("refresh_token=r7") ? .json(#"{"access_token": "\#(token)"}"#) : .status(400)
            }
            server.protect("/v1/stories", with: .bearer(token: "new"))
            server.on("/v1/stories", .json("[\(Self.sea)]"))
            let model = StoriesProgram.ListModel(session: StoriesProgram.logIn(session, refreshToken: "r7"))
            model.load(page: 2)
            #expect(model.isLoading)
            await model.deallocBag.waitUntilIdle()
            #expect(model.stories.map(\.title) == ["Sea"] && model.message == nil && !model.isLoading)
            #expect(model.stories.first?.postedAt == Date(timeIntervalSince1970: 1_777_629_600))
            let lists = server.requests.filter { $0.path == "/v1/stories" }
            #expect(lists.last?["authorization"] == "Bearer new" && lists.last?.query == "page=2")
            #expect(lists.last?["user-agent"] == "Reader/1.0")
            let renewals = server.requests.filter { $0.path == "/v1/token" }
            #expect(renewals.map { $0["authorization"] } == [nil, nil])
        }
    }

    @Test func aStoryIsSubmittedAndRemoved() async throws {
        try await visit(StoriesProgram.session) { session, server in
            server.on("/v1/stories", .json(Self.sun))
            server.on("/v1/stories/8", .status(204))
            let model = StoriesProgram.ListModel(session: session)
            model.submit("Sun", key: "k1")
            await model.deallocBag.waitUntilIdle()
            let story = try #require(model.stories.first)
            let posted = try #require(server.requests.last)
            #expect(posted.method == "POST" && posted["idempotency-key"] == "k1" && posted["content-type"] == "application/json")
            #expect(posted.text == #"{"draft":false,"title":"Sun"}"#)
            model.remove(story)
            await model.deallocBag.waitUntilIdle()
            #expect(model.stories.isEmpty && server.requests.last?.method == "DELETE")
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
            let problem = #"{"title": "Closed", "detail": "The library is closed on Mondays."}"#
            let closed = ScriptedResponse.json(problem).with {
                $0.status = 422
                $0.headers = ["Content-Type": "application/problem+json"]
            }
            server.on("/v1/stories", closed)
            model.load()
            await model.deallocBag.waitUntilIdle()
            #expect(model.message?.contains("The library is closed on Mondays.") == true)

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

    // MARK: The daemon

    @Test func theDaemonWatchesAndEndsInOrder() async throws {
        let statistics = WatchProgram.Statistics()
        let log = LogLines()
        var logger = Logger(label: "watch") { _ in log }
        logger.logLevel = .debug
        try await visit {
            WatchProgram.session($0, statistics: statistics, logger: logger)
        } _: { session, server in
            server.enqueue(.status(503), for: "/v1/health")
            server.enqueue(.json(#"{"healthy": true}"#), for: "/v1/health")
            server.enqueue(.status(404), for: "/v1/health")
            server.enqueue(ScriptedResponse.json(#"{"healthy": false}"#).stalling(.afterHead), for: "/v1/health")
            let reports = Mutex<[String]>([])
            let job = WatchProgram.Job(session: session, pause: .milliseconds(1)) { result in
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
            let figures = statistics.current
            #expect(figures.requests == 3 && figures.failures == 1 && figures.retries == 1, "\(figures)")
            #expect(figures.bytes > 0 && figures.longest > .zero)
            #expect(log.lines.contains { $0.contains("/v1/health") })
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
