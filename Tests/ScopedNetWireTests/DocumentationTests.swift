import CleanSlate
import Foundation
import HTTPTypes
import Logging
import Persistence
@_spi(Transport) import ScopedNet
import ScopedNetTestServer
import Synchronization
import Testing

/// The Swift samples of the DocC catalog, and the view model of the README, word for word: what does not compile here must not be shown to anyone.
/// ``DocumentationTests`` compares them with the articles and runs those that can be run.
private struct Samples: Sendable {
    // MARK: Calls with everything

    func addPhoto(_ photo: URL, to page: Int, tags: [String], with session: Session) async throws -> [Post] {
        var form = MultipartForm(); try form.add(file: photo, name: "photo")
        _ = try await session.post("photos", body: .multipart(form)).value()
        return try await session.get("posts", query: ["page": page, "tags": tags], as: [Post].self).value()
    }

    func sendTheReport(_ session: Session, _ report: Data) async throws {
        _ = try await session.request("https://example.com/reports", method: .post, body: .data(report))
            .options { $0.waitsForConnectivity = true }
            .value()
    }

    // MARK: Responses.md

    func posts(_ session: Session, _ numbers: [Int]) async throws(NetworkError) -> [Post] {
        try await session.values(of: numbers.map { session.get("posts/\($0)", as: Post.self) }, atMost: 8)
    }

    func snakeCaseSession() -> Session {
        Session("https://api.example.com/v1/", json: JSONCoding(keys: .snakeCase, dates: .iso8601))
    }

    // MARK: GettingStarted.md

    func search(_ text: String, since: Date, by author: String?, with session: Session) async throws -> [Post] {
        _ = try await session.post("searches", json: ["q": text, "since": since]).value()
        return try await session.get("search", query: ["q": text, "since": since, "by": author], as: [Post].self).value()
    }

    func fetch(_ image: String, to file: URL, with session: Session, show: (Double, String) -> Void) async throws(NetworkError) -> URL? {
        let download = session.download(image, to: file)
        for try await progress in download.progress { show(progress.fraction ?? 0, "\(progress)") }
        return try download.result?.get().value
    }

    func report(_ session: Session, to logger: Logger) {
        logger.info("\(session.statistics)")  // 120 requests: 118 succeeded, 2 failed (idleTimeout 2); …; p50 12 ms, p90 40 ms, p99 1.2 s
    }

    // MARK: Downloads.md

    @MainActor
    final class DownloadPage: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let request: Request<URL>
        private var run: Run?
        private(set) var fraction = 0.0

        init(_ url: String, to file: URL, with session: Session) {
            request = session.download(url, to: file).resuming().retry(.standard)
        }

        func goOn() {
            run = request.bound(to: self).onDownloadProgress { page, progress in page.fraction = progress.fraction ?? 0 }.start()
        }

        func pause() { run?.cancel() }
    }

    func tidyUp(_ downloads: URL) throws {
        for partial in try PartialDownload.all(in: downloads) {
            print(partial.file.lastPathComponent, partial.bytes, partial.total ?? 0)
        }
        try PartialDownload.removeAll(in: downloads, olderThan: .seconds(30 * 24 * 3_600))
    }

    // MARK: Responses.md

    func decoders(_ session: Session) {
        _ = session.get("posts", as: [Post].self)
        _ = session.get("posts", decoder: .json(removesNulls: true))
        _ = session.get("letter", as: String.self)
        _ = session.get("settings", decoder: .propertyList([String: Int].self))
        _ = session.get("size", decoder: ResponseDecoder { _, body in body.count })
        _ = session.get("either", decoder: .first(of: ResponseDecoder.json(Post.self).map { $0.title }, .text))
    }

    func users(_ session: Session) async throws -> JSONValue {
        let shape: JSONShape = ["users": .array(of: ["id": .integer, "name": .string, "phone": .optional(.string)])]
        return try await session.get("users", decoder: .json(shape)).value()
    }

    func thumbnail(_ session: Session, to file: URL) async throws -> URL {
        try await session.download("thumbnail", to: file).options { $0.validation.contentTypes = .only(["image/*"]) }.value()
    }

    func session(keepingCookiesOf account: String) async -> Session {
        let jar = await CookieJar(named: "com.example.reader", partition: account)
        return Session("https://api.example.com/v1/").with { $0.cookies = jar }
    }

    struct Post: Codable, Sendable { let title: String }

    @MainActor
    final class FeedModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        private(set) var posts: [Post] = []
        private(set) var message = ""
        private(set) var isLoading = false

        init(session: Session) { self.session = session }

        func load() {
            isLoading = true
            session.get("posts", as: [Post].self).bound(to: self)
                .onSuccess { model, posts in model.posts = posts }
                .onFailure { model, error in model.message = error.localizedDescription }
                .onEnd { model, _ in model.isLoading = false }
                .start()
        }
    }

    struct Health: Decodable, Sendable { let healthy: Bool }

    /// Asks an upstream until the task is cancelled, then leaves nothing behind.
    struct Watcher: Sendable {
        let session: Session

        func run(every pause: Duration, report: @Sendable (Bool) -> Void) async {
            await withRequestScope(label: "watcher") { scope in
                while !Task.isCancelled {
                    do throws(NetworkError) {
                        let request = session.get("health", as: Health.self).timeout(.seconds(5)).retry(.standard)
                        report(try await request.value(in: scope.bag).healthy)
                    } catch {
                        if !error.isCancelled { report(false) }
                    }
                    try? await Task.sleep(for: pause)
                }
            }
            await session.shutdown()
        }
    }

    func titles(_ session: Session) async throws(NetworkError) -> [String] {
        let posts = try await session.get("posts", as: [Post].self).value()
        return posts.map(\.title)
    }

    func printCapabilities() {
        print(Capabilities.current)
    }

    // MARK: GettingStarted.md

    func makeSession(_ server: String) -> Session {
        Session("\(server)/api/").with {
            $0.headers[.userAgent] = "Example/1.0"
            $0.options.timeouts.idle = .seconds(30)
        }
    }

    func firstPost(_ session: Session) async throws(NetworkError) -> Post? {
        let response = try await session.get("posts", as: [Post].self).response()
        print(response.status, response.duration, response.url)
        return response.value.first
    }

    struct Problem: Decodable { let detail: String }

    func explain(_ session: Session) async -> String {
        do throws(NetworkError) {
            _ = try await session.send("missing")
            return "found"
        } catch {
            return error.decoded(as: Problem.self)?.detail ?? error.description
        }
    }

    @MainActor
    final class DownloadModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private(set) var fraction = 0.0
        private(set) var file: URL?
        private(set) var ending: EndReason?

        func save(_ session: Session, to destination: URL) {
            session.download("large", to: destination)
                .bound(to: self)
                .onDownloadProgress { model, progress in model.fraction = progress.fraction ?? 0 }
                .onSuccess { model, file in model.file = file }
                .onEnd { model, reason in model.ending = reason }
                .start()
        }
    }

    @MainActor
    final class HealthModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private(set) var line = ""

        func check(_ session: Session) {
            session.get("health", as: Health.self).timeout(.seconds(5)).retry(.standard)
                .start(for: self) { model, result in
                    switch result {
                    case .success(let health): model.line = health.healthy ? "up" : "down"
                    case .failure(let error): model.line = error.localizedDescription
                    }
                }
        }
    }

    @MainActor
    final class Ticker: @MainActor RequestDelegate {
        private(set) var lines: [String] = []

        func requestDidStart(_ run: Run.Info) { lines.append("start") }
        func request(_ run: Run.Info, didReceiveHead head: ResponseHead) { lines.append("head \(head.status)") }
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) { lines.append("success") }
        func requestDidEnd(_ run: Run.Info) { lines.append("end") }

        func follow(_ session: Session, in bag: DeallocBag) {
            session.get("posts", as: [Post].self).delegate(self).start(in: bag)
        }
    }

    func publish(_ post: Post, with session: Session) async throws -> [Post] {
        try await session.post("posts", json: post, as: [Post].self).value()
    }

    func vote(for id: Int, key: String, with session: Session) async throws {
        try await session.post("votes", headers: ["X-Key": key], json: ["id": id, "up": true], as: Void.self).value()
    }

    func countBytes(_ session: Session) async throws(NetworkError) -> Int {
        let response = try await session.stream("large")
        var count = 0
        for try await piece in response.bytes { count += piece.count }
        return count
    }

    final class Tally: RequestObserver {
        private let failures = Atomic(0)
        var count: Int { failures.load(ordering: .relaxed) }

        func observe(_ event: RequestEvent) {
            if case .finished(let completion) = event.kind, completion.error != nil { failures.add(1, ordering: .relaxed) }
        }
    }

    // MARK: Hooks.md

    @MainActor
    final class Reports: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        var hosts: Set<String> = ["reports.example.com"]
        private(set) var report: Data?

        func load(with session: Session) {
            session.get("reports/today")
                .decideRedirect(for: self) { reports, hop in
                    guard let host = URL(string: hop.proposed.url)?.host, reports.hosts.contains(host) else { return .stop }
                    return .follow
                }
                .decideDisposition(for: self) { _, arrival in
                    (arrival.head.contentLength ?? 0) > 50_000_000 ? .cancel : .allow
                }
                .bound(to: self)
                .onSuccess { reports, data in reports.report = data }
                .start()
        }
    }

    func document(_ session: Session, folder: URL) async throws -> RequestHooks.DataOrFile {
        try await session.get("document", decoder: .dataOrFile)
            .decideDisposition { arrival in
                (arrival.head.contentLength ?? .max) > 1_000_000 ? .download(to: folder) : .allow
            }
            .value()
    }

    // MARK: Interceptors.md

    func identify(_ session: Session) {
        session.onRequest { $0.headers["X-Request-ID"] = UUID().uuidString }
    }

    struct Stopwatch: Interceptor {
        let report: @Sendable (String, Duration) -> Void

        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            let start = ContinuousClock.now
            defer { report("\(request.method) \(request.url)", start.duration(to: .now)) }
            return try await next(request)
        }
    }

    struct Bundled: Interceptor {
        let cache: ResponseCache
        let read: @Sendable (String) -> Data?

        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            guard let body = read(request.url) else { return try await next(request) }
            let headers: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=600"]
            await cache.store(body, headers: headers, for: Session.shared.get(request.url))
            return InterceptedResponse(status: 200, headers: headers, body: body)
        }
    }

    func api(_ signer: some Interceptor, _ stopwatch: Stopwatch) -> Session {
        Session("https://api.example.com/v1/").with {
            $0.options.interceptors.call = [stopwatch]
            $0.options.interceptors.exchange = [signer]
        }
    }

    // MARK: Lifetimes.md

    /// A page whose tabs can be closed alone, and all together with it.
    final class Page: Sendable {
        let bag = DeallocBag(label: "page")

        func openTab(_ session: Session, _ path: String) -> DeallocBag {
            let tab = bag.child(label: path)
            session.get(path).start(in: tab)
            tab.task { try? await Task.sleep(for: .seconds(3600)) }
            return tab
        }
    }

    func firstAnswer(_ session: Session, _ mirrors: [String]) async throws -> Data {
        try await withRequestScope { scope in
            let bag = scope.bag
            return try await withThrowingTaskGroup(of: Data.self) { group in
                for mirror in mirrors { group.addTask { try await session.get(mirror).value(in: bag) } }
                defer { bag.end() }
                guard let first = try await group.next() else { throw CancellationError() }
                return first
            }
        }
    }

    func giveUp(_ run: Run) async -> String {
        switch run.cancel() {
        case .cancelled: return "nothing will be called"
        case .callbackRunning:
            await run.cancelAndWait()
            return "the last call is over"
        case .alreadyEnded: return "it was over"
        }
    }

    // MARK: Concurrency.md

    actor Archive {
        private var bodies: [Data] = []
        var count: Int { bodies.count }

        func fetch(_ session: Session, _ path: String, in bag: DeallocBag) {
            session.get(path).bound(to: self)
                .onSuccess { archive, body in archive.bodies.append(body) }
                .start(in: bag)
        }
    }

    // MARK: Caching.md

    func cachingSession() -> Session {
        Session("https://api.example.com/v1/").with { $0.cache = ResponseCache(named: "com.example.reader") }
    }

    func cachedPolicies(_ session: Session) -> [Request<Data>] {
        let fixed = session.get("https://example.com/menu").options {
            $0.cache.timeToLive = .seconds(600)  // the server says nothing of use
            $0.cache.version = "3"  // what older versions of the program stored is not read
        }
        let offline = session.get("https://example.com/menu").cache(.only)
        let reload = session.get("https://example.com/menu").cache(.revalidate)
        let account = session.get("https://example.com/inbox").options { $0.cache.partition = "account-7" }
        return [fixed, offline, reload, account]
    }

    func showTheMenu(_ session: Session, _ show: @escaping @Sendable (Data) -> Void) {
        session.get("https://example.com/menu")
            .cache(.thenNetwork)
            .onCached { show($0) }
            .onSuccess { show($0) }
            .start()
    }

    func menus(_ session: Session) async throws {
        for try await response in session.get("https://example.com/menu").cachedThenFresh() {
            print(response.source, response.value.count)
        }
    }

    #if Encryption
    func sealedCache(_ key: Data) throws -> ResponseCache {
        var configuration = StoreConfiguration(directory: try StoreConfiguration.cacheDirectory("com.example.reader"))
        configuration.sealing = try AESGCMSealing(key: key)
        return ResponseCache(configuration, options: [.flushesAtTermination, .yieldsToMemoryPressure])
    }
    #endif

    // MARK: Transport.md

    func patient(_ session: Session) -> Session {
        session.with { configuration in
            configuration.options.timeouts = Timeouts(
                queue: .seconds(60), connect: .seconds(5), firstByte: .seconds(20), idle: .seconds(20), total: .seconds(300))
        }
    }

    func stubborn(_ session: Session) -> Session {
        session.with { configuration in
            configuration.options.retry = RetryPolicy(maxAttempts: 4, backoffBase: .milliseconds(10), deadline: .seconds(20))
        }
    }

    func insideTheCluster() -> Session.Configuration {
        var configuration = Session.Configuration()
        configuration.tls.certificateAuthority = .file("/etc/cluster/ca.pem")
        configuration.tls.clientCertificate = .files(certificate: "/etc/cluster/me.pem", key: "/etc/cluster/me.key")
        configuration.proxy = .explicit(url: "http://proxy.cluster:3128", bypass: ["localhost", "10.0.0.0/8"])
        configuration.connection.addressFamily = .ipv4
        configuration.limits.perHost = 12
        return configuration
    }

    /// Answers everything with 204, without a network.
    final class EmptyTransport: Transport {
        func start(_ transfer: TransferRequest, sink: any TransferSink) {
            DispatchQueue.global().async {
                let batch = DeliveryBatch()
                let head = ResponseHead(status: 204)
                _ = sink.transfer(transfer.id, didReceive: head, batch: batch)
                sink.transfer(transfer.id, didFinishWith: TransferResult(head: head), batch: batch)
                batch.end()
            }
        }

        func cancel(_ id: TransferID) {}
        func suspend(_ id: TransferID) {}
        func resume(_ id: TransferID) {}
        func shutdown() async {}
    }
}

@Suite(.leavesNothing) struct DocumentationTests {
    // MARK: The articles

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let catalogs = [
        "Sources/ScopedNet/ScopedNet.docc", "Sources/ScopedNetTesting/ScopedNetTesting.docc",
        "Sources/ScopedNetService/ScopedNetService.docc",
    ]

    private static let articles: [String] = {
        let files = catalogs.flatMap { catalog in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: catalog).path)) ?? []
            return names.filter { $0.hasSuffix(".md") }.sorted().map { "\(catalog)/\($0)" }
        }
        return ["README.md"] + files
    }()

    private static func lines(of file: String) throws -> [String] {
        try String(contentsOf: root.appending(path: file), encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The fenced Swift of an article, line by line, without indentation.
    private static func samples(of article: String) throws -> [[String]] {
        var samples: [[String]] = []
        var sample: [String]?
        for line in try lines(of: article) {
            if line == "```swift" {
                sample = []
            } else if line == "```", let complete = sample {
                samples.append(complete)
                sample = nil
            } else {
                sample?.append(line)
            }
        }
        return samples
    }

    @Test func theCatalogIsComplete() throws {
        let names = Self.articles.map { $0.split(separator: "/").last.map(String.init) ?? "" }
        #expect(
            names == [
                "README.md",
                "Architecture.md",
                "Authentication.md",
                "AwaitInViewModel.md",
                "Caching.md",
                "Concurrency.md",
                "Connections.md",
                "Downloads.md",
                "Endpoints.md",
                "Errors.md",
                "GettingStarted.md",
                "Hooks.md",
                "Interceptors.md",
                "Layers.md",
                "Lifetimes.md",
                "Limits.md",
                "MigratingFromCTNetworking.md",
                "MigratingFromYBNetwork.md",
                "MigratingFromYTKNetwork.md",
                "Responses.md",
                "ScopedNet.md",
                "Security.md",
                "Transport.md",
                "LeakTests.md",
                "Mocking.md",
                "ScopedNetTesting.md",
                "ScopedNetService.md",
            ])
        #expect(try Self.articles.map { try Self.samples(of: $0).count }.reduce(0, +) >= 20)
    }

    @Test(arguments: articles) func samplesStandHereWordForWord(_ article: String) throws {
        let sources = [
            "DocumentationTests.swift",
            "SecuritySamples.swift",
            "AuthenticationSamples.swift",
            "LeakTestSamples.swift",
            "LimitsSamples.swift",
            "ConnectionSamples.swift",
            "ErrorSamples.swift",
            "MockSamples.swift",
            "ReadmeSamples.swift",
            "RequestSamples.swift",
            "ServiceSamples.swift",
            "TestServerSamples.swift",
            "../OpenCombineTests/PublisherSamples.swift",
            "../LayerTests/LayerSamples.swift",
            "../ScopedNetEndpointsTests/EndpointSamples.swift",
            "../ScopedNetEndpointsTests/MigrationSamples.swift",
            "../ScopedNetObservabilityTests/ObservabilitySamples.swift",
        ]
        let here = try "\n" + sources.flatMap { try Self.lines(of: "Tests/ScopedNetWireTests/\($0)") }.joined(separator: "\n") + "\n"
        for sample in try Self.samples(of: article) {
            let isHere = here.contains("\n" + sample.joined(separator: "\n") + "\n")
            #expect(isHere, "\(article) shows what is not compiled: \(sample.first ?? "")")
        }
    }

    // MARK: Running them

    /// A server with the routes the samples ask for, and a session as `GettingStarted.md` makes it, with an agent of its own.
    private func visit(_ body: (Samples, Session, LoopbackServer) async throws -> Void) async throws {
        let server = LoopbackServer()
        try await server.start()
        server.on("/api/posts", .json(#"[{"title": "One"}, {"title": "Two"}]"#))
        server.on("/api/health", .json(#"{"healthy": true}"#))
        server.on("/api/missing", .json(#"{"detail": "no such thing"}"#).with { $0.status = 404 })
        server.on("/api/large", .ok(.repeating(7, count: 300_000)))
        server.on("/api/never", .ok("never").stalling(.beforeHead))
        let samples = Samples()
        let session = samples.makeSession(server.url).with { configuration in
            configuration.agent = RequestAgent()
            configuration.proxy = .none
        }
        do {
            try await body(samples, session, server)
        } catch {
            await server.stop()
            throw error
        }
        await session.agent.waitUntilIdle()
        #expect(session.agent.liveCount == 0)
        await server.stop()
    }

    // Defect 50
    @Test @MainActor func theViewModelLoads() async throws {
        try await visit { _, session, _ in
            let model = Samples.FeedModel(session: session)
            model.load()
            #expect(model.isLoading)
            await session.agent.waitUntilIdle()
            #expect(model.posts.map(\.title) == ["One", "Two"])
            #expect(model.message.isEmpty)
            #expect(!model.isLoading)
        }
    }

    // S2-1, defect 18
    @Test @MainActor func theViewModelTakesItsRequestWithIt() async throws {
        try await visit { _, session, server in
            server.on("/api/posts", .ok("[]").stalling(.beforeHead))
            var model: Samples.FeedModel? = Samples.FeedModel(session: session)
            weak let probe = model
            model?.load()
            try await server.waitForStalls()
            model = nil
            #expect(probe == nil)
            await session.agent.waitUntilIdle()
            try await server.waitForOpenConnections { $0 == 0 }
        }
    }

    @Test func theFormAndTheQueryGoOut() async throws {
        let folder = TemporaryFolder()
        let photo = URL(filePath: folder.write("sea and sun", to: "sea.jpg"))
        try await visit { samples, session, server in
            server.on("/api/photos", .ok())
            let posts = try await samples.addPhoto(photo, to: 2, tags: ["sea", "sun"], with: session)
            #expect(posts.map(\.title) == ["One", "Two"])
            let seen = server.requests
            #expect(seen.map(\.method) == ["POST", "GET"])
            #expect(seen.first?.text.contains("filename=\"sea.jpg\"\r\nContent-Type: image/jpeg\r\n\r\nsea and sun\r\n--") == true)
            #expect(seen.last?.query == "page=2&tags%5B%5D=sea&tags%5B%5D=sun")
        }
    }

    @Test func theDaemonLeavesNothingBehind() async throws {
        try await visit { _, session, _ in
            let (reports, reporter) = AsyncStream.makeStream(of: Bool.self)
            let watcher = Task {
                await Samples.Watcher(session: session).run(every: .milliseconds(1)) { reporter.yield($0) }
            }
            var iterator = reports.makeAsyncIterator()
            #expect(await iterator.next() == true)
            #expect(await iterator.next() == true)
            watcher.cancel()
            await watcher.value
            await #expect { try await session.send("posts") } throws: { ($0 as? NetworkError)?.code == .shutdown }
        }
    }

    // YTK-6
    @Test func awaitingWorks() async throws {
        try await visit { samples, session, server in
            #expect(try await samples.titles(session) == ["One", "Two"])
            #expect(try await samples.firstPost(session)?.title == "One")
            #expect(await samples.explain(session) == "no such thing")
            #expect(try await samples.countBytes(session) == 300_000)
            #expect(try await samples.publish(.init(title: "Three"), with: session).count == 2)
            let sent = try #require(server.requests.last)
            #expect(sent.method == "POST" && String(decoding: sent.body, as: UTF8.self) == #"{"title":"Three"}"#)
            #expect(sent.headers["user-agent"] == "Example/1.0")
            server.on("/api/votes", .ok())
            try await samples.vote(for: 7, key: "k", with: session)
            let vote = try #require(server.requests.last)
            #expect(vote.text == #"{"id":7,"up":true}"# && vote["x-key"] == "k")
        }
        Samples().printCapabilities()
    }

    @Test @MainActor func hooksDecide() async throws {
        try await visit { samples, session, server in
            server.on("/api/reports/today", .redirect(to: "/api/posts"))
            let reports = Samples.Reports()
            reports.load(with: session)
            await session.agent.waitUntilIdle()
            // Led to a host that it does not know.
            #expect(reports.report == nil && server.requests.count == 1)
            reports.hosts.insert("127.0.0.1")
            reports.load(with: session)
            await session.agent.waitUntilIdle()
            #expect(reports.report?.isEmpty == false)

            let folder = FileManager.default.temporaryDirectory.appending(path: "hooks-\(UUID().uuidString)", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            server.on("/api/document", .ok("short"))
            #expect(try await samples.document(session, folder: folder) == .data(Data("short".utf8)))
            server.on("/api/document", .ok(.repeating(7, count: 1_000_001)))
            let file = folder.appending(path: "document")
            #expect(try await samples.document(session, folder: folder) == .file(URL(filePath: file.path)))
            #expect(FileManager.default.contents(atPath: file.path)?.count == 1_000_001)
        }
    }

    @Test @MainActor func theDownloadReportsAndMoves() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "scopednet-documentation-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try await visit { _, session, _ in
            let model = Samples.DownloadModel()
            model.save(session, to: file)
            await session.agent.waitUntilIdle()
            #expect(model.file == file && model.fraction == 1)
            if case .succeeded = model.ending {} else { Issue.record("ended with \(String(describing: model.ending))") }
            let saved = try Data(contentsOf: file)
            #expect(saved.count == 300_000)
        }
    }

    @Test @MainActor func oneClosureHasBothEnds() async throws {
        try await visit { _, session, server in
            let model = Samples.HealthModel()
            server.enqueue(.status(503), for: "/api/health")
            model.check(session)
            await model.deallocBag.waitUntilIdle()
            #expect(model.line == "up" && server.requests.count == 2)
            server.on("/api/health", .status(404))
            model.check(session)
            await model.deallocBag.waitUntilIdle()
            #expect(model.line.isEmpty == false && model.line != "up")
        }
    }

    @Test @MainActor func theDownloadPausesAndGoesOn() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "scopednet-documentation-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "large")
        try await visit { samples, session, server in
            server.enqueue(ScriptedResponse.ok(.repeating(7, count: 300_000)).tagged("v1").stalling(.afterBytes(100_000)), for: "/api/part")
            server.on("/api/part", ScriptedResponse.ok(.repeating(7, count: 300_000)).tagged("v1"))
            let page = Samples.DownloadPage("part", to: file, with: session)
            page.goOn()
            try await server.waitForStalls()
            while PartialDownload.of(file)?.bytes != 100_000 { try await Task.sleep(for: .milliseconds(1)) }
            page.pause()
            page.goOn()
            await session.agent.waitUntilIdle()
            #expect(page.fraction == 1)
            let saved = try Data(contentsOf: file)
            #expect(saved.count == 300_000 && server.requests.last?["range"] == "bytes=100000-")
            try samples.tidyUp(folder)
        }
    }

    @Test @MainActor func theDelegateHearsInOrder() async throws {
        try await visit { _, session, _ in
            let ticker = Samples.Ticker()
            let bag = DeallocBag()
            ticker.follow(session, in: bag)
            await session.agent.waitUntilIdle()
            #expect(ticker.lines == ["start", "head 200", "success", "end"])
            #expect(bag.count == 0)
        }
    }

    // SES-12
    @Test func theObserverCounts() async throws {
        try await visit { samples, session, _ in
            let tally = Samples.Tally()
            let observed = session.with { $0.observers.append(tally) }
            _ = await samples.explain(observed)
            _ = try await samples.titles(observed)
            await session.agent.waitUntilIdle()
            #expect(tally.count == 1)
        }
    }

    /// Around an exchange the stored answer is found before the interceptor is asked; around the call by requests without it.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func theAnswerOfAnInterceptorIsStored(_ place: InterceptedRequest.Context.Place) async throws {
        try await withCache { cached async throws in
            let reads = Gathered<String>()
            let bundled = Samples.Bundled(cache: cached.cache) { url in
                reads.add(url)
                return url.hasSuffix("/bundled") ? Data("[1]".utf8) : nil
            }
            cached.server.on("/other", .ok("there"))
            let session = cached.wire.session.with {
                $0.options.interceptors = place == .call ? .init(call: [bundled]) : .init(exchange: [bundled])
            }
            let first = try await session.get(cached.wire.url + "/bundled", as: [Int].self).response()
            let second = try await session.get(cached.wire.url + "/bundled", as: [Int].self).response()
            #expect(first.value == [1] && first.source == .interceptor && second.value == [1])
            #expect(second.source == (place == .call ? .interceptor : .cache) && reads.all.count == (place == .call ? 2 : 1))
            let plain = try await cached.get("/bundled")
            #expect(plain.source == .cache && plain.body == Data("[1]".utf8) && plain.head["content-type"] == "application/json")
            #expect(try await session.get(cached.wire.url + "/other").value() == Data("there".utf8))
            // Fresh for ten minutes.
            cached.clock.advance(601)
            let third = try await session.get(cached.wire.url + "/bundled").response()
            #expect(third.source == .interceptor && cached.server.requests.map(\.path) == ["/other"])
        }
    }

    // SES-3
    @Test func tabsEndWithTheirPage() async throws {
        try await visit { _, session, server in
            var page: Samples.Page? = Samples.Page()
            let one = try #require(page?.openTab(session, "never"))
            let two = try #require(page?.openTab(session, "never"))
            try await server.waitForStalls(2)
            #expect(one.count == 2 && two.count == 2)
            one.end()
            #expect(one.isEnded && !two.isEnded)
            page = nil
            #expect(two.isEnded)
            await session.agent.waitUntilIdle()
        }
    }

    @Test func theFirstAnswerEndsTheOthers() async throws {
        try await visit { samples, session, server in
            let answer = try await samples.firstAnswer(session, ["never", "posts", "never"])
            #expect(String(decoding: answer, as: UTF8.self).contains("Two"))
            await session.agent.waitUntilIdle()
            server.releaseStalls()
        }
    }

    @Test func givingUpSaysWhatItAchieved() async throws {
        try await visit { samples, session, server in
            let run = session.request("never").start()
            try await server.waitForStalls()
            #expect(await samples.giveUp(run) == "nothing will be called")
            #expect(await samples.giveUp(run) == "it was over")
        }
    }

    @Test func theActorGetsItsBodies() async throws {
        try await visit { _, session, _ in
            let archive = Samples.Archive()
            let bag = DeallocBag()
            await archive.fetch(session, "posts", in: bag)
            await archive.fetch(session, "health", in: bag)
            await session.agent.waitUntilIdle()
            #expect(await archive.count == 2)
        }
    }

    @Test func patienceAndStubbornness() async throws {
        try await visit { samples, session, server in
            #expect(samples.patient(session).configuration.options.timeouts.total == .seconds(300))
            for _ in 0..<2 { server.enqueue(.status(503), for: "/api/posts") }
            let titles = try await samples.titles(samples.stubborn(session))
            #expect(titles == ["One", "Two"])
            #expect(server.requests.count == 3)
        }
    }

    @Test func settingsAndOtherTransports() async throws {
        let configuration = Samples().insideTheCluster()
        #expect(configuration.connection.limits.perHost == 12)
        #expect(configuration.connection.tls.certificateAuthority == .file("/etc/cluster/ca.pem"))
        let session = Session(configuration: .init(customTransport: Samples.EmptyTransport(), agent: RequestAgent()))
        #expect(try await session.send("http://nowhere.invalid/").status == 204)
        #expect(session.capabilities == nil)
    }
}
