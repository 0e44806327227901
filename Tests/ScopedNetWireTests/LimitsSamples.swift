import Foundation
import ScopedNet

/// The samples of Limits.md, and of uploads in Transport.md, word for word; `DocumentationTests` compares them.
private struct LimitsSamples: Sendable {
    func strictSession() -> Session {
        var configuration = Session.Configuration()
        configuration.options.access.httpsOnly = true
        configuration.options.access.ports = [443, 8443]
        configuration.options.access.allowedHosts = ["api.example.com", "*.cdn.example.com"]
        return Session(configuration: configuration)
    }

    struct Receipt: Codable, Sendable { let bytes: Int }

    func sendInTheBackground(_ photo: URL, with session: Session) -> Request<Data> {
        session.upload("photos", from: photo).options { $0.limits.uploadRate = 200_000 }
    }

    func upload(_ photo: URL, with session: Session) async throws -> [Receipt] {
        let first = session.upload("photos", from: photo, as: Receipt.self).onUploadProgress { print($0) }
        let second = session.upload("photos/today", from: Data("…".utf8), method: .put, as: Receipt.self)
        return [try await first.value(), try await second.value()]
    }

    func report(_ events: [Receipt], log: URL, with session: Session) async throws {
        try await session.post("events", body: .json(events).compressed(), as: Void.self).value()
        try await session.put("logs", body: .file(log.path).compressed(.gzip(level: 9)), as: Void.self).value()
    }

    func sessionForStrangersLinks() throws -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.addressFilter = AddressFilter(
            allowed: [try AddressFilter.Range("10.1.2.0/24")], denied: [try AddressFilter.Range("2001:db8:5::/48")])
        configuration.options.access.ports = [80, 443]
        configuration.options.timeouts.total = .seconds(30)
        configuration.options.limits.bodyBytes = 10 << 20
        return Session(configuration: configuration)
    }
}
