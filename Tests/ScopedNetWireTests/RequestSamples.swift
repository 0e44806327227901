import CleanSlate
import Foundation
import HTTPTypes
import Logging
import Observation
import Persistence
import ScopedNet
import ScopedNetTestServer
import Testing

private struct Post: Codable, Sendable { let title: String }

/// Samples of requests as newcomers look for them, word for word; `DocumentationTests` compares them with the articles.
private struct RequestSamples: Sendable {
    // MARK: GettingStarted.md

    func finalHost(of link: Substring, with session: Session) async throws -> String? {
        let response = try await session.get(link).response()
        return URL(string: response.url)?.host()
    }

    @MainActor
    final class SuggestionModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private(set) var suggestions: [Post] = []
        private(set) var message = ""
        private(set) var isLoading = false

        func load(_ text: String, with session: Session) -> Run {
            isLoading = true
            return session.get("suggestions", query: ["q": text], as: [Post].self).timeout(.seconds(5)).bound(to: self)
                .onResult { model, result in
                    switch result {
                    case .success(let posts): model.suggestions = posts
                    case .failure(let error): model.message = error.localizedDescription
                    }
                }
                .onEnd { model, _ in model.isLoading = false }
                .start()
        }
    }

    func look(at page: String, with session: Session) async throws -> [String?] {
        let body = try await session.get(page, as: String.self).timeout(.seconds(10)).retry(.standard).priority(.high).value()
        let stored = try? await session.get(page, as: String.self).cache(.only).value()  // nil: not in the cache
        let moved = try await session.get("moved").redirects(.never).validate(.any).response()  // the 3xx is the response
        return [body, stored, moved.headers[.location]]
    }

    func loggingSession(_ session: Session, _ logger: Logger) -> Session {
        session.with { $0.observers.append(LoggingObserver(logger)) }
    }

    // MARK: Transport.md

    struct Receipt: Codable, Sendable { let bytes: Int }

    func addAlbum(_ title: String, cover: URL, with session: Session) async throws -> Receipt {
        var form = MultipartForm()
        form.add(title, name: "title")
        form.add("public", name: "visibility")
        try form.add(file: cover, name: "cover")
        return try await session.upload("albums", from: form, as: Receipt.self).value()
    }

    // MARK: Hooks.md

    struct Order: Codable, Sendable { let number: Int }
    struct Refusal: Error, Decodable { let error: String }

    func order(_ item: String, with session: Session) async throws(NetworkError) -> Order {
        try await session.post("orders", json: ["item": item], as: Order.self)
            .validate { head, body in
                if let refusal = try? JSONDecoder().decode(Refusal.self, from: body) { throw refusal }
            }
            .decideRetry { failed in
                failed.attempt < 5 && failed.head?.status == 409 ? .retry(after: .milliseconds(100)) : .asDecided
            }
            .value()
    }

    // MARK: Lifetimes.md

    @MainActor
    final class SearchModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private(set) var results: [Post] = []

        /// Called for each letter typed: only the newest query counts.
        func search(_ text: String, with session: Session) {
            session.get("search", query: ["q": text], as: [Post].self).repeats(.replaceRunning, key: "search").bound(to: self)
                .onSuccess { model, posts in model.results = posts }
                .start()
        }
    }

    // MARK: AwaitInViewModel.md

    @MainActor @Observable
    final class TimelineModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        private(set) var posts: [Post] = []
        private(set) var message = ""
        private(set) var isLoading = false

        init(session: Session) { self.session = session }

        func load() {
            deallocBag.task(for: self, isRunning: \.isLoading) { [session] in
                try await session.get("posts", as: [Post].self).value()
            } onSuccess: { model, posts in
                model.posts = posts
            } onFailure: { model, error in
                model.message = error.localizedDescription
            }
        }
    }
}

@MainActor @Suite(.leavesNothing, .timeLimit(.minutes(1))) struct RequestSampleTests {
    private func visit(_ body: (RequestSamples, Session, LoopbackServer) async throws -> Void) async throws {
        let server = LoopbackServer()
        try await server.start()
        server.on("/posts", .json(#"[{"title": "One"}, {"title": "Two"}]"#))
        let session = Session(server.url + "/").with { configuration in
            configuration.agent = RequestAgent()
            configuration.proxy = .none
        }
        do {
            try await body(RequestSamples(), session, server)
        } catch {
            await session.shutdown()
            await server.stop()
            throw error
        }
        await session.agent.waitUntilIdle()
        #expect(session.agent.liveCount == 0)
        await session.shutdown()
        await server.stop()
    }

    // GettingStarted.md has these three URLs.
    @Test func urlsAreReportedAsTheyWereSent() async throws {
        try await visit { samples, session, server in
            server.on("/", .ok())
            let foundations = ["?q=|": "?q=%7C", "?x[]=1": "?x%5B%5D=1", "?a=%C3&q=|": "?a=%25C3&q=%7C"]
            for (query, foundation) in foundations {
                let response = try await session.get(query).response()
                #expect(response.url == server.url + "/" + query && server.requests.last?.target == "/" + query)
                #expect(URL(string: response.url)?.absoluteString == server.url + "/" + foundation)
                let error = await #expect(throws: NetworkError.self) { try await session.get("missing" + query).value() }
                #expect(error?.url == server.url + "/missing" + query)
            }
            server.on("/link", .redirect(to: "/posts"))
            #expect(try await samples.finalHost(of: "/link/".dropLast(), with: session) == "127.0.0.1")
        }
    }

    @Test func onEndStopsTheSpinnerAfterACancelToo() async throws {
        try await visit { _, session, server in
            server.on("/suggestions", .json(#"[{"title": "Sea"}]"#))
            let model = RequestSamples.SuggestionModel()
            _ = model.load("s", with: session)
            #expect(model.isLoading)
            await session.agent.waitUntilIdle()
            #expect(model.suggestions.map(\.title) == ["Sea"] && !model.isLoading)

            server.on("/suggestions", ScriptedResponse.ok("[]").stalling(.beforeHead))
            let run = model.load("se", with: session)
            try await server.waitForStalls()
            #expect(run.cancel() == .cancelled && model.isLoading)
            await session.agent.waitUntilIdle()
            #expect(model.suggestions.map(\.title) == ["Sea"] && model.message.isEmpty && !model.isLoading)

            _ = model.load("sea", with: session)
            try await server.waitForStalls()
            model.deallocBag.end()
            await session.agent.waitUntilIdle()
            #expect(model.message.isEmpty && !model.isLoading)
        }
    }

    // The note at `start(for:)`.
    @Test func theClosureForTheResultIsNotCalledAfterACancel() async throws {
        @MainActor final class Model: RequestOwner {
            nonisolated let deallocBag = DeallocBag()
            var isLoading = true
            var calls = 0
            var ends: [Bool] = []
        }
        try await visit { _, session, server in
            server.on("/never", ScriptedResponse.ok("never").stalling(.beforeHead))
            let model = Model()
            let run = session.get("never").onEnd(for: model) { model, reason in model.ends.append(reason.isCancelled) }
                .start(for: model) { model, _ in
                    model.isLoading = false
                    model.calls += 1
                }
            try await server.waitForStalls()
            run.cancel()
            await session.agent.waitUntilIdle()
            #expect(model.isLoading && model.calls == 0 && model.ends == [true])
            session.get("never").start(for: model) { model, _ in model.calls += 1 }
            try await server.waitForStalls()
            model.deallocBag.end()
            await session.agent.waitUntilIdle()
            #expect(model.isLoading && model.calls == 0)
        }
    }

    @Test func shorthandsDoWhatTheySay() async throws {
        let folder = TemporaryFolder()
        try await visit { samples, session, server in
            server.on("/page", ScriptedResponse.ok("page").header("Cache-Control", "max-age=60"))
            server.on("/moved", .redirect(to: "/page"))
            let cached = session.with { $0.cache = ResponseCache(StoreConfiguration(directory: folder.path + "/cache")) }
            let stored = try await samples.look(at: "page", with: cached)
            #expect(stored == ["page", "page", "/page"])
            server.on("/page", ScriptedResponse.ok("news").header("Cache-Control", "no-store"))
            let unstored = try await samples.look(at: "page?2", with: cached)
            #expect(unstored == ["news", nil, "/page"])
            await cached.shutdown()
        }
    }

    @Test func theLoggerGetsALineForEachRun() async throws {
        let lines = Lines()
        let logger = Logger(label: "api") { _ in lines }
        try await visit { samples, session, server in
            let logged = samples.loggingSession(session, logger)
            _ = try await logged.get("posts", query: ["key": "secret"]).value()
            _ = try? await logged.get("missing").value()
            await logged.agent.waitUntilIdle()
            let texts = lines.all.map { $0.replacing(server.url, with: "http://h") }
            #expect(texts.count == 2)
            #expect(texts.first?.hasPrefix("debug attempts=1 bytes=36 method=GET request=") == true)
            #expect(texts.first?.hasSuffix(" status=200 url=http://h/posts?key=*** request succeeded") == true, "\(texts)")
            #expect(texts.last?.hasPrefix("notice attempts=1 bytes=0 error=") == true, "\(texts)")
            #expect(texts.last?.hasSuffix(" status=404 url=http://h/missing request failed") == true)
        }
    }

    @Test func theFormHasItsFieldsAndItsFile() async throws {
        let folder = TemporaryFolder()
        let cover = URL(filePath: folder.write("sea and sun", to: "sea.jpg"))
        try await visit { samples, session, server in
            server.on("/albums") { .json(#"{"bytes": \#($0.body.count)}"#) }
            let receipt = try await samples.addAlbum("Holidays", cover: cover, with: session)
            let sent = try #require(server.requests.last)
            #expect(receipt.bytes == sent.body.count && sent.method == "POST")
            #expect(sent["content-type"]?.hasPrefix("multipart/form-data; boundary=") == true)
            #expect(sent.text.contains("name=\"title\"\r\n\r\nHolidays\r\n--"))
            #expect(sent.text.contains("name=\"visibility\"\r\n\r\npublic\r\n--"))
            #expect(sent.text.contains("filename=\"sea.jpg\"\r\nContent-Type: image/jpeg\r\n\r\nsea and sun\r\n--"))
        }
    }

    @Test func theCheckRefusesAndTheHookRepeats() async throws {
        try await visit { samples, session, server in
            server.enqueue(.status(409), for: "/orders")
            server.on("/orders", .json(#"{"number": 7}"#))
            let order = try await samples.order("tea", with: session)
            #expect(order.number == 7)
            #expect(server.requests.map(\.text) == [#"{"item":"tea"}"#, #"{"item":"tea"}"#])
            server.on("/orders", .json(#"{"error": "sold out"}"#))
            let error = await #expect(throws: NetworkError.self) { try await samples.order("tea", with: session) }
            #expect(error?.code == .unacceptableResponse && (error?.underlying as? RequestSamples.Refusal)?.error == "sold out")
            // A response that was refused by the check is not tried again.
            #expect(server.requests.count == 3)
            server.on("/orders", .status(409))
            let busy = await #expect(throws: NetworkError.self) { try await samples.order("tea", with: session) }
            #expect(busy?.status == 409 && server.requests.count == 8)
        }
    }

    @Test func onlyTheNewestQueryCounts() async throws {
        try await visit { _, session, server in
            server.on("/search") { request in .json(#"[{"title": "\#(request.query ?? "")"}]"#) }
            let model = RequestSamples.SearchModel()
            for text in ["s", "sw", "swift"] { model.search(text, with: session) }
            await session.agent.waitUntilIdle()
            #expect(model.results.map(\.title) == ["q=swift"])
        }
    }

    // Lifetimes.md, under the repeat strategies.
    @Test func theReplacedRunEndsWhileTheNewOneIsUnderWay() async throws {
        @MainActor final class Model: RequestOwner {
            nonisolated let deallocBag = DeallocBag()
            var ends: [String] = []
        }
        try await visit { _, session, server in
            server.on("/never", ScriptedResponse.ok("never").stalling(.beforeHead))
            let model = Model()
            for name in ["first", "second"] {
                session.get("never").repeats(.replaceRunning, key: "never").bound(to: model)
                    .onEnd { model, reason in
                        if case .cancelled(.replaced) = reason { model.ends.append("\(name) replaced") } else { model.ends.append(name) }
                    }
                    .start()
            }
            try await server.waitForStalls()
            while model.ends.isEmpty { await Task.yield() }
            #expect(model.ends == ["first replaced"])
            model.deallocBag.end()
            await session.agent.waitUntilIdle()
            #expect(model.ends == ["first replaced", "second"])
        }
    }

    @Test func theObservedModelSaysThatItChanged() async throws {
        try await visit { _, session, server in
            let model = RequestSamples.TimelineModel(session: session)
            let changes = AsyncStream<Void>.makeStream()
            withObservationTracking {
                _ = model.posts
            } onChange: {
                changes.continuation.finish()
            }
            model.load()
            #expect(model.isLoading)
            for await _ in changes.stream {}
            await model.deallocBag.waitUntilIdle()
            #expect(model.posts.map(\.title) == ["One", "Two"] && !model.isLoading && model.message.isEmpty)
        }
    }

    @Test func theObservedModelTakesItsRequestWithIt() async throws {
        try await visit { _, session, server in
            server.on("/posts", ScriptedResponse.ok("[]").stalling(.beforeHead))
            var model: RequestSamples.TimelineModel? = RequestSamples.TimelineModel(session: session)
            weak let probe = model
            model?.load()
            try await server.waitForStalls()
            model = nil
            #expect(probe == nil)
            await session.agent.waitUntilIdle()
            try await server.waitForOpenConnections { $0 == 0 }
        }
    }
}

/// Keeps what is logged from `debug` on, in the form of swift-log's own handlers without their time.
private struct Lines: LogHandler {
    private let trace = Trace()
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug
    var all: [String] { trace.lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        trace.add("\(event.level) \(fields.joined(separator: " ")) \(event.message)")
    }
}
