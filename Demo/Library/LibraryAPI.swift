import HTTPTypes
import ScopedNet
import ScopedNetEndpoints
import Synchronization

/// The server of a library: its environments, its login, and its errors. A class, as the environment can be switched while the program runs.
final class LibraryAPI: APIService {
    enum Environment: String, Sendable {
        case staging, release
    }

    enum Failure: Error, Sendable {
        /// In the server's words.
        case refused(String)
        case other(NetworkError)
    }

    struct Refusal: Decodable, Sendable {
        let reason: String
    }

    /// The URL that the environments are below.
    let root: String
    let login: LoginSource
    private let current = Mutex(Environment.staging)

    init(root: String, login: LoginSource) { (self.root, self.login) = (root, login) }

    /// That of calls to come; those that are under way stay where they are.
    var environment: Environment {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    var baseURL: String { "\(root)library/\(environment.rawValue)/" }
    var headers: HeaderFields { ["X-Client": "demo/1.0"] }
    var interceptors: [any Interceptor] { [login.interceptor { $0.head.status == 401 }] }

    func failure<E: Endpoint>(_ error: NetworkError, document: E.Failure?, of endpoint: E) -> Failure {
        if let refusal = document as? Refusal { .refused(refusal.reason) } else { .other(error) }
    }
}

struct Book: Codable, Sendable, Equatable, Identifiable {
    let id: Int
    var title: String
}

/// A page of the catalogue; the next one is found by its number.
struct ListBooks: PagedEndpoint, Encodable {
    typealias Element = Book
    var page = 1
    var path: String { "books" }
    var nextPage: NextPage<Self> { .number(\.page) }
}

/// Shared by all who look at the book.
struct GetBook: QueryEndpoint {
    typealias Value = Book
    let id: Int
    var path: String { "books/\(id)" }
    var tags: Set<QueryTag> { ["books"] }
}

struct GetReviews: Endpoint {
    struct Review: Decodable, Sendable {
        let author: String
        let text: String
    }

    typealias Value = [Review]
    let book: Book.ID
    var path: String { "books/\(book)/reviews" }
}

struct GetCopies: Endpoint {
    struct Value: Decodable, Sendable { let free: Int }
    let book: Book.ID
    var path: String { "books/\(book)/copies" }
}

struct RenameBook: Endpoint, Encodable {
    typealias Value = Void
    typealias Failure = LibraryAPI.Refusal
    private enum CodingKeys: CodingKey { case title }
    let id: Int
    let title: String
    var path: String { "books/\(id)" }
    var method: HTTPRequest.Method { .patch }
}

/// For members alone.
struct GetLoans: Endpoint {
    typealias Value = [Book]
    let shelf: String
    var path: String { "loans/\(shelf)" }
}
