import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Synchronization
import Testing

/// A server described once, and its calls (CT-1, YB-1, YTK-1, YTK-2, YB-2).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct EndpointTests {
    private struct Story: Codable, Sendable, Equatable {
        var id = 0
        var title = ""
    }

    // MARK: Calls

    private struct ListStories: Endpoint {
        typealias Value = [Story]
        var path: String { "stories" }
    }

    private struct SearchStories: Endpoint, Encodable, Hashable {
        typealias Value = [Story]
        let text: String
        var page: Int?
        var path: String { "search" }
    }

    private struct AddStory: Endpoint, Encodable {
        typealias Value = Story
        let title: String
        var path: String { "stories" }
        var method: HTTPRequest.Method { .post }
    }

    private struct LogIn: Endpoint, Encodable {
        typealias Value = Void
        struct Failure: Decodable, Sendable { let reason: String }
        let name: String
        let password: String
        var path: String { "login" }
        var method: HTTPRequest.Method { .post }
        var content: EndpointContent { .form(self) }
        var headers: HeaderFields { ["X-Client": "login"] }
        func configure(_ options: inout RequestOptions) { options.tag = "login" }
    }

    private struct Page: Endpoint {
        typealias Value = String
        let path: String
        var usesCDN = true
    }

    private struct Picture: Endpoint {
        typealias Value = Data
        let id: Int
        var path: String { "pictures/\(id)" }
    }

    // MARK: Servers

    private enum Refused: Error, Equatable {
        case login(String)
        case offline
        case other(NetworkError.Code)
        case cancelled
    }

    /// The whole of an API.
    private struct Server: APIService {
        var baseURL: String { "http://api.test/v1" }
        var cdnURL: String? { "http://cdn.test/" }
        var headers: HeaderFields { ["X-Client": "reader", "X-Part": "server"] }
        func configure(_ options: inout RequestOptions) { (options.tag, options.priority) = ("server", .low) }
        func adapt(_ call: inout APICall) throws { call.query["key"] = "1" }
    }

    /// A part of it, with errors of its own.
    private struct Stories: APIService {
        typealias Failure = Refused
        let parent: (any APIService)? = Server()
        var headers: HeaderFields { ["X-Part": "stories"] }

        func adapt(_ call: inout APICall) throws {
            if call.path == "forbidden" { throw Refused.other(.invalidOption) }
            call.query["seen"] = "\(call.query["key"] != nil)"
        }

        func failure<E: Endpoint>(_ error: NetworkError, document: E.Failure?, of endpoint: E) -> Refused {
            if error.isCancelled { return .cancelled }
            if let document = document as? LogIn.Failure { return .login(document.reason) }
            if error.code == .connectionRefused { return .offline }
            return (error.underlying as? Refused) ?? .other(error.code)
        }
    }

    private func url(_ session: Session) -> String? { session.mock.exchanges.last?.url }

    // MARK: Describing

    @Test func aCallIsItsPathAndItsType() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on(.get, "http://api.test/v1/stories", .json([Story(id: 1, title: "one")]))
        let client = APIClient(Server(), session: session)
        #expect(try await client.send(ListStories()) == [Story(id: 1, title: "one")])
        let exchange = try #require(session.mock.exchanges.last)
        #expect(exchange.url == "http://api.test/v1/stories?key=1" && exchange.method == .get)
        #expect(exchange.headers[HTTPField.Name("X-Client")!] == "reader")
        await session.shutdown()
    }

    @Test func propertiesGoWhereTheMethodWantsThem() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://api.test/v1/search", .json([Story]()))
        session.mock.on("http://api.test/v1/stories", .json(Story(id: 7, title: "new")))
        session.mock.on("http://api.test/v1/login", .ok())
        session.mock.on("http://api.test/v1/pictures/3", .ok("bytes"))
        let client = APIClient(Server(), session: session)
        _ = try await client.send(SearchStories(text: "a b", page: 2))
        #expect(url(session) == "http://api.test/v1/search?key=1&page=2&text=a%20b")
        _ = try await client.send(SearchStories(text: "x"))
        #expect(url(session) == "http://api.test/v1/search?key=1&text=x")
        #expect(try await client.send(AddStory(title: "new")).id == 7)
        #expect(session.mock.exchanges.last?.body == Data(#"{"title":"new"}"#.utf8))
        try await client.send(LogIn(name: "ann", password: "p&w"))
        let login = try #require(session.mock.exchanges.last)
        #expect(login.body == Data("name=ann&password=p%26w".utf8) && login.headers[HTTPField.Name("X-Client")!] == "login")
        #expect(login.headers[.contentType] == "application/x-www-form-urlencoded")
        #expect(try await client.send(Picture(id: 3)) == Data("bytes".utf8))
        await session.shutdown()
    }

    @Test func theBaseIsTheServicesOrItsCDNsAndAbsolutePathsAreTheirOwn() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        for host in ["cdn.test", "other.test"] { session.mock.on("http://\(host)/page", .ok(host)) }
        let client = APIClient(Server(), session: session)
        #expect(try await client.send(Page(path: "page")) == "cdn.test")
        // Filters see absolute ones too.
        #expect(try await client.send(Page(path: "http://other.test/page")) == "other.test")
        #expect(url(session) == "http://other.test/page?key=1")
        await session.shutdown()
    }

    /// A service whose part and whole both change paths.
    private struct Prefixed: APIService {
        struct Whole: APIService {
            var baseURL: String { "http://api.test/v1" }
            var cdnURL: String? { "http://cdn.test/v2" }
            func adapt(_ call: inout APICall) throws { if !call.path.hasPrefix("/") { call.path = "a/" + call.path } }
        }
        var parent: (any APIService)? { Whole() }
        func adapt(_ call: inout APICall) throws {
            if call.path == "a/top" { call.path = "/top" } else if !call.path.hasPrefix("/") { call.path = "b/" + call.path }
        }
    }

    /// YTK-2. A path passes the filters, the whole's first, and what they leave is resolved against the base (RFC 3986): with a slash at
    /// its beginning it leads to the top of the host, past the path of the base.
    @Test(arguments: [
        ("x", false, "http://api.test/v1/b/a/x"), ("x", true, "http://cdn.test/v2/b/a/x"), ("/x", false, "http://api.test/x"),
        ("/x", true, "http://cdn.test/x"), ("top", false, "http://api.test/top"), ("../x", false, "http://api.test/v1/b/x"),
    ])
    func pathsPassTheFiltersAndAreResolvedThen(path: String, usesCDN: Bool, expected: String) async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.stub(Page.self) { _ in .ok("here") }
        #expect(try await APIClient(Prefixed(), session: session).send(Page(path: path, usesCDN: usesCDN)) == "here")
        #expect(url(session) == expected)
        await session.shutdown()
    }

    /// A server whose calls have credentials.
    private struct Secured: APIService {
        let authentication = Authentication.credential(.bearer("t"), preemptive: true)
        var baseURL: String { "http://api.test/" }
        func configure(_ options: inout RequestOptions) { options.authentication = authentication }
    }

    private struct SetName: Endpoint, Encodable {
        struct Value: Decodable, Sendable { let fullName: String }
        private enum CodingKeys: CodingKey { case firstName }
        let firstName: String
        var isOld = false
        var path: String { "name" }
        var method: HTTPRequest.Method { .put }
        var decoder: ResponseDecoder<Value> { isOld ? .json(decoder: { JSONDecoder() }) : .json() }
    }

    /// Names in JSON are those of the session that the client is made with, but for endpoints with a decoder of their own.
    @Test func credentialsAreTheServicesAndTheCodingIsTheSessions() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on(.put, "http://api.test/name", [.ok(#"{"full_name":"Ann"}"#), .ok(#"{"fullName":"Old"}"#)])
        let client = APIClient(Secured(), session: session.with { $0.json = JSONCoding(keys: .snakeCase) })
        #expect(try await client.send(SetName(firstName: "ann")).fullName == "Ann")
        #expect(session.mock.exchanges.last?.body == Data(#"{"first_name":"ann"}"#.utf8))
        #expect(session.mock.exchanges.last?.headers[.authorization] == "Bearer t")
        #expect(try await client.send(SetName(firstName: "ann", isOld: true)).fullName == "Old")
        await session.shutdown()
    }

    private final class Switched: APIService {
        let isStaging = Mutex(false)
        var baseURL: String { isStaging.withLock { $0 } ? "http://staging.test/" : "http://live.test/" }
    }

    @Test func anEnvironmentIsSwitchedForNewRequests() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        for host in ["live", "staging"] { session.mock.on("http://\(host).test/page", .ok(host)) }
        let client = APIClient(Switched(), session: session)
        let early = client.request(Page(path: "page"))
        #expect(try await client.send(Page(path: "page")) == "live")
        client.service.isStaging.withLock { $0 = true }
        #expect(try await client.send(Page(path: "page")) == "staging")
        #expect(try await early.value() == "live")
        await session.shutdown()
    }

    /// A hierarchy of classes does as well.
    private class Base: APIService, @unchecked Sendable {
        // Safety: no state.
        var baseURL: String { "http://class.test/" }
        var version: String { "1" }
        func adapt(_ call: inout APICall) throws { call.query["v"] = "\(version)" }
    }

    private final class Derived: Base, @unchecked Sendable {
        // Safety: no state.
        override var version: String { "2" }
        override func adapt(_ call: inout APICall) throws {
            try super.adapt(&call)
            call.query["derived"] = "true"
        }
    }

    @Test func classesDoAsWell() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://class.test/page", .ok("here"))
        #expect(try await APIClient(Derived(), session: session).send(Page(path: "page")) == "here")
        #expect(url(session) == "http://class.test/page?derived=true&v=2")
        await session.shutdown()
    }

    // YTK-19: nothing is global.
    @Test func aPartRefinesTheWhole() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://api.test/v1/stories", .json([Story]()))
        let client = APIClient(Stories(), session: session)
        let request = client.request(ListStories())
        _ = try await request.value()
        let exchange = try #require(session.mock.exchanges.last)
        #expect(exchange.url == "http://api.test/v1/stories?key=1&seen=true")
        #expect(exchange.headers[HTTPField.Name("X-Part")!] == "stories" && exchange.headers[HTTPField.Name("X-Client")!] == "reader")
        await session.shutdown()
    }

    /// Adds its mark behind what the others have made.
    private struct Marking: Interceptor {
        let mark: String

        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            var response = try await next(request)
            if response.data == Data("bad".utf8) { throw Refused.login("bad") }
            response.body = .data(response.data + Data(mark.utf8))
            return response
        }
    }

    private struct Marked: APIService {
        struct Whole: APIService {
            var baseURL: String { "http://marked.test" }
            var interceptors: [any Interceptor] { [Marking(mark: " whole")] }
        }
        var parent: (any APIService)? { Whole() }
        var interceptors: [any Interceptor] { [Marking(mark: " part")] }
    }

    @Test func interceptorsOfTheWholeAreOutside() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://marked.test/page", [.ok("page"), .ok("bad")])
        let client = APIClient(Marked(), session: session)
        #expect(try await client.send(Page(path: "page")) == "page part whole")
        // One may find fault with what came.
        let error = await #expect(throws: NetworkError.self) { try await client.send(Page(path: "page")) }
        #expect(error?.underlying as? Refused == .login("bad"))
        await session.shutdown()
    }

    // MARK: Errors

    @Test func errorsAreTheServices() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://api.test/v1/login", .json(#"{"reason":"locked"}"#, status: 403))
        session.mock.on("http://api.test/v1/stories", .status(500))
        let client = APIClient(Stories(), session: session)
        await #expect(throws: Refused.login("locked")) { try await client.send(LogIn(name: "a", password: "b")) }
        await #expect(throws: Refused.other(.unacceptableStatus)) { try await client.send(ListStories()) }
        // Refused before anything is sent.
        let count = session.mock.exchanges.count
        await #expect(throws: Refused.other(.invalidOption)) { try await client.send(Page(path: "forbidden")) }
        struct List: Endpoint {
            typealias Value = String
            var path: String { "x" }
            var content: EndpointContent { .query([1, 2]) }
        }
        await #expect(throws: Refused.self) { try await client.send(List()) }
        #expect(session.mock.exchanges.count == count)
        let bag = DeallocBag()
        bag.end()
        await #expect(throws: Refused.cancelled) { try await client.send(ListStories(), in: bag) }
        await session.shutdown()
    }

    // MARK: Delegates

    @MainActor private final class Listener: @MainActor RequestDelegate {
        var lines: [String] = []
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) {
            lines.append("\((value as? [Story])?.map(\.id) ?? [])")
        }
        func request(_ run: Run.Info, didFailWith error: NetworkError) {
            lines.append("\(error.code) \((error.underlying as? Refused).map { "\($0)" } ?? "")")
        }
        func requestDidEnd(_ run: Run.Info) { lines.append("end") }
    }

    /// A delegate is told the library's error, also where the service has errors of its own.
    @MainActor @Test func aDelegateHearsOfACall() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://api.test/v1/stories", [.json([Story(id: 1)]), .status(500)])
        let (client, listener) = (APIClient(Stories(), session: session), Listener())
        let request = client.request(ListStories()).delegate(listener)
        for _ in 0..<2 {
            request.start()
            await session.agent.waitUntilIdle()
        }
        // Refused by the service before it is sent.
        client.request(Page(path: "forbidden")).delegate(listener).start()
        await session.agent.waitUntilIdle()
        #expect(listener.lines == ["[1]", "end", "unacceptableStatus ", "end", "invalidParameters other(invalidOption)", "end"])
        await session.shutdown()
    }

    // MARK: Closures and owners

    @MainActor private final class Model: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        var stories: [Story] = []
        var error: Refused?
        var ends = 0
    }

    @MainActor @Test func closuresGetTheServicesErrors() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://api.test/v1/stories", [.json([Story(id: 1)]), .status(500)])
        let client = APIClient(Stories(), session: session)
        let model = Model()
        for _ in 0..<2 {
            client.call(ListStories())
                .onSuccess(for: model) { model, stories in model.stories = stories }
                .onFailure(for: model) { model, error in model.error = error }
                .onEnd(for: model) { model, _ in model.ends += 1 }
                .start(in: model.deallocBag)
            await session.agent.waitUntilIdle()
        }
        #expect(model.stories == [Story(id: 1)] && model.error == .other(.unacceptableStatus) && model.ends == 2)
        await session.shutdown()
    }

    @Test func aResultIsOneClosure() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://api.test/v1/stories", .status(404))
        let seen = Mutex<[Refused]>([])
        APIClient(Stories(), session: session).call(ListStories()).onResult { result in
            if case .failure(let error) = result { seen.withLock { $0.append(error) } }
        }.start()
        await session.agent.waitUntilIdle()
        #expect(seen.withLock { $0 } == [.other(.unacceptableStatus)])
        await session.shutdown()
    }

    @Test func theOptionsOfACallComeLast() async throws {
        let session = MockTransport.session("http://elsewhere.test/", unanswered: .wait)
        let client = APIClient(Stories(), session: session)
        let run = client.call(LogIn(name: "a", password: "b")).start()
        #expect(run.tag == "login" && run.priority == .low)
        run.cancel()
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }

    private final class Ouroboros: APIService {
        var parent: (any APIService)? { self }
        var headers: HeaderFields { ["X-Self": "1"] }
    }

    private struct Anything: Endpoint {
        struct Wrong: Error {}
        typealias Value = String
        var path = "http://api.test/x"
        var usesCDN = true
        var isWrong = false
        func validate() throws { if isWrong { throw Wrong() } }
    }

    /// A service that is its own parent is asked once, and comes to an end.
    @Test func aServiceThatIsItsOwnParentEnds() async throws {
        let session = MockTransport.session()
        session.mock.on("http://api.test/x", .ok("x"))
        let client = APIClient(Ouroboros(), session: session)
        #expect(try await client.send(Anything()) == "x")
        await session.shutdown()
    }

    /// CT-2: parameters are looked at before anything is sent.
    @Test func anEndpointMayRefuseItsParameters() async throws {
        let session = MockTransport.session()
        let client = APIClient(Ouroboros(), session: session)
        do throws(NetworkError) {
            _ = try await client.send(Anything(isWrong: true))
            Issue.record("it was sent")
        } catch {
            #expect(error.code == .invalidParameters && error.underlying is Anything.Wrong && FailureKind(error) == .invalidParameters)
        }
        #expect(session.mock.exchanges.isEmpty)
        await session.shutdown()
    }
}
