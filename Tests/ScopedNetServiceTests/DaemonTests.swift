import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import TestProcesses
import Testing

/// The example daemon as a process, with real signals and a real notification socket.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(3))) struct DaemonTests {
    private func withDaemon(
        _ response: ScriptedResponse, every pause: String = "0.05",
        _ test: (ProgramRun, LoopbackServer, NotifyListener) async throws -> Void
    ) async throws {
        let server = LoopbackServer()
        try await server.start()
        server.on("/health", response)
        let listener = try NotifyListener("@scopednet-test-\(UUID().uuidString)")
        let daemon = try ProgramRun(
            [product("DemoDaemon"), "--every", pause, "--timeout", "120", server.url + "/health"],
            environment: ["NOTIFY_SOCKET": listener.name])
        do { try await test(daemon, server, listener) } catch {
            daemon.send(SIGKILL)
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test(arguments: [SIGTERM, SIGINT]) func aSignalLetsTheRequestUnderWayFinish(_ signal: Int32) async throws {
        // Systemd hears of the stop before the watchdog does: between the two, one that hurries would ask again.
        try await withDaemon(ScriptedResponse.ok("fine").stalling(.afterBytes(2)), every: "600") { daemon, server, listener in
            let ready = await listener.next()
            #expect(ready == "READY=1")
            try await server.waitForStalls()
            daemon.send(signal)
            let stopping = await listener.nextState()
            #expect(stopping == "STOPPING=1")
            server.releaseStalls()
            let result = await daemon.result()
            #expect(result.status == 0, "\(result)")
            #expect(result.errors.contains("healthy") && result.errors.contains("0 requests"), "\(result.errors)")
            #expect(server.requests.count == 1)
            let ending = try await server.requests[0].ending()
            // It leaves with the last byte, and the server may hear of that before it knows that its own write is done; that all came, the daemon
            // has said above.
            #expect(ending == .completed || ending == .clientClosed)
        }
    }

    @Test func itSaysHowTheNetworkIs() async throws {
        try await withDaemon(.ok("fine")) { daemon, server, listener in
            try await server.waitForRequests(3)
            let ready = await listener.next()
            let status = await listener.next()
            #expect(ready == "READY=1" && status?.hasPrefix("STATUS=satisfied") == true, "\(status ?? "nothing")")
            daemon.send(SIGTERM)
            let result = await daemon.result()
            #expect(result.status == 0)
        }
    }

    @Test func aServerThatIsGoneIsExplained() async throws {
        try await withDaemon(ScriptedResponse.status(503)) { daemon, _, _ in
            let isTold = await daemon.waitForOutput { _, errors in errors.contains("not healthy") && errors.contains("path=satisfied") }
            daemon.send(SIGTERM)
            let result = await daemon.result()
            #expect(isTold && result.status == 0, "\(result)")
        }
    }

    @Test func wrongUsageAndAWrongSocketEndAtOnce() async throws {
        let usage = try await ProgramRun([product("DemoDaemon"), "--every", "soon"]).result()
        #expect(usage.status == 64 && usage.errors.contains("number of seconds"))
        for (arguments, word) in [(["ftp://127.0.0.1/"], "https://"), (["http://127.0.0.1:1/", "http://127.0.0.1:2/"], "one URL")] {
            let result = try await ProgramRun([product("DemoDaemon")] + arguments).result()
            #expect(result.status == 64 && result.errors.contains(word), "\(result)")
        }
        let socket = try await ProgramRun(
            [product("DemoDaemon"), "http://127.0.0.1:1/"], environment: ["NOTIFY_SOCKET": "relative"]
        ).result()
        #expect(socket.status == 70 && socket.errors.contains("neither an absolute path"), "\(socket)")
    }
}
