import CleanSlate
import Foundation
import HTTPTypes
import Persistence
import ScopedNetTestServer
import ScopedNetTesting
import Synchronization
import Testing

@testable import Reachability
@testable import ScopedNet

private struct Post: Codable, Sendable { let title: String }

/// The samples of README.md, word for word: `DocumentationTests` compares them with it, and ``ReadmeTests`` runs them.
///
/// They name a server and a folder of the reader's. `Session`, `ResponseCache` and `print` are parameters where a test has others.
private struct ReadmeSamples: Sendable {
    func hello(_ Session: (String) -> ScopedNet.Session, _ print: ([String]) -> Void) async throws {
        let api = Session("https://api.example.com/v1/")
        let posts = try await api.get("posts", query: ["tag": "sea"], as: [Post].self).value()
        print(posts.map(\.title))
    }

    struct Story: Decodable, Sendable { let kids: [Int] }
    struct Comment: Decodable, Sendable { let text: String }

    @MainActor
    final class StoryModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        private(set) var story: Story?
        private(set) var comments: [Comment] = []
        private(set) var message = ""
        var isLoading = false

        init(session: Session) { self.session = session }

        func open(_ id: Int) {
            deallocBag.task(for: self, isRunning: \.isLoading) { [session] in
                let story = try await session.get("stories/\(id)", as: Story.self).value()
                let comments = try await session.values(of: story.kids.map { session.get("comments/\($0)", as: Comment.self) })
                return (story, comments)
            } onSuccess: { model, page in
                (model.story, model.comments) = page
            } onFailure: { model, error in
                model.message = error.localizedDescription
            }
        }
    }

    func cachingSessions(_ api: Session, _ ResponseCache: NamedCache) -> [Session] {
        let reader = api.with { $0.cache = ResponseCache(named: "com.example.reader") }
        let patient = reader.with { $0.options.cache.timeToLive = .seconds(600) }  // only if the servers do not say how long
        return [reader, patient]
    }

    func watch(_ monitor: ReachabilityMonitor, _ print: (NetworkPath) -> Void) async {
        for await path in monitor.paths { print(path) }
    }
}

/// Makes the cache of a name in a folder of the test, by a clock of the test.
struct NamedCache {
    let folder: String
    let clock: WallClock

    func callAsFunction(named name: String) -> ResponseCache {
        ResponseCache(StoreConfiguration(directory: "\(folder)/\(name)")) { clock.now }
    }
}

/// Runs what README.md shows; its view model is run by `DocumentationTests`, its daemon by `ServiceSampleTests`, its leak tests run as they stand.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct ReadmeTests {
    private static func readme() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    }

    @Test func itHasAtMost150Lines() throws {
        let lines = try Self.readme().split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 151 && lines.last?.isEmpty == true)
    }

    @Test func helloPrintsTheTitles() async throws {
        let session = MockTransport.session()
        session.mock.on(.get, "https://api.example.com/v1/posts", .json([Post(title: "Sea"), Post(title: "Salt")]))
        var printed: [[String]] = []
        try await ReadmeSamples().hello({ base in session.with { $0.baseURL = base } }, { printed.append($0) })
        #expect(printed == [["Sea", "Salt"]])
        let asked = session.mock.exchanges.map { "\($0.method) \($0.url)" }
        #expect(asked == ["GET https://api.example.com/v1/posts?tag=sea"])
    }

    /// The same over the network: only the name of the server is another.
    @Test func helloAsksTheServer() async throws {
        try await withHouse { house async throws in
            house.server.on("/v1/posts", .json(#"[{"title": "Sea"}]"#))
            var printed: [[String]] = []
            try await ReadmeSamples().hello(
                { base in house.session.with { $0.baseURL = base.replacing("https://api.example.com", with: house.server.url) } },
                { printed.append($0) })
            #expect(printed == [["Sea"]])
            #expect(house.server.requests.map(\.target) == ["/v1/posts?tag=sea"])
            #expect(house.server.requests.first?["accept"] == "application/json")
        }
    }

    @Test @MainActor func severalStepsAreShown() async throws {
        try await withHouse { house async throws in
            house.server.on("/v1/stories/7", .json(#"{"kids": [1, 2, 3]}"#))
            for id in 1...3 {
                house.server.on(
                    "/v1/comments/\(id)", ScriptedResponse.json(#"{"text": "\#(id)"}"#).delayed(by: .milliseconds(30 - 10 * id)))
            }
            let session = house.session.with { $0.baseURL = house.url("/v1/") }
            let model = ReadmeSamples.StoryModel(session: session)
            model.open(7)
            #expect(model.isLoading && model.story == nil)
            await model.deallocBag.waitUntilIdle()
            #expect(model.story?.kids == [1, 2, 3] && model.comments.map(\.text) == ["1", "2", "3"])
            #expect(!model.isLoading && model.message.isEmpty)
            #expect(house.server.requests.map(\.path).first == "/v1/stories/7" && house.server.requests.count == 4)
            model.open(8)
            await model.deallocBag.waitUntilIdle()
            #expect(model.message == "This does not exist on the server." && !model.isLoading)
        }
    }

    @Test @MainActor func severalStepsEndWithTheModel() async throws {
        try await withHouse { house async throws in
            house.server.on("/v1/stories/7", .json(#"{"kids": [1, 2]}"#))
            for id in 1...2 { house.server.on("/v1/comments/\(id)", ScriptedResponse.json("{}").stalling(.beforeHead)) }
            let session = house.session.with { $0.baseURL = house.url("/v1/") }
            var model: ReadmeSamples.StoryModel? = ReadmeSamples.StoryModel(session: session)
            weak let probe = model
            model?.open(7)
            try await house.server.waitForStalls(2)
            model = nil
            #expect(probe == nil)
            for request in house.server.requests where request.path.contains("comments") {
                #expect(try await request.ending() == .clientClosed)
            }
        }
    }

    @Test func theCacheKeepsWhatTheServersSayNothingAbout() async throws {
        let folder = TemporaryFolder()
        let clock = WallClock()
        try await withHouse { house async throws in
            house.server.on("/menu", .ok("soup"))
            let sessions = ReadmeSamples().cachingSessions(house.session, NamedCache(folder: folder.path, clock: clock))
            let (reader, patient) = (sessions[0], sessions[1])
            let url = house.url("/menu")
            let first = try await patient.get(url, as: String.self).response()
            #expect(first.value == "soup" && first.source == .network)
            #expect(try await patient.get(url).response().source == .cache)
            clock.advance(599)
            #expect(try await patient.get(url).response().source == .cache)
            #expect(house.server.requests.count == 1)
            clock.advance(2)
            #expect(try await patient.get(url).response().source == .network)
            // The reader takes the server by its word, which is none.
            #expect(try await reader.get(url).response().source != .cache)
            #expect(house.server.requests.count == 3 && folder.names == ["com.example.reader"])
            await reader.configuration.cache?.store.close()
        }
    }

    @Test func theCacheKeepsWhatTheServersSay() async throws {
        let folder = TemporaryFolder()
        let clock = WallClock()
        try await withHouse { house async throws in
            house.server.on("/menu", fresh("soup", 60))
            let reader = ReadmeSamples().cachingSessions(house.session, NamedCache(folder: folder.path, clock: clock))[0]
            var sources: [ResponseSource] = []
            for pause in [0.0, 59, 2] {
                clock.advance(pause)
                sources.append(try await reader.get(house.url("/menu")).response().source)
            }
            #expect(sources == [.network, .cache, .network] && house.server.requests.count == 2)
            await reader.configuration.cache?.store.close()
        }
    }

    @Test func theMonitorPrintsThePath() async throws {
        #expect(try Self.readme().contains("`for await path in monitor.paths` prints"))
        let monitor = ReachabilityMonitor(target: .host("127.0.0.1"))
        try monitor.start()
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let watching = Task { await ReadmeSamples().watch(monitor) { line.yield("\($0)") } }
        var iterator = lines.makeAsyncIterator()
        let printed = await iterator.next()
        #expect(printed?.hasPrefix("satisfied IPv4") == true && printed?.contains(" over lo (") == true, "\(printed ?? "-")")
        watching.cancel()
        await watching.value
        monitor.stop()
    }

    /// The line that it shows is one that the library writes.
    @Test func thePathOfTheReadmeIsOne() throws {
        var path = NetworkPath(status: .satisfied)
        (path.supportsIPv4, path.supportsDNS) = (true, true)
        path.interfaces = [NetworkInterface(name: "eth0", index: 2, kind: .wired)]
        path.gateways = [IPAddress(192, 0, 2, 1)]
        #expect(try Self.readme().contains("prints `\(path)`"))
    }
}
