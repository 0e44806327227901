import Foundation
import HTTPTypes
import ScopedNet
import ScopedNetEndpoints

// The samples of Endpoints.md, word for word (see `DocumentationTests`), in a target without package access.

struct Story: Codable, Sendable { var title: String }

/// The server.
struct StoryAPI: APIService {
    var baseURL: String { "https://api.example.com/v1/" }
    var headers: HeaderFields { ["X-Client": "reader/1.0"] }
}

/// A call: its own properties are sent.
struct SearchStories: Endpoint, Encodable {
    typealias Value = [Story]
    let text: String
    var page = 1
    var path: String { "search" }
}

func search(_ text: String, with client: APIClient<StoryAPI>, in bag: DeallocBag) async throws -> [Story] {
    try await client.send(SearchStories(text: text), in: bag)
}

@MainActor
final class SearchModel: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var stories: [Story] = []
    private(set) var problem = ""

    func search(_ text: String, with client: APIClient<StoryAPI>) {
        client.call(SearchStories(text: text))
            .onSuccess(for: self) { model, stories in model.stories = stories }
            .onFailure(for: self) { model, error in model.problem = error.localizedDescription }
            .start(in: deallocBag)
    }
}

struct Rename: Endpoint, Encodable {
    typealias Value = Story
    private enum CodingKeys: CodingKey { case title }
    let id: Int
    let title: String
    var path: String { "stories/\(id)" }
    var method: HTTPRequest.Method { .patch }
    func configure(_ options: inout RequestOptions) { options.repeats.strategy = .cancelOldest }
}

/// A part of the server, with errors of its own.
struct AccountAPI: APIService {
    enum Failure: Error {
        case refused(String)
        case offline
        case other(NetworkError)
    }

    struct Refusal: Decodable, Sendable { let reason: String }

    let token: String
    var parent: (any APIService)? { StoryAPI() }
    func configure(_ options: inout RequestOptions) { options.cache = .off }

    func adapt(_ call: inout APICall) throws {
        if !call.isAbsolute { call.path = "account/" + call.path }
        call.headers["Authorization"] = "Bearer \(token)"
    }

    func failure<E: Endpoint>(_ error: NetworkError, document: E.Failure?, of endpoint: E) -> Failure {
        if let refusal = document as? Refusal { return .refused(refusal.reason) }
        return error.isOffline ? .offline : .other(error)
    }
}

func searchByHand(_ text: String, with session: Session, in bag: DeallocBag) async throws(NetworkError) -> [Story] {
    let headers: HeaderFields = ["X-Client": "reader/1.0"]
    return try await session.get(
        "https://api.example.com/v1/search", query: ["text": text, "page": 1], headers: headers, as: [Story].self
    ).value(in: bag)
}

@MainActor
final class FrontPage: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var found: [[Story]] = []
    private(set) var fraction = 0.0

    func load(_ topics: [String], with client: APIClient<StoryAPI>) {
        client.batch(of: topics.map { SearchStories(text: $0) }, atMost: 4)
            .onProgress(for: self) { page, progress in page.fraction = progress.fraction }
            .onSuccess(for: self) { page, stories in page.found = stories }
            .start(in: deallocBag)
    }
}

struct SignIn: Endpoint, Encodable {
    struct Value: Decodable, Sendable { let userID: Int }
    let name: String
    let password: String
    var path: String { "session" }
    var method: HTTPRequest.Method { .post }
}

struct GetProfile: Endpoint {
    struct Value: Decodable, Sendable { let fullName: String }
    let id: Int
    var path: String { "users/\(id)" }
}

@MainActor
final class WelcomePage: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var greeting = ""
    private(set) var isBusy = false

    func signIn(_ name: String, _ password: String, with client: APIClient<StoryAPI>) {
        client.chain()
            .then(SignIn(name: name, password: password))
            .then { context in context[SignIn.self].map { GetProfile(id: $0.userID) } }
            .accessory(.busy(Callback(for: self) { page, isBusy in page.isBusy = isBusy }))
            .onSuccess(for: self) { page, context in page.greeting = "Hello, \(context[GetProfile.self]?.fullName ?? name)" }
            .onFailure(for: self) { page, failure in page.greeting = "\(failure.name) failed: \(failure.error.localizedDescription)" }
            .start(in: deallocBag)
    }
}

struct ListStories: PagedEndpoint, Encodable {
    typealias Element = Story
    var page = 1
    var path: String { "stories" }
    var nextPage: NextPage<Self> { .number(\.page) }
}

func titles(with client: APIClient<StoryAPI>, in bag: DeallocBag) async throws -> [String] {
    var titles: [String] = []
    for try await story in client.pages(of: ListStories(), prefetching: true, in: bag).elements { titles.append(story.title) }
    return titles
}

struct GetJob: Endpoint {
    struct Value: Decodable, Sendable { let isDone: Bool }
    let id: Int
    var path: String { "jobs/\(id)" }
}

@MainActor
final class JobModel: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var isDone = false

    func wait(for id: Int, with client: APIClient<StoryAPI>) {
        client.poll(GetJob(id: id), PollSchedule(every: .seconds(2), factor: 1.5), until: { $0.isDone })
            .onSuccess(for: self) { model, job in model.isDone = job.isDone }
            .start(in: deallocBag)
    }
}

struct GetStory: QueryEndpoint {
    typealias Value = Story
    let id: Int
    var path: String { "stories/\(id)" }
    var tags: Set<QueryTag> { ["stories"] }
}

@MainActor
final class StoryModel: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var title = ""
    private(set) var isLoading = false

    func look(at id: Int, with client: APIClient<StoryAPI>) {
        client.observe(GetStory(id: id))
            .onChange(for: self) { model, query in (model.title, model.isLoading) = (query.value?.title ?? "", query.isFetching) }
            .start(in: deallocBag)
    }
}

func rename(_ id: Int, to title: String, with client: APIClient<StoryAPI>) async throws {
    try await client.mutate(Rename(id: id, title: title), invalidating: ["stories"]) { edits in
        edits.edit(GetStory(id: id)) { story in story.title = title }
    }
}

/// The pages of a program, one of which asks for a password.
@MainActor protocol PasswordPage: AnyObject, Sendable {
    func askForPassword() async throws
}

/// A server that says "log in" by its status.
struct MemberAPI: APIService {
    let login: LoginSource
    var baseURL: String { "https://api.example.com/members/" }
    var interceptors: [any Interceptor] { [login.interceptor { $0.head.status == 401 }] }
    func configure(_ options: inout RequestOptions) { options.timeouts.interceptor = nil }
}

func members(of page: any PasswordPage) -> MemberAPI {
    MemberAPI(login: LoginSource { [weak page] in try await page?.askForPassword() })
}

/// A download, which goes on where the last attempt has stopped.
struct GetPodcast: Endpoint {
    typealias Value = URL
    let number: Int
    let folder: URL
    var path: String { "podcasts/\(number)" }
    var destination: EndpointDestination<URL> { .file(folder.appending(path: "\(number).mp3")) }
    func configure(_ options: inout RequestOptions) { options.downloads.resumes = true }
}

/// Lines without an end.
struct NewStories: Endpoint {
    typealias Value = Void
    var path: String { "stories/new" }
    func configure(_ options: inout RequestOptions) { options.timeouts.idle = nil }
}

func watch(with client: APIClient<StoryAPI>, in bag: DeallocBag) async throws {
    for try await line in try await client.stream(NewStories(), in: bag).lines { print(line) }
}

/// A form with a file.
struct AddPicture: Endpoint {
    typealias Value = Story
    let form: MultipartForm
    var path: String { "pictures" }
    var method: HTTPRequest.Method { .post }
    var content: EndpointContent { .body(.multipart(form)) }
}

func add(_ picture: URL, title: String, with client: APIClient<StoryAPI>, in bag: DeallocBag) async throws -> Story {
    var form = MultipartForm()
    form.add(title, name: "title")
    try form.add(file: picture, name: "picture")
    return try await client.send(AddPicture(form: form), in: bag)
}

/// A file as the body.
struct SetPodcast: Endpoint {
    typealias Value = Void
    let number: Int
    let file: URL
    var path: String { "podcasts/\(number)" }
    var method: HTTPRequest.Method { .put }
    var headers: HeaderFields { [.contentType: "audio/mpeg"] }
    var content: EndpointContent { .body(.file(file.path)) }
}

/// The part that all teams share.
class TeamAPI: APIService, @unchecked Sendable {
    // Safety: no state.
    var baseURL: String { "https://api.example.com/" }
    var team: String { "all" }
    func adapt(_ call: inout APICall) throws { call.headers["X-Team"] = team }
}

/// One of them.
final class MapsAPI: TeamAPI, @unchecked Sendable {
    // Safety: no state.
    override var team: String { "maps" }
    override func adapt(_ call: inout APICall) throws {
        try super.adapt(&call)
        call.path = "maps/" + call.path
    }
}
