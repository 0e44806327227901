import CFaults
import CleanSlate
import Foundation
import Glibc
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Each call of libcurl and of the system that a main path makes fails once, in a process of its own: every run still has its one ending, with a
/// typed error or a success, and nothing hangs or is left behind.
@Suite(.leavesNothing, .timeLimit(.minutes(5)))
struct FaultInjectionTests {
    @Test(arguments: MainPath.allCases)
    func everyCallMayFail(_ path: MainPath) async throws {
        let authority = try TestAuthority()
        let server = LoopbackServer(
            .init(tls: path.isSecure ? try authority.makeServerIdentity() : nil, protocols: path.isSecure ? [.http2, .http1] : [.http1]))
        server.on("/*", .ok(.repeating(7, count: 300_000)))
        server.on(
            "/moved",
            ScriptedResponse.ok().with {
                $0.status = 302; $0.headers = ["Location": "/target"]
            })
        server.on("/echo", .ok("thanks"))
        server.on("/stall", .ok("x").stalling(.beforeHead))
        try await server.start()
        let report = NSTemporaryDirectory() + "scopednet-faults-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: report) }
        let setting = FaultSetting(path: path, url: server.url, authority: authority.certificatePEM, report: report)
        await #expect(processExitsWith: .success) { [setting = setting as FaultSetting] in
            let lab = FaultLab(setting)
            try await lab.run()
            exit(lab.isGood ? 0 : 1)
        }
        let text = (try? String(contentsOfFile: report, encoding: .utf8)) ?? "no report"
        print(text, terminator: "")
        #expect(!text.contains("✘"), "\(text)")
        await server.stop()
    }
}

/// What the child process is told.
struct FaultSetting: Codable, Sendable {
    var path: MainPath
    var url: String
    var authority: String
    var report: String
}

enum MainPath: String, CaseIterable, Codable, Sendable {
    case memory, file, stream, upload, redirect, retry, cancellation, bag, suspension, http2

    var isSecure: Bool { self == .http2 }
}
