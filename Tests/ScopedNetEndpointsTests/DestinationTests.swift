import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Testing

/// Endpoints whose bodies go to files, come from them, or are read as they arrive.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct DestinationTests {
    private struct Server: APIService {
        enum Failure: Error, Equatable { case of(NetworkError.Code) }
        var baseURL: String { "http://api.test/" }
        func adapt(_ call: inout APICall) throws { call.query["key"] = 7 }
        func failure<E: Endpoint>(_ error: NetworkError, document: E.Failure?, of endpoint: E) -> Failure { .of(error.code) }
    }

    private struct Episode: Endpoint {
        typealias Value = URL
        let file: URL
        var method = HTTPRequest.Method.get
        var path: String { "episode" }
        var headers: HeaderFields { ["X-Part": "1"] }
        var destination: EndpointDestination<URL> { .file(file) }
        func configure(_ options: inout RequestOptions) { options.tag = "episode" }
    }

    private struct Ticker: Endpoint, Encodable {
        typealias Value = Void
        let from: Int
        var path: String { "ticker" }
        func configure(_ options: inout RequestOptions) { options.tag = "ticker" }
    }

    private func withClient(_ test: (APIClient<Server>, MockTransport) async throws -> Void) async throws {
        let session = MockTransport.session("http://api.test/")
        try await test(APIClient(Server(), session: session), session.mock)
        await session.shutdown()
    }

    @Test func aDownloadIsACallLikeAnyOther() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "endpoint-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withClient { client, mock async throws in
            mock.on("http://api.test/episode", .ok("sound"))
            let file = folder.appending(path: "1.mp3")
            let response = try await client.response(to: Episode(file: file))
            #expect(response.value == file && FileManager.default.contents(atPath: file.path) == Data("sound".utf8))
            let exchange = try #require(mock.exchanges.last)
            #expect(exchange.url == "http://api.test/episode?key=7" && exchange.headers[HTTPField.Name("X-Part")!] == "1")
            #expect(client.request(Episode(file: file)).start().tag == "episode")
            await client.session.agent.waitUntilIdle()
            // One that cannot be: by another method.
            await #expect(throws: Server.Failure.of(.invalidParameters)) {
                try await client.send(Episode(file: folder.appending(path: "2.mp3"), method: .post))
            }
            #expect(FileManager.default.contents(atPath: folder.appending(path: "2.mp3").path) == nil)
        }
    }

    /// The endpoint of the article.
    @Test func aFormWithPartsIsABody() async throws {
        try await withClient { client, mock async throws in
            mock.on(.post, "http://api.test/pictures", .json(Story(title: "a boat")))
            var form = try MultipartForm(boundary: "b")
            form.add("a boat", name: "title")
            try form.add(Data("pixels".utf8), name: "picture", fileName: "boat.png")
            #expect(try await client.send(AddPicture(form: form)).title == "a boat")
            let exchange = try #require(mock.exchanges.last)
            #expect(exchange.method == .post && exchange.url == "http://api.test/pictures?key=7")
            #expect(exchange.headers[.contentType] == "multipart/form-data; boundary=b")
            let body = String(decoding: try #require(exchange.body), as: UTF8.self)
            let expected = [
                "--b", #"Content-Disposition: form-data; name="title""#, "", "a boat", "--b",
                #"Content-Disposition: form-data; name="picture"; filename="boat.png""#, "Content-Type: image/png", "", "pixels", "--b--",
                "",
            ]
            #expect(body == expected.joined(separator: "\r\n"))
        }
    }

    @Test func aFileIsABody() async throws {
        try await withClient { client, mock async throws in
            mock.on(.put, "http://api.test/podcasts/3", .ok())
            let upload = SetPodcast(number: 3, file: URL(filePath: #filePath))
            try await client.send(upload)
            let exchange = try #require(mock.exchanges.last)
            #expect(exchange.method == .put && exchange.headers[.contentType] == "audio/mpeg")
            // Not in memory.
            #expect(exchange.body == nil && client.request(upload).curlCommand.contains("@\(#filePath)"))
        }
    }

    @Test func aBodyIsReadAsItArrives() async throws {
        try await withClient { client, mock async throws in
            mock.on("http://api.test/ticker", .ok("one\ntwo\nthree"))
            var lines: [String] = []
            for try await line in try await client.stream(Ticker(from: 3)).lines { lines.append(line) }
            #expect(lines == ["one", "two", "three"])
            let exchange = try #require(mock.exchanges.last)
            #expect(exchange.url == "http://api.test/ticker?from=3&key=7" && exchange.endpoint is Ticker)
            mock.on("http://api.test/ticker", .status(404))
            await #expect(throws: Server.Failure.of(.unacceptableStatus)) { try await client.stream(Ticker(from: 1)) }
            // A download has a place for its body already.
            await #expect(throws: Server.Failure.of(.invalidOption)) {
                try await client.stream(Episode(file: URL(filePath: "/tmp/never")))
            }
        }
    }

    @Test func aBagEndsAStream() async throws {
        let session = MockTransport.session("http://api.test/", unanswered: .wait)
        let client = APIClient(Server(), session: session)
        let bag = DeallocBag()
        async let stream = client.stream(Ticker(from: 3), in: bag)
        let exchange = await session.mock.exchange(0)
        exchange.receiveHead()
        exchange.receive("one\ntw")
        var lines: [String] = []
        var end: NetworkError?
        do {
            for try await line in try await stream.lines {
                lines.append(line)
                bag.end()
            }
        } catch { end = error as? NetworkError }
        #expect(lines == ["one"] && end?.cancelReason == .ownerReleased && exchange.isCancelled)
        await session.shutdown()
    }
}
