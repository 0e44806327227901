import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// What a program decides on the way to httpbin's answer.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin), .timeLimit(.minutes(2)))
struct HTTPBinHookTests {
    private struct Echo: Decodable, Sendable {
        var method: String
        var headers: [String: String]
        var data: String
    }

    private struct NoFurther: Error, Equatable {}

    private let session = Servers.session()
    private func url(_ path: String) -> String { Servers.httpbinURL + path }

    /// The URLs that a hook is asked about, each without its server.
    private let hops = Gathered<String>()
    private func note(_ hop: RequestHooks.RedirectProposal) {
        hops.add("\(hop.number) \(hop.proposed.url.dropFirst(Servers.httpbinURL.count))")
    }

    // MARK: Redirects

    @Test func everyHopIsAQuestion() async throws {
        let response = try await session.request(url("/redirect/3")).decideRedirect { hop in
            note(hop)
            return .follow
        }.response()
        #expect(response.url == url("/get"))
        #expect(response.attempts.count == 4)
        #expect(hops.all == ["1 /relative-redirect/2", "2 /relative-redirect/1", "3 /get"])
    }

    @Test func aHopThatIsStoppedIsTheResult() async throws {
        func stopping() -> Request<Data> {
            session.request(url("/redirect/3")).decideRedirect { hop in
                note(hop)
                return hop.number < 2 ? .follow : .stop
            }
        }
        let error = try await stopping().failure()
        let location = error.response?["location"]
        #expect(error.code == .unacceptableStatus)
        #expect(location == "/relative-redirect/1")
        let response = try await stopping().options { $0.validation = .any }.response()
        #expect(response.status == 302)
        #expect(response.url == url("/relative-redirect/2"))
        #expect(hops.all == ["1 /relative-redirect/2", "2 /relative-redirect/1", "1 /relative-redirect/2", "2 /relative-redirect/1"])
    }

    @Test func anErrorOfAHookEndsTheRun() async throws {
        let error = try await session.request(url("/redirect/3")).decideRedirect { _ in throw NoFurther() }.failure()
        let underlying = error.underlying as? NoFurther
        #expect(error.code == .hookFailed)
        #expect(underlying == NoFurther())
    }

    /// 302 makes a GET of a POST; the program knows better here, and says so in a field.
    @Test func aHookChangesWhatIsSentNext() async throws {
        let body = RequestBody.data(Data("the body".utf8), contentType: "text/plain")
        let request = session.post(url("/redirect-to?url=/anything&status_code=302"), body: body, as: Echo.self)
        let echo = try await request.decideRedirect { hop in
            var next = hop.proposed
            next.method = .post
            next.keepsBody = true
            try next.setHeader("X-Hop", "\(hop.number)")
            return .follow(next)
        }.value()
        let (hop, type) = (echo.headers["X-Hop"], echo.headers["Content-Type"])
        #expect(echo.method == "POST")
        #expect(echo.data == "the body")
        #expect(hop == "1")
        #expect(type == "text/plain")
    }

    /// A body that can be read once, and the server wants it elsewhere.
    @Test func aNewBodyIsSentWhereTheOldOneIsSpent() async throws {
        @Sendable func pieces() -> RequestBody {
            .stream(
                AsyncStream<Data> {
                    $0.yield(Data("the body".utf8))
                    $0.finish()
                }, length: 8)
        }
        let target = url("/redirect-to?url=/anything&status_code=307")
        let refused = try await session.post(target, body: pieces(), as: Echo.self).failure()
        #expect(refused.code == .bodyNotReplayable)
        let echo = try await session.post(target, body: pieces(), as: Echo.self).provideBody { _ in pieces() }.value()
        #expect(echo.method == "POST")
        #expect(echo.data == "the body")
    }

    // MARK: Responses

    @Test func aLargeResponseBecomesAFile() async throws {
        let folder = try Folder()
        let target = folder.file("letters")
        func letters(_ count: Int) -> Data { Data((0..<count).map { UInt8(ascii: "a") + UInt8($0 % 26) }) }
        var files: [String?] = []
        for count in [10, 2_000] {
            let request = session.request(url("/range/\(count)"), decoder: .dataOrFile).decideDisposition { arrival in
                (arrival.head.contentLength ?? .max) > 1_000 ? .download(to: target) : .allow
            }
            switch try await request.value() {
            case .data(let data): files.append(data == letters(count) ? nil : "other data")
            case .file(let file): files.append(file.path)
            }
        }
        let written = try Data(contentsOf: target)
        let isWhole = written == letters(2_000)
        #expect(files == [nil, target.path])
        #expect(isWhole)
    }

    /// httpbin says what it is told to, and this name leads out of the folder.
    @Test func theServersNameIsMadeSafe() async throws {
        let folder = try Folder()
        let target = try Folder()
        let inside = URL(filePath: target.path, directoryHint: .isDirectory)
        let query: Parameters = ["Content-Disposition": "attachment; filename=\"../../report 1.json\""]
        let text = try QuerySerializer.standard.appending(query, to: url("/response-headers"))
        let asked = Gathered<String>()
        let file = try await session.download(text, to: folder.file("given")).chooseDestination { arrival in
            asked.add(arrival.suggestedName)
            return inside
        }.value()
        let names = try FileManager.default.contentsOfDirectory(atPath: target.path)
        let others = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(asked.all == ["report 1.json"])
        #expect(file.path == target.path + "/report 1.json")
        #expect(names == ["report 1.json"])
        #expect(others.isEmpty)
    }
}
