import BenchKit
import Foundation
import FoundationNetworking

/// `URLSession` of swift-corelibs-foundation, by closures.
struct URLSessionClient: BenchClient {
    private let session: URLSession

    init(options: Options) {
        let configuration = URLSessionConfiguration.default
        configuration.httpMaximumConnectionsPerHost = options.connections
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = 300
        session = URLSession(configuration: configuration)
    }

    func get(_ url: String, completion: @escaping @Sendable (Int) -> Void) {
        guard let url = URL(string: url) else { fail("\(url) is no URL") }
        session.dataTask(with: url) { data, response, error in
            guard let data, (response as? HTTPURLResponse)?.statusCode == 200 else { fail("\(url): \(String(describing: error))") }
            completion(data.count)
        }.resume()
    }

    func download(_ url: String, to path: String, completion: @escaping @Sendable (Int) -> Void) {
        guard let url = URL(string: url) else { fail("\(url) is no URL") }
        session.downloadTask(with: url) { file, _, error in
            do {
                guard let file else { throw error ?? CocoaError(.fileNoSuchFile) }
                let target = URL(fileURLWithPath: path)
                try? FileManager.default.removeItem(at: target)
                try FileManager.default.moveItem(at: file, to: target)
                completion(try target.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0)
            } catch {
                fail("\(url): \(error)")
            }
        }.resume()
    }
}

let scenarios = Scenarios(options: Options()) { URLSessionClient(options: $0) }
if !scenarios.run() { fail("unknown scenario") }
