import CleanSlate
import FoundationEssentials
import HTTPTypes
import Persistence
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Synchronization
import Testing

/// The servers, calls and helpers of tests that use endpoints in hostile and unusual ways. Each of these names the sentence that it holds the library to.
class HostileUse: @unchecked Sendable {
    // Safety: no state.
    // MARK: Servers and calls

    struct Server: APIService {
        var baseURL = "http://api.test/"
        var cdnURL: String?
        var parent: (any APIService)?
        var headers: HeaderFields = [:]
        var interceptors: [any Interceptor] = []
        var accessories: [Accessory] = []
    }

    struct Get: Endpoint {
        typealias Value = String
        let path: String
        var usesCDN = false
    }

    struct Item: QueryEndpoint {
        typealias Value = String
        let id: Int
        var staleTime = Duration.zero
        var cacheTime = Duration.seconds(300)
        var path: String { "item/\(id)" }
        var tags: Set<QueryTag> { ["items"] }
    }

    struct Change: Endpoint {
        typealias Value = String
        var path: String { "change" }
        var method: HTTPRequest.Method { .post }
    }

    struct Numbers: PagedEndpoint, Encodable {
        typealias Element = Int
        var page = 1
        var path: String { "numbers" }
        var nextPage: NextPage<Self> { .number(\.page) }
    }

    struct Linked: PagedEndpoint {
        typealias Element = Int
        var path: String { "linked" }
        var nextPage: NextPage<Self> { .link }
    }

    /// The program deals with "login" elsewhere.
    struct Dropping: Interceptor {
        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            let response = try await next(request)
            if response.data == Data("login".utf8) { context.cancel() }
            return response
        }
    }

    static let link = HTTPField.Name("Link")!

    func withClient(
        _ service: Server = Server(), unanswered: MockTransport.Unanswered = .fail, clock: ManualClock? = nil, cache: ResponseCache? = nil,
        _ test: (APIClient<Server>, MockTransport) async throws -> Void
    ) async throws {
        let session = MockTransport.session("http://api.test/", unanswered: unanswered) {
            if let clock { $0.use(clock) }
            $0.cache = cache
        }
        let result: Result<Void, any Error>
        do {
            try await test(APIClient(service, session: session), session.mock)
            result = .success(())
        } catch { result = .failure(error) }
        await session.shutdown()
        try result.get()
    }

    /// Waits, but never for ever: what hangs is to fail.
    func eventually(within limit: Duration = .seconds(60), _ condition: () -> Bool) async -> Bool {
        let end = ContinuousClock.now + limit
        while !condition() {
            if ContinuousClock.now > end { return false }
            try? await Task.sleep(for: .milliseconds(1))
        }
        return true
    }

    func accessory(_ log: CallLog) -> Accessory { Accessory(Callback<Accessory.Event> { event in log.add("\(event)") }) }

    func look(_ client: APIClient<Server>, _ item: Item, _ log: CallLog, in bag: DeallocBag? = nil) -> ScopedOperation? {
        client.observe(item).onChange { state in log.add((state.value ?? "-") + (state.isFetching ? " …" : "")) }.start(in: bag)
    }
}
