import CleanSlate
import Foundation
import ScopedNetTestServer
import TestProcesses
import Testing

/// fork(2) with a request under way and a monitor started, in a program of its own.
@Suite(.leavesNothing, .serialized) struct ForkTests {
    private func probe(_ mode: String) async throws -> [String] {
        let server = LoopbackServer()
        try await server.start()
        server.on("/") { request in
            switch request.query {
            case "slow": return ScriptedResponse.ok("slow").stalling(.afterBytes(1))
            // The slow one is under way.
            case "arrived": try? await server.waitForStalls()
            case "release":
                try? await server.waitForStalls()
                server.releaseStalls()
            default: break
            }
            return .ok("")
        }
        let result = try await ProgramRun([product("ForkProbe"), mode, server.url + "/"]).result()
        await server.stop()
        #expect(result.status == 0, "\(result)")
        return result.output.split(separator: "\n").map(String.init)
    }

    private static let healthy = ["child waited: no", "monitor: true true", "under way: 200", "after: 200"]

    @Test func aProgramStartedByTheChildInheritsNothing() async throws {
        let lines = try await probe("exec")
        // What the program began with, the one the folder is read with among it, and the mask of the thread that forked.
        let child = lines.first { $0.contains(" SigBlk: ") }?.components(separatedBy: " SigBlk: ") ?? []
        try #require(child.count == 2, "\(lines)")
        let more = Set(child[0].split(separator: " ")).subtracting(lines[0].dropFirst(5).split(separator: " "))
        // Two at most: a pair of sockets that libcurl 7.88 makes for itself, which nobody outside it can get at.
        #expect(more.count <= 2, "\(lines)")
        #expect(lines.contains("mask: \(child[1])"), "\(lines)")
        #expect(lines.suffix(4) == Self.healthy[...], "\(lines)")
    }

    @Test(arguments: [("exit", 3), ("touch", 4)]) func theParentGoesOnWhateverTheChildDoes(_ mode: String, _ status: Int) async throws {
        let lines = try await probe(mode)
        let told = lines.filter { !$0.hasPrefix("mask: ") && !$0.hasPrefix("own: ") }
        #expect(told == ["before: 200", "child: exit \(status)"] + Self.healthy)
    }
}
