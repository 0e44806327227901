import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import TestProcesses
import Testing

@testable import ScopedNet

/// Processes that are killed in the middle of a download, and the next one that goes on (YTK-12, SES-15; defect 33: the record was lost on a kill).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(3))) struct ResumeKillTests {
    /// One process that is to be killed.
    private struct Life {
        let isOfNewVersion: Bool
        /// After so many bytes more than there were.
        let bytes: Int64
    }

    private func lives(_ seed: UInt64) -> [Life] {
        var random = SeededGenerator(seed: seed)
        return (0..<12).map { _ in
            Life(isOfNewVersion: Int.random(in: 0..<4, using: &random) == 0, bytes: Int64.random(in: 0...(1 << 20), using: &random))
        }
    }

    private func start(_ wire: ResumeWire) throws -> ProgramRun {
        try ProgramRun([product("ConformanceClient"), "resume", wire.wire.url + "/", wire.file.path])
    }

    /// - Returns: whether it was killed before it had ended.
    private func live(_ life: Life, _ wire: ResumeWire) async throws -> Bool {
        let start = PartialDownload.of(wire.file)?.bytes ?? 0
        let client = try self.start(wire)
        for _ in 0..<2_000 {
            let now = PartialDownload.of(wire.file)?.bytes ?? 0
            if now > start + life.bytes || wire.content != Self.old { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        client.send(SIGKILL)
        return await client.result().status == 128 + SIGKILL
    }

    private static let old = Data("old".utf8)

    @Test(arguments: [1, 2, 3]) func killedAtAnyMoment(_ seed: UInt64) async throws {
        // Two versions, so that the part of one meets the rest of the other.
        let bodies = [bytes(3 << 20), Data(bytes(2 << 20).reversed())]
        let lives = lives(seed)
        try await withResumeWire { wire async throws in
            _ = wire.folder.write(Self.old, to: "file")
            let (version, kills) = (Counter(), Counter())
            wire.server.on("/") { _ in
                let number = version.value % 2
                return tagged(bodies[number], "v\(number)").paced(bytes: 32 << 10, every: .milliseconds(2))
            }
            for life in lives {
                if life.isOfNewVersion { version.add() }
                if try await live(life, wire) { kills.add() }
                let content = wire.content
                #expect(content == Self.old || content.isSame(as: bodies[0]) || content.isSame(as: bodies[1]), "a mixture")
                if content != Self.old { _ = wire.folder.write(Self.old, to: "file") }
            }
            #expect(kills.value >= 3)
            let result = try await start(wire).result()
            #expect(result.status == 0 && result.output.contains("resumed "), "\(result)")
            #expect(wire.content.isSame(as: bodies[version.value % 2]))
            #expect(wire.folder.names == ["file"])
        }
    }

    /// A second process is refused, and one that is killed lets go.
    @Test func twoProcessesAndOneTarget() async throws {
        let body = bytes(1000)
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body).stalling(.afterBytes(400)))
            let client = try start(wire)
            let hasCome = await client.waitForOutput { output, _ in output.contains("at 400") }
            #expect(hasCome)
            let error = try await wire.download().failure()
            #expect(error.code == .targetInUse)
            client.send(SIGKILL)
            _ = await client.result()
            wire.server.on("/", tagged(body))
            let response = try await wire.download().response()
            #expect(response.resumedBytes == 400 && wire.content == body)
            #expect(wire.folder.names == ["file"])
            wire.server.releaseStalls()
        }
    }
}
