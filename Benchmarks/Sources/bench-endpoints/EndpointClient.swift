import BenchKit
import FoundationEssentials
import ScopedNet
import ScopedNetEndpoints

/// The same request through an endpoint (`layer=endpoint`) and without one: a field, a value of bytes, a bag, two closures.
struct EndpointClient: BenchClient {
    private struct Server: APIService {
        let baseURL: String
        var headers: HeaderFields { ["X-Client": "bench"] }
    }

    private struct Get: Endpoint {
        typealias Value = Data
        let path: String
    }

    private let client: APIClient<Server>
    private let bag = DeallocBag()
    private let path: String
    private let usesEndpoints: Bool

    init(options: Options) {
        var configuration = Session.Configuration()
        configuration.limits.perHost = options.connections
        configuration.limits.total = options.connections
        let end = options.url.lastIndex(of: "/").map(options.url.index(after:)) ?? options.url.endIndex
        path = String(options.url[end...])
        configuration.baseURL = String(options.url[..<end])
        usesEndpoints = options.text("layer") == "endpoint"
        client = APIClient(Server(baseURL: String(options.url[..<end])), session: Session(configuration: configuration))
    }

    func get(_ url: String, completion: @escaping @Sendable (Int) -> Void) {
        if usesEndpoints {
            client.call(Get(path: path)).onFailure { fail("\(url): \($0)") }.onSuccess { completion($0.count) }.start(in: bag)
        } else {
            client.session.get(path, headers: ["X-Client": "bench"]).onFailure { fail("\(url): \($0)") }.onSuccess { completion($0.count) }
                .start(in: bag)
        }
    }

    func get(_ url: String) async -> Int {
        do {
            return usesEndpoints
                ? try await client.send(Get(path: path), in: bag).count
                : try await client.session.get(path, headers: ["X-Client": "bench"]).value(in: bag).count
        } catch { fail("\(url): \(error)") }
    }
}
