import ScopedNetTestServer
import Testing

/// Runs a test against a server that is stopped at its end, however it ends, and left nothing open.
func withServer(
    _ configuration: LoopbackServer.Configuration = .init(), _ test: (LoopbackServer) async throws -> Void
) async throws {
    let server = LoopbackServer(configuration)
    try await server.start()
    do {
        try await test(server)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
    #expect(server.openConnections == 0)
    #expect(server.concurrentRequests == 0)
}
