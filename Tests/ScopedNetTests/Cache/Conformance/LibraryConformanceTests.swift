import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// The whole library against the scenarios of the public suite: sockets, database and all.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5))) struct LibraryConformanceTests {
    /// Wants a transfer coding accepted that nobody knows. The transport refuses such responses: where they end is a matter of opinion, and two
    /// readers with two opinions are how one response is made to speak inside another (RFC 9112 section 11.2).
    private static let refused = "headers-store-Transfer-Encoding"

    /// In memory, on disk and with a new process for each request: the score is what the rules promise, and each scenario ends the same.
    @Test func theLibraryScoresWhatItsRulesPromiseWhereverItsResponsesAre() async throws {
        let inMemory = try await run(.memory)
        let onDisk = try await run(.disk)
        let inProcesses = try await run(.process)
        for score in [inMemory, onDisk, inProcesses] {
            #expect(score.passed(.required) == 136)
            #expect(score.passed(.optimal) >= 72)
            for kind in CacheScenario.Kind.allCases {
                let surprises = CacheScenario.Coverage.allCases.flatMap { score.surprises(kind, $0) }
                #expect(surprises.filter { !$0.hasPrefix(Self.refused) } == [], "\(kind.rawValue)")
            }
        }
        let different = CacheScenario.all.map(\.id).filter { id in
            inMemory.results[id] != onDisk.results[id] || inMemory.results[id] != inProcesses.results[id]
        }
        #expect(different == [])
    }

    private func run(_ medium: LibraryDriver.Medium) async throws -> ConformanceScore {
        let server = LoopbackServer()
        try await server.start()
        let folder = FileManager.default.temporaryDirectory.path + "/conformance-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let runner = ScenarioRunner { LibraryDriver($0, medium, server: server, folder: folder) }
        let start = ContinuousClock.now
        // Starting a process is mostly waiting.
        let score = await runner.run(CacheScenario.all, atOnce: medium == .process ? 4 : 1)
        await server.stop()
        print("HTTP cache, library, \(medium.rawValue), \(ContinuousClock.now - start)\n\(score)")
        return score
    }
}
