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

    func items(_ url: String, completion: @escaping @Sendable (Int) -> Void) {
        guard let target = URL(string: url) else { fail("\(url) is no URL") }
        session.dataTask(with: target) { data, response, error in
            do {
                guard let data else { throw error ?? CocoaError(.fileNoSuchFile) }
                completion(try JSONDecoder().decode([Item].self, from: data).count)
            } catch {
                fail("\(url): \(error)")
            }
        }.resume()
    }

    /// In memory, as it has no forms: the file between what comes before and after it.
    func upload(_ path: String, to url: String, completion: @escaping @Sendable (Int) -> Void) {
        guard let target = URL(string: url), let file = try? Data(contentsOf: URL(fileURLWithPath: path)) else { fail("\(url), \(path)") }
        var request = URLRequest(url: target)
        request.httpMethod = "POST"
        request.setValue(Form.contentType, forHTTPHeaderField: "Content-Type")
        let body = Data(Form.head.utf8) + file + Data(Form.tail.utf8)
        session.uploadTask(with: request, from: body) { _, response, error in
            guard let response = response as? HTTPURLResponse else { fail("\(url): \(String(describing: error))") }
            completion(response.statusCode)
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
