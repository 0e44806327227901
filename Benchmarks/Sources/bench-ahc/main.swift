import AsyncHTTPClient
import BenchKit
import Foundation
import NIOCore
import NIOFoundationCompat
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

    func items(_ url: String) async -> Int {
        do {
            let response = try await client.execute(HTTPClientRequest(url: url), deadline: .distantFuture)
            let body = try await response.body.collect(upTo: 1 << 30)
            return try JSONDecoder().decode([Item].self, from: body).count
        } catch {
            fail("\(url): \(error)")
        }
    }

    /// In memory, as it has no forms: the file between what comes before and after it.
    func upload(_ path: String, to url: String, completion: @escaping @Sendable (Int) -> Void) {
        do {
            var body = ByteBuffer(string: Form.head)
            body.writeBytes(try Data(contentsOf: URL(fileURLWithPath: path)))
            body.writeString(Form.tail)
            let fields: HTTPHeaders = ["Content-Type": Form.contentType]
            client.execute(request: try .init(url: url, method: .POST, headers: fields, body: .byteBuffer(body))).whenComplete { result in
                switch result {
                case .success(let response): completion(Int(response.status.code))
                case .failure(let error): fail("\(url): \(error)")
                }
            }
        } catch {
            fail("\(path): \(error)")
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
