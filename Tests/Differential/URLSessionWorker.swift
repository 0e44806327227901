import Foundation
import FoundationNetworking
import Glibc

/// The other end of ``URLSessionClient``: does what the file says, and writes what came of it.
enum URLSessionWorker {
    static let hangs: Int32 = 97

    static func run(_ file: String) async throws {
        let call = try JSONDecoder().decode(Call.self, from: Data(contentsOf: URL(filePath: file)))
        // URLSession may never call back. Nothing else watches it from inside, so a thread of its own ends the process, which is an answer, too.
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: 8)
            exit(hangs)
        }
        let reply = await perform(call)
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(reply))
        exit(0)
    }

    private static func perform(_ call: Call) async -> Reply {
        guard let url = URL(string: call.url, relativeTo: call.base.flatMap { URL(string: $0) }) else {
            return Reply(error: "url", detail: "URL(string:) is nil")
        }
        var request = URLRequest(url: url)
        request.httpMethod = call.method
        request.httpBody = call.body
        for field in call.fields { request.addValue(field.value, forHTTPHeaderField: field.name) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 5
        configuration.connectionProxyDictionary = [:]
        do {
            let (body, response) = try await URLSession(configuration: configuration).data(for: request)
            guard let response = response as? HTTPURLResponse else { return Reply(error: "other", detail: "\(response)") }
            var fields: [String: String] = [:]
            for (name, value) in response.allHeaderFields {
                let name = "\(name)".lowercased()
                if name.hasPrefix("x-") { fields[name] = "\(value)" }
            }
            return Reply(status: response.statusCode, body: fingerprint(body), fields: fields)
        } catch let error as URLError {
            return Reply(error: name(of: error.code), detail: "\(error.code.rawValue) \(error.localizedDescription)")
        } catch {
            return Reply(error: "other", detail: "\(error)")
        }
    }

    private static func name(of code: URLError.Code) -> String {
        switch code {
        case .badURL, .unsupportedURL: "url"
        case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed: "connect"
        case .badServerResponse, .cannotParseResponse: "protocol"
        case .cannotDecodeContentData, .cannotDecodeRawData: "coding"
        case .timedOut: "timeout"
        case .httpTooManyRedirects, .redirectToNonExistentLocation: "redirect"
        case .networkConnectionLost: "lost"
        default: "other \(code.rawValue)"
        }
    }
}
