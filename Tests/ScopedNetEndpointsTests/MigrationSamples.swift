import Foundation
import HTTPTypes
import ScopedNet
import ScopedNetEndpoints

// The samples of the migration articles, word for word (see `DocumentationTests`), in a target without package access.

// MARK: MigratingFromYTKNetwork.md

/// In place of YTKNetworkConfig with its URL filters.
struct ShopAPI: APIService {
    let version: String
    var baseURL: String { "https://shop.example.com/" }
    var cdnURL: String? { "https://cdn.example.com/" }
    func adapt(_ call: inout APICall) throws { call.query["version"] = .string(version) }
}

/// In place of a YTKRequest with requestUrl, requestMethod, requestArgument and jsonValidator.
struct Register: Endpoint, Encodable {
    struct Value: Decodable, Sendable { let userID: Int }
    let name: String
    let password: String
    var path: String { "users" }
    var method: HTTPRequest.Method { .post }
}

/// In place of cacheTimeInSeconds, cacheVersion and useCDN.
struct GetAvatar: Endpoint {
    typealias Value = Data
    let user: Int
    var path: String { "avatars/\(user)" }
    var usesCDN: Bool { true }

    func configure(_ options: inout RequestOptions) {
        options.cache.timeToLive = .seconds(180)
        options.cache.version = "2"
    }
}

/// In place of resumableDownloadPath.
struct GetInvoice: Endpoint {
    typealias Value = URL
    let number: Int
    let folder: URL
    var path: String { "invoices/\(number).pdf" }
    var destination: EndpointDestination<URL> { .file(folder.appending(path: "\(number).pdf")) }
    func configure(_ options: inout RequestOptions) { options.downloads.resumes = true }
}

@MainActor
final class RegisterPage: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var userID: Int?
    private(set) var message = ""

    func register(_ name: String, _ password: String, with client: APIClient<ShopAPI>) {
        client.call(Register(name: name, password: password))
            .onSuccess(for: self) { page, user in page.userID = user.userID }
            .onFailure(for: self) { page, error in page.message = error.localizedDescription }
            .start(in: deallocBag)
    }
}

// MARK: MigratingFromYBNetwork.md

/// In place of a subclass of YBBaseRequest for one server: its hooks are an interceptor.
struct ForumAPI: APIService {
    var baseURL: String { "https://forum.example.com/api/" }
    var interceptors: [any Interceptor] { [Envelope()] }
}

/// In place of yb_redirection and yb_preprocessSuccess…: looks at each answer, off the main thread.
struct Envelope: Interceptor {
    struct Head: Decodable { let code: Int }
    struct Refusal: Error { let code: Int }

    func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        let response = try await next(request)
        switch try? JSONDecoder().decode(Head.self, from: response.data).code {
        case nil, 0: return response  // success
        case 4_001: context.cancel()  // stop: the login page is shown, and nothing of the call is told
        case let code?: throw Refusal(code: code)  // failure: the `underlying` of `interceptorFailed`
        }
        return response
    }
}

/// In place of cacheHandler and repeatStrategy.
struct SearchThreads: Endpoint, Encodable {
    struct Value: Decodable, Sendable { let titles: [String] }
    let text: String
    var path: String { "threads" }

    func configure(_ options: inout RequestOptions) {
        options.cache.read = .thenNetwork
        options.cache.timeToLive = .seconds(60)
        options.repeats.strategy = .replaceRunning
        options.repeats.key = "search"
    }
}

@MainActor
final class ThreadsPage: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var titles: [String] = []

    func search(_ text: String, with client: APIClient<ForumAPI>) {
        client.request(SearchThreads(text: text))
            .onCached(for: self) { page, stored in page.titles = stored.titles }
            .onSuccess(for: self) { page, fresh in page.titles = fresh.titles }
            .start(in: deallocBag)
    }
}

// MARK: MigratingFromCTNetworking.md

/// In place of a CTService: environments, and what all of its calls have in common.
final class CityAPI: APIService {
    enum Environment: String, Sendable { case develop, release }
    let environment: Environment
    let login: LoginSource

    init(_ environment: Environment, login: LoginSource) { (self.environment, self.login) = (environment, login) }

    var baseURL: String { "https://\(environment.rawValue).city.example.com/" }
    var interceptors: [any Interceptor] { [login.interceptor { $0.head.status == 401 }] }
}

/// In place of a CTAPIBaseManager with its parameter source, validator and reformer.
struct ListHouses: PagedEndpoint, Encodable {
    struct Invalid: Error {}
    struct House: Decodable, Sendable { let street: String, price: Int }
    typealias Element = House
    let city: Int
    var page = 1
    var path: String { "houses" }
    var nextPage: NextPage<Self> { .number(\.page) }

    func validate() throws { if city <= 0 { throw Invalid() } }
}

/// A reformer: one value, as a certain view wants it.
extension ListHouses.House {
    var line: String { "\(street): \(price)" }
}

@MainActor
final class HousesPage: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var lines: [String] = []
    private(set) var message = ""
    private var isLoading = false
    private let pager: Pager<CityAPI, ListHouses>
    private let texts: [FailureKind: String] = [.offline: "No network.", .timeout: "The server is slow today."]

    init(client: APIClient<CityAPI>) { pager = client.pager(of: ListHouses(city: 7), in: deallocBag) }

    /// loadNextPage.
    func more() {
        // Two that ask at once get the same page.
        guard !isLoading else { return }
        deallocBag.task(for: self, isRunning: \.isLoading) { [pager] in
            try await pager.next()?.elements ?? []
        } onSuccess: { page, houses in
            page.lines += houses.map(\.line)
        } onFailure: { page, error in
            page.message = (error as? NetworkError).flatMap { page.texts[FailureKind($0)] } ?? "Something went wrong."
        }
    }
}
