import Testing

@testable import ScopedNet

/// A session that asks no environment for proxies and is shut down at the end.
func withSession(
    _ configure: (inout Session.Configuration) throws -> Void = { _ in }, _ test: (Session) async throws -> Void
) async throws {
    var configuration = Session.Configuration(agent: RequestAgent())
    configuration.proxy = .none
    try configure(&configuration)
    let session = Session(configuration: configuration)
    do {
        try await test(session)
    } catch {
        await session.shutdown()
        throw error
    }
    await session.agent.waitUntilIdle()
    #expect(session.agent.liveCount == 0)
    await session.shutdown()
    #expect(session.admission.activeCount == 0, "a slot was not given back")
    #expect(session.admission.waitingCount == 0)
    #expect(session.link.liveAdmission.activeCount == 0 && session.link.liveAdmission.waitingCount == 0)
}
