import Foundation
import ScopedNet
import Testing

/// The servers that `Scripts/with-servers` and `Scripts/test` start, or why there are none.
enum Servers {
    struct Nginx: Decodable {
        var missing: String?
        var http: Int?
        var https: Int?
        var mutual: Int?
        var tls12: Int?
    }

    struct HTTPBin: Decodable {
        var missing: String?
        var http: Int?
    }

    private struct Description: Decodable {
        var folder: String
        var nginx: Nginx
        var httpbin: HTTPBin
    }

    private static let description: Description? = ProcessInfo.processInfo.environment["SCOPEDNET_SERVERS"].flatMap { path in
        FileManager.default.contents(atPath: path).flatMap { try? JSONDecoder().decode(Description.self, from: $0) }
    }

    static var folder: String { description?.folder ?? "" }
    static var nginx: Nginx { description?.nginx ?? Nginx() }
    static var httpbin: HTTPBin { description?.httpbin ?? HTTPBin() }

    private static let notStarted: Comment = "no servers: run Scripts/test, or SCOPEDNET_ALL=1 Scripts/with-servers swift test"
    static let whyNoNginx = nginx.missing.map { Comment(rawValue: $0) } ?? notStarted
    static let whyNoHTTPBin = httpbin.missing.map { Comment(rawValue: $0) } ?? notStarted

    static var nginxURL: String { "http://127.0.0.1:\(nginx.http ?? 0)" }
    static var secureURL: String { "https://localhost:\(nginx.https ?? 0)" }
    static var httpbinURL: String { "http://127.0.0.1:\(httpbin.http ?? 0)" }

    /// A session that knows the servers' root and asks no environment for proxies.
    static func session(_ change: (inout Session.Configuration) -> Void = { _ in }) -> Session {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.tls.certificateAuthority = .file(folder + "/ca.pem")
        change(&configuration)
        return Session(configuration: configuration)
    }

    static func file(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: folder + "/" + path)) }

    /// A body whose parts differ from each other, made quickly: a block of an odd length, again and again.
    static func bytes(_ count: Int, _ factor: Int) -> Data {
        let block = Data((0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* factor &+ $0 >> 8) })
        var data = Data(capacity: count + block.count)
        while data.count < count { data.append(block) }
        return Data(data.prefix(count))
    }
}

/// What nginx wrote down of a request.
struct Evidence: Decodable {
    var path: String
    var status: Int
    var bytes: Int
    var connection: Int
    var requests: Int
    var `protocol`: String
    var coding: String

    /// Waits until nginx has written a line that fits; it does so when a request is over. The log is the only word it gives, and nothing
    /// announces a line, so this looks again after each request of its own.
    static func first(_ session: Session, where fits: (Evidence) -> Bool) async throws -> Evidence {
        for _ in 0..<2_000 {
            let lines = try Servers.file("access.log").split(separator: UInt8(ascii: "\n"))
            for line in lines.reversed() {
                if let evidence = try? JSONDecoder().decode(Evidence.self, from: line), fits(evidence) { return evidence }
            }
            _ = try await session.request(Servers.nginxURL + "/empty").response()
        }
        throw NoEvidence()
    }

    /// How many lines of a path there are. All that was asked for before has its line: the one worker of nginx has answered something else since.
    static func count(of path: String) async throws -> Int {
        let session = Servers.session()
        _ = try await session.request(Servers.nginxURL + "/empty").response()
        await session.shutdown()
        return try all(path).count
    }

    /// The lines of a path beyond those that are known, in the order in which nginx ended the requests. Waits until there are so many.
    static func next(_ count: Int, of path: String, after known: Int, _ session: Session) async throws -> [Evidence] {
        for _ in 0..<2_000 {
            let lines = try all(path)
            if lines.count >= known + count { return Array(lines.dropFirst(known)) }
            _ = try await session.request(Servers.nginxURL + "/empty").response()
        }
        throw NoEvidence()
    }

    private static func all(_ path: String) throws -> [Evidence] {
        let lines = try Servers.file("access.log").split(separator: UInt8(ascii: "\n"))
        return lines.compactMap { try? JSONDecoder().decode(Evidence.self, from: $0) }.filter { $0.path == path }
    }
}

struct NoEvidence: Error {}

/// A folder that goes with the test.
final class Folder: Sendable {
    let path = NSTemporaryDirectory() + "scopednet-" + UUID().uuidString
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func file(_ name: String) -> URL { URL(fileURLWithPath: path + "/" + name) }
}

extension Request {
    /// The error it ends with; a success is recorded.
    func failure(_ location: SourceLocation = #_sourceLocation) async throws -> NetworkError {
        do {
            let response = try await response()
            Issue.record("expected an error, got \(response.head)", sourceLocation: location)
            throw NoEvidence()
        } catch let error as NetworkError { return error }
    }
}
