import AsyncHTTPClient
import BenchKit
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// async-http-client by async/await, on one event loop: its cheapest way when the client has one core.
struct AsyncHTTPClientClient: BenchClient {
    private let client: HTTPClient

    init(options: Options) {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.connections
        configuration.httpVersion = options.http2 ? .automatic : .http1Only
        configuration.timeout = .init(connect: .seconds(120), read: .seconds(120))
        if let authority = options.certificateAuthority {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(authority)
            configuration.tlsConfiguration = tls
        }
        client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)),
            configuration: configuration
        )
    }

    func get(_ url: String) async -> Int {
        do {
            let response = try await client.execute(HTTPClientRequest(url: url), deadline: .distantFuture)
            guard response.status == .ok else { fail("\(url): \(response.status)") }
            return try await response.body.collect(upTo: 1 << 30).readableBytes
        } catch {
            fail("\(url): \(error)")
        }
    }

    func download(_ url: String, to path: String, completion: @escaping @Sendable (Int) -> Void) {
        do {
            let delegate = try FileDownloadDelegate(path: path)
            client.execute(request: try HTTPClient.Request(url: url), delegate: delegate).futureResult.whenComplete { result in
                switch result {
                case .success(let progress): completion(progress.receivedBytes)
                case .failure(let error): fail("\(url): \(error)")
                }
            }
        } catch {
            fail("\(url): \(error)")
        }
    }
}

let scenarios = Scenarios(options: Options()) { AsyncHTTPClientClient(options: $0) }
if !scenarios.run() { fail("unknown scenario") }
