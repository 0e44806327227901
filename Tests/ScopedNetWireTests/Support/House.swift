import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A server, a session of its own, an agent of its own: what most tests live in. At the end nothing may be alive.
struct House: Sendable {
    let server: LoopbackServer
    let session: Session
    var agent: RequestAgent { session.agent }

    func url(_ path: String) -> String { server.url + path }
}

func withHouse(
    _ server: LoopbackServer.Configuration = .init(), _ change: (inout Session.Configuration) -> Void = { _ in },
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (House) async throws -> Void
) async throws {
    let server = LoopbackServer(server)
    try await server.start()
    var configuration = Session.Configuration(agent: RequestAgent())
    configuration.proxy = .none
    change(&configuration)
    let house = House(server: server, session: Session(configuration: configuration))
    do {
        try await body(house)
    } catch {
        await house.server.stop()
        throw error
    }
    server.releaseStalls()
    await house.agent.waitUntilIdle()
    #expect(house.agent.liveCount == 0, sourceLocation: sourceLocation)
    #expect(house.session.admission.activeCount == 0 || house.session.admission.waitingCount == 0, sourceLocation: sourceLocation)
    await house.server.stop()
}
