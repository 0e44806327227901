import ScopedNetTestServer
import TestProcesses

/// The tool itself.
let toolPath = product("scopednet")

/// Runs the tool to its end.
func tool(_ arguments: String..., environment: [String: String] = [:], input: String = "") async throws -> ProgramResult {
    try await ProgramRun([toolPath] + arguments, environment: environment, input: input).result()
}

/// Runs a line of shell with the tool as `$T`.
func shell(_ line: String, environment: [String: String] = [:]) async throws -> ProgramResult {
    var environment = environment
    environment["T"] = toolPath
    return try await ProgramRun(["bash", "-c", line], environment: environment).result()
}

/// Runs a test against a server that is stopped at its end, however it ends.
func withServer(
    _ configuration: LoopbackServer.Configuration = .init(), _ test: (LoopbackServer) async throws -> Void
) async throws {
    let server = LoopbackServer(configuration)
    try await server.start()
    do { try await test(server) } catch {
        await server.stop()
        throw error
    }
    await server.stop()
}
