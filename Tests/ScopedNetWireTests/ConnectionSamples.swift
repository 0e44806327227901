import Foundation
import ScopedNet

/// The samples of Connections.md, word for word; `DocumentationTests` compares them.
private struct ConnectionSamples: Sendable {
    func canary(_ session: Session) -> Session {
        session.with { configuration in
            configuration.resolves = [.init("api.example", port: 443, to: ["192.0.2.7", "2001:db8::7"])]
            configuration.connectsTo = [.init("www.example", port: 443, to: "canary-7.internal", toPort: 8443)]
        }
    }
}
