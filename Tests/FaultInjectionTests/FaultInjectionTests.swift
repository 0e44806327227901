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
@Suite(.leavesNothing, .alone, .timeLimit(.minutes(5)))
struct FaultInjectionTests {
    @Test(arguments: MainPath.allCases)
    func everyCallMayFail(_ path: MainPath) async throws { try await failEach(of: path, .calls) }

    /// What libcurl asks for is refused once, and the transfer with it or not.
    @Test(arguments: MainPath.allCases)
    func everyAllocationOfLibcurlMayFail(_ path: MainPath) async throws { try await failEach(of: path, .allocations) }

    /// libcurl that could not set itself up, the first time it was asked to.
    @Test func libcurlMayNotSetItselfUp() async throws { try await failEach(of: .memory, .setUp) }

    private func failEach(of path: MainPath, _ faults: FaultSetting.Faults) async throws {
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
        for picture in FaultPicture.all {
            let response = ScriptedResponse.ok(.bytes(Array(try picture.file()))).header("Cache-Control", "max-age=600")
            server.on("/\(picture.name)", response.header("ETag", "\"\(picture.name)\""))
        }
        try await server.start()
        var setting = FaultSetting(path: path, faults: faults, url: server.url, authority: authority.certificatePEM, report: "", first: 1)
        // libcurl's own crashes for want of memory are not ours to mend: the next process goes on behind the allocation that led to one.
        var crashes = 0
        while let crashed = try await takeTurns(&setting) {
            guard crashed.number >= max(setting.first, 1) else {
                Issue.record(
                    "\(path.rawValue): a crash (signal \(crashed.signal)) where nothing was refused: \(crashed.number), from \(setting.first) on"
                )
                break
            }
            crashes += 1
            guard crashes < Self.mostCrashes else {
                Issue.record("\(path.rawValue): \(crashes) crashes of libcurl; what is behind allocation \(crashed.number) was not failed")
                break
            }
            print(
                "faults: \(path.rawValue), \(faults.rawValue): libcurl itself crashed without memory for allocation \(crashed.number) (signal \(crashed.signal))"
            )
            setting.first = crashed.number + 1
        }
        await server.stop()
    }

    /// Two or three are known for each path (docs/faults.md).
    private static let mostCrashes = 40

    /// One process. What libcurl crashed of, if it did.
    private func takeTurns(_ setting: inout FaultSetting) async throws -> (number: Int, signal: Int)? {
        setting.report = NSTemporaryDirectory() + "scopednet-faults-\(UUID().uuidString)"
        let crash = setting.report + "-crash"
        defer { for file in [setting.report, crash] { try? FileManager.default.removeItem(atPath: file) } }
        await #expect(processExitsWith: .success) { [setting = setting as FaultSetting] in
            let lab = FaultLab(setting)
            try await lab.run()
            exit(lab.isGood ? 0 : 1)
        }
        let text = (try? String(contentsOfFile: setting.report, encoding: .utf8)) ?? ""
        print(text, terminator: "")
        #expect(!text.contains("✘"), "\(text)")
        let numbers =
            (try? String(contentsOfFile: crash, encoding: .utf8))?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) } ?? []
        if numbers.count == 2 { return (numbers[0], numbers[1]) }
        #expect(!text.isEmpty, "no report")
        return nil
    }
}

/// What the child process is told.
struct FaultSetting: Codable, Sendable {
    /// What fails in turn.
    enum Faults: String, Codable, Sendable { case calls, allocations, setUp }

    var path: MainPath
    var faults: Faults
    var url: String
    var authority: String
    var report: String
    /// The number of the first call that fails.
    var first: Int
}

enum MainPath: String, CaseIterable, Codable, Sendable {
    case memory, file, stream, upload, redirect, retry, cancellation, bag, suspension, http2
    /// Pictures of a server; and the same with a cache on disk, read again by the next program.
    case pictures, storedPictures

    var isSecure: Bool { self == .http2 }
    var hasStore: Bool { self == .storedPictures }
    /// From one failing call to the next, by default: a path of many hundred calls is tried at fewer of them.
    var step: Int { self == .storedPictures ? 17 : self == .pictures ? 7 : 5 }
}
