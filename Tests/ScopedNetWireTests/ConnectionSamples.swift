import Foundation
import ScopedNet

/// The samples of Connections.md, and of rates and strict transport security, word for word; `DocumentationTests` compares them.
private struct ConnectionSamples: Sendable {
    func warmUp(_ session: Session) async {
        // The screen is opening; what it will ask for is not known yet. A failure will be the request's.
        try? await session.preconnect(to: "https://api.example.com/")
    }

    func canary(_ session: Session) -> Session {
        session.with { configuration in
            configuration.resolves = [.init("api.example", port: 443, to: ["192.0.2.7", "2001:db8::7"])]
            configuration.connectsTo = [.init("www.example", port: 443, to: "canary-7.internal", toPort: 8443)]
        }
    }

    func politeSession() -> Session {
        Session("https://api.example.com/v1/").with { $0.rateLimit = .init(requestsPerSecond: 10, burst: 5) }
    }

    func strictReader() async throws -> Session {
        var configuration = Session.Configuration()
        let hosts = await Session.HSTSStore(named: "com.example.reader")
        try hosts.add([.init("example.com", includesSubdomains: true)])  // before its first response
        configuration.hsts = hosts
        return Session(configuration: configuration)
    }
}
