import CleanSlate
import Foundation
import ScopedNetTestServer
import TestProcesses
import Testing

/// The options that say where and how a request goes, by what the server recorded.
@Suite(.leavesNothing, .serialized) struct ConnectionOptionTests {
    @Test func resolveAndConnectToReachTheServer() async throws {
        try await withServer { server in
            server.on("/x", .ok("here"))
            let port = server.port
            let resolved = try await tool("get", "--resolve", "api.invalid:\(port):127.0.0.1", "http://api.invalid:\(port)/x")
            let any = try await tool("get", "--resolve", "*:\(port):127.0.0.1", "http://other.invalid:\(port)/x")
            let moved = try await tool(
                "get", "--connect-to", "a.invalid:80:nowhere.invalid:1", "--connect-to", "www.invalid::127.0.0.1:\(port)",
                "http://www.invalid/x")
            #expect(resolved.output == "here" && any.output == "here" && moved.output == "here")
            #expect(server.requests.map { $0["host"] } == ["api.invalid:\(port)", "other.invalid:\(port)", "www.invalid"])
        }
    }

    @Test(arguments: [["--resolve", "a.example:443"], ["--connect-to", "a.example:443"], ["--resolve", "a.example:443:b.example"]])
    func aMalformedOverrideIsWrongUsage(_ arguments: [String]) async throws {
        let result = try await ProgramRun([toolPath, "get"] + arguments + ["http://a.example/"]).result()
        #expect(result.status == 64 && result.errors.contains("overrides no host"), "\(result)")
    }
}
